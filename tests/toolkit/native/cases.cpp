// See cases.h. The program: PROGRAM --list, PROGRAM CASE...
#include "cases.h"

#include <iostream>
#include <map>

namespace jitc::test {
namespace {
std::map<std::string, std::function<void()>>& cases() {
  static std::map<std::string, std::function<void()>> all;
  return all;
}

std::function<void(const std::function<void()>&)>& around() {
  static std::function<void(const std::function<void()>&)> run = [](const auto& body) { body(); };
  return run;
}
}  // namespace

Case::Case(const char* name, std::function<void()> run) { cases()[name] = std::move(run); }

Around::Around(std::function<void(const std::function<void()>&)> run) { around() = std::move(run); }

int run_case(const std::string& name, const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const Failure& failure) {
    std::cerr << name << ": " << failure.message << std::endl;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << std::endl;
  }
  return 1;
}

int run(int count, char** arguments) {
  if (count == 2 && std::string(arguments[1]) == "--list") {
    for (const auto& [name, body] : cases()) std::cout << name << "\n";
    return 0;
  }
  int failures = 0;
  for (int i = 1; i < count; ++i) {
    const auto found = cases().find(arguments[i]);
    if (found == cases().end()) return 1;
    failures += run_case(arguments[i], [&] { around()(found->second); });
  }
  return failures || count < 2;
}

}  // namespace jitc::test

int main(int count, char** arguments) { return jitc::test::run(count, arguments); }
