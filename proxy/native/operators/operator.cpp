#include "operators/operator.h"

#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "operators/call/reader.h"
#include "operators/composed/composed.h"
#include "operators/composed/halves.h"
#include "operators/placement.h"

namespace jitc::operators {
namespace {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using Table = std::unordered_map<std::string, Operator, TextHash, std::equal_to<>>;

Operator look_up(std::string_view name) {
  constexpr std::string_view kSpace = "aten::", kOwnSpace = "jitc::";
  const auto dot = name.find('.');
  const std::string base(name.substr(0, dot));
  const std::string overload(dot == name.npos ? "" : name.substr(dot + 1));
  if (!name.starts_with(kSpace) && !name.starts_with(kOwnSpace)) throw Malformed("operator outside aten");
  const auto found = c10::Dispatcher::singleton().findSchema({base, overload});
  if (!found) throw Malformed("unknown operator");
  return {*found, name};
}

/// Returns the number of choices that an integer argument stands for, from 0 on; 0: it is a plain number.
/// Kernels look choices up in tables without a check.
int64_t choices(c10::TypePtr type) {
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return static_cast<int64_t>(c10::ScalarType::Undefined);
    case c10::TypeKind::LayoutType:
      return static_cast<int64_t>(c10::Layout::NumOptions);
    case c10::TypeKind::MemoryFormatType:
      return static_cast<int64_t>(c10::MemoryFormat::NumOptions);
    default:
      return 0;
  }
}

/// Returns whether the argument is written. The schema of batch normalization omits its running statistics.
bool writes(const c10::Argument& argument) {
  if (argument.name() == "running_mean" || argument.name() == "running_var") return true;
  return argument.alias_info() && argument.alias_info()->isWrite();
}

}  // namespace

Operator::Operator(const c10::OperatorHandle& found, std::string_view name)
    : handle(found),
      composed(find_composed(name)),
      on_host(find_on_host(name)),
      check(find_check(name)),
      halves(halves_in_float(name)),
      packs_results(takes_results_for_contiguous(name)) {
  runs = composed || on_host || found.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU);
  for (const auto& argument : found.schema().arguments()) {
    if (const int64_t count = choices(argument.real_type())) numbered.emplace_back(written.size(), count);
    written.push_back(writes(argument));
    const auto type = argument.type();
    if (type->str().find("Generator") != std::string::npos) takes_generator = true;
  }
  for (const auto& one : found.schema().returns())
    returns_written.push_back(one.alias_info() && one.alias_info()->isWrite());
}

const Operator& find_operator(std::string_view name) {
  static std::shared_mutex mutex;
  static Table& table = *new Table;  // outlives threads that still run at exit
  {
    const std::shared_lock lock(mutex);
    if (const auto found = table.find(name); found != table.end()) return found->second;
  }
  auto made = look_up(name);
  const std::unique_lock lock(mutex);
  return table.try_emplace(std::string(name), std::move(made)).first->second;
}

}  // namespace jitc::operators
