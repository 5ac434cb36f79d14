// Native test programs: cases by name, run one at a time by a Python test; see cases.cpp for main().
#pragma once
#include <functional>
#include <sstream>
#include <string>

namespace jitc::test {

struct Failure {
  std::string message;
};

#define CHECK(condition)                                                                                   \
  do {                                                                                                     \
    if (!(condition))                                                                                      \
      throw ::jitc::test::Failure{std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " #condition}; \
  } while (false)
#define CHECK_EQUAL(a, b)                                                                     \
  do {                                                                                        \
    const auto left = (a);                                                                    \
    const auto right = (b);                                                                   \
    if (!(left == right)) {                                                                   \
      std::ostringstream text;                                                                \
      text << __FILE__ ":" << __LINE__ << ": " #a " == " #b ": " << left << " and " << right; \
      throw ::jitc::test::Failure{text.str()};                                                \
    }                                                                                         \
  } while (false)

/// How long anything in a test may take; only reached when something hangs.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kLimitSeconds = 600;
#else
inline constexpr int kLimitSeconds = 60;
#endif

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Registers a case; its name is what the test program is called with.
struct Case {
  Case(const char* name, std::function<void()> run);
};
#define CASE(name)                                          \
  static void name();                                       \
  static const ::jitc::test::Case case_##name(#name, name); \
  static void name()

/// What every case of the program runs in: it is given the case. One per program.
struct Around {
  explicit Around(std::function<void(const std::function<void()>&)> run);
};

/// 0, or 1 with the reason on stderr.
int run_case(const std::string& name, const std::function<void()>& body);

}  // namespace jitc::test
