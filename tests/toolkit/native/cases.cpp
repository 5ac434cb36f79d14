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
}  // namespace

Case::Case(const char* name, std::function<void()> run) { cases()[name] = std::move(run); }

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
    failures += found == cases().end() ? 1 : run_case(arguments[i], found->second);
  }
  return failures || count < 2;
}

}  // namespace jitc::test

int main(int count, char** arguments) { return jitc::test::run(count, arguments); }
