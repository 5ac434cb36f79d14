// The fake device's clock, for measuring: work takes stated times, as a model of a GPU has it. Off unless
// JITC_FAKE_PACE is set (README.md has its form).
//
// Promises: work of one engine runs one piece after the other, that of different engines side by side, as a
// GPU's copy engines run beside its kernels; work of a stream begins when what is before it has ended; the
// host's own time stays real. With `clock=device` the host's time does not count and nobody waits: times of
// events are then exact, for tests. Graphs take no time: their pieces are not priced.
// Used by context.h and stream.cpp; copies.cpp and launches.cpp say what a piece of work costs.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>

namespace jitc::fakes {

using TimePoint = std::chrono::steady_clock::time_point;
using Nanoseconds = std::chrono::nanoseconds;

/// What occupies the device for a piece of work, and for how long at least.
struct Cost {
  enum Engine { kOrder, kHost, kCompute, kToDevice, kToHost, kLink };
  Engine engine = kOrder;  // kOrder: takes no time; kHost: as long as it really takes
  uint64_t bytes = 0;      // through the device's memory (kCompute), or over the bus
  Nanoseconds at_least{0};
};

/// The figures of a device: those of an H100's data sheet unless the environment says otherwise.
struct Pace {
  double bus = 64e9;         // bytes per second, each way (PCIe 5.0 x16)
  double memory = 3.35e12;   // bytes per second (SXM5's HBM3)
  Nanoseconds launch{3000};  // from the call until an idle device begins: assumed
  Nanoseconds kernel{1500};  // shortest time of a kernel or copy, with the gap to the next one: assumed
  bool device_clock = false;

  /// Null: no pace. Throws Failure where the variable cannot be read, with a line on standard error.
  static const Pace* asked_for();
  Nanoseconds duration(const Cost& cost) const;
  /// When a piece of work is submitted, by the device's clock.
  TimePoint now() const;
};

/// Until when the engines of a device are taken. Guarded by Driver::mutex.
class Engines {
 public:
  /// The end of a piece of work that could begin at that time.
  TimePoint book(const Pace& pace, const Cost& cost, TimePoint ready);

 private:
  std::array<TimePoint, Cost::kLink + 1> free_from_{};
};

/// Returns at that time of the host's clock; early by less than a sleep would be late.
void sleep_until(const Pace& pace, TimePoint end);

}  // namespace jitc::fakes
