#include "library_environment.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "jitc/library_environment.h"
#include "session/message.h"

namespace jitc::session {
namespace {
namespace data = library_environment;

bool plain_name(std::string_view name) {
  return name.size() <= data::kMostName && std::all_of(name.begin(), name.end(), [](char one) {
           return (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') || one == '_';
         });
}

bool plain_value(std::string_view value) {
  return value.size() <= data::kMostValue &&
         std::all_of(value.begin(), value.end(), [](char one) { return one >= ' ' && one <= '~'; });
}

/// Returns whether the variable is for the libraries, and up to the program.
bool meant(std::string_view name) {
  const auto begins = [name](std::string_view with) { return name.starts_with(with); };
  const auto ends = [name](std::string_view with) { return name.ends_with(with); };
  const auto is = [name](std::string_view other) { return name == other; };
  const bool wanted = std::any_of(std::begin(data::kPrefixes), std::end(data::kPrefixes), begins) ||
                      std::any_of(std::begin(data::kNames), std::end(data::kNames), is);
  return wanted && plain_name(name) && std::none_of(std::begin(data::kNever), std::end(data::kNever), is) &&
         std::none_of(std::begin(data::kNeverEndings), std::end(data::kNeverEndings), ends);
}

bool says_nothing(std::string_view name, std::string_view value) {
  return std::any_of(std::begin(data::kDefaults), std::end(data::kDefaults),
                     [&](const auto& one) { return one.first == name && one.second == value; });
}

/// Returns all such variables in the order of their names: the first one counts if a name occurs twice, as
/// for getenv.
Variables meant_variables() {
  Variables found;
  // The caller of a program with more rights wrote the environment. Iterating over it is the only way to find
  // names by prefix.
  if (::getauxval(AT_SECURE) != 0) return found;
  for (char** one = ::environ; one != nullptr && *one != nullptr; ++one) {
    const std::string_view text = *one;
    const size_t end = text.find('=');
    if (end == text.npos || !meant(text.substr(0, end)) ||
        says_nothing(text.substr(0, end), text.substr(end + 1)))
      continue;
    found.emplace(text.substr(0, end), text.substr(end + 1));
  }
  return found;
}

/// Removes variables that the service would not accept; returns their names.
std::vector<std::string> bound(Variables* variables) {
  std::vector<std::string> beyond;
  size_t count = 0, bytes = 0;
  std::erase_if(*variables, [&](const auto& one) {
    const size_t size = one.first.size() + one.second.size();
    if (plain_value(one.second) && count < data::kMostVariables && bytes + size <= data::kMostBytes) {
      ++count, bytes += size;
      return false;
    }
    beyond.push_back(one.first);
    return true;
  });
  return beyond;
}

/// Returns a text of the first few names.
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t at = 0; at < names.size() && at < kShown; ++at) text += (at > 0 ? ", " : "") + names[at];
  return names.size() > kShown ? text + " and " + std::to_string(names.size() - kShown) + " more" : text;
}

}  // namespace

Variables library_variables() {
  Variables found = meant_variables();
  if (const auto beyond = bound(&found); !beyond.empty())
    message_once("not given to NVIDIA's libraries, which have no value for it: " + listed(beyond) +
                 " (at most " + std::to_string(data::kMostVariables) + " variables, " +
                 std::to_string(data::kMostValue) + " bytes each, " + std::to_string(data::kMostBytes) +
                 " in all, of printable ASCII; set larger ones for jitc-proxyd itself)");
  return found;
}

void name_late_variables(const Variables& given, uint32_t gpu) {
  Variables now = meant_variables();
  bound(&now);
  std::vector<std::string> late;
  for (const auto& [name, value] : now) {
    const auto before = given.find(name);
    if (before == given.end() || before->second != value) late.push_back(name);
  }
  for (const auto& [name, value] : given)
    if (!now.contains(name)) late.push_back(name);
  if (late.empty()) return;
  message_once(
      "too late to have an effect: " + listed(late) + "; when it changed, the worker of GPU " +
      std::to_string(gpu) +
      " had opened NVIDIA's libraries. Set such variables before the first use of the GPU, best for the "
      "whole job");
}

}  // namespace jitc::session
