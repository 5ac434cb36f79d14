// See pace.h.
#include "pace.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "abi.h"
#include "memory.h"

namespace jitc::fakes {
namespace {
bool set_number(Pace& pace, const std::string& name, double value) {
  if (!(value > 0)) return false;
  const auto microseconds = Nanoseconds(static_cast<int64_t>(value * 1000));
  if (name == "bus") pace.bus = value * 1e9;
  if (name == "memory") pace.memory = value * 1e9;
  if (name == "launch") pace.launch = microseconds;
  if (name == "kernel") pace.kernel = microseconds;
  return name == "bus" || name == "memory" || name == "launch" || name == "kernel";
}

bool set(Pace& pace, const std::string& word) {
  if (word == "h100") return true;
  if (word == "clock=device") return pace.device_clock = true;
  const size_t equals = word.find('=');
  if (equals == std::string::npos) return false;
  const std::string value = word.substr(equals + 1);
  char* rest = nullptr;
  const double number = std::strtod(value.c_str(), &rest);
  return !value.empty() && !*rest && set_number(pace, word.substr(0, equals), number);
}

/// Empty: the text is no pace.
std::optional<Pace> read(const char* text) {
  Pace pace;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');)
    if (!set(pace, word)) return std::nullopt;
  return pace;
}
}  // namespace

const Pace* Pace::asked_for() {
  static const char* const text = std::getenv("JITC_FAKE_PACE");
  if (!text || !*text) return nullptr;
  static const std::optional<Pace> pace = read(text);
  if (pace) return &*pace;
  std::fprintf(
      stderr,
      "fake driver: JITC_FAKE_PACE=%s: h100, bus=GB/S, memory=GB/S, launch=US, kernel=US, clock=device\n",
      text);
  throw Failure{kInvalidValue};
}

Nanoseconds Pace::duration(const Cost& cost) const {
  if (cost.engine == Cost::kOrder || cost.engine == Cost::kHost) return Nanoseconds(0);
  const double rate = cost.engine == Cost::kCompute ? memory : bus;
  const auto moved = Nanoseconds(static_cast<int64_t>(static_cast<double>(cost.bytes) / rate * 1e9));
  return std::max({moved, cost.at_least, kernel});
}

TimePoint Pace::now() const { return device_clock ? TimePoint{} : std::chrono::steady_clock::now(); }

TimePoint Engines::book(const Pace& pace, const Cost& cost, TimePoint ready) {
  const Nanoseconds time = pace.duration(cost);
  if (time == Nanoseconds(0)) return ready;
  TimePoint& free_from = free_from_[cost.engine];
  return free_from = std::max(free_from, ready) + time;
}

void sleep_until(const Pace& pace, TimePoint end) {
  if (pace.device_clock) return;
  static thread_local const int slack = ::prctl(PR_SET_TIMERSLACK, 1);  // sleeps end at once
  (void)slack;
  constexpr auto kWakeUp = std::chrono::microseconds(10);
  if (end - std::chrono::steady_clock::now() > kWakeUp) std::this_thread::sleep_until(end - kWakeUp);
}

}  // namespace jitc::fakes
