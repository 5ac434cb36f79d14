// Tolerance of results that differ from the program's: how far numbers may differ, and how far they did.
//
// Many programs sum in another order each time (atomics, split-K), so that a replay yields other last digits
// of the same numbers. Such differences are tolerated up to a bound that the service sets for each replay,
// and counted. Values that steer a program (whole numbers, sizes, truth values, what has become infinite) are
// never tolerated: the ops after them would be other ops. Called by: Replay, which has it, StepGate and
// Session, from any thread (its own lock).
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

namespace jitc {

/// Returns the largest difference of two elements at the same place, relative to the largest element that the
/// program has; infinite if the bytes are no numbers (element: jitc_element_type), if their counts differ, or
/// if one of the two is infinite or no number and the other one is not the same.
double relative_difference(uint32_t element, std::span<const std::byte> had, std::span<const std::byte> now);

class Tolerance {
 public:
  struct Seen {
    uint64_t results = 0;
    double largest = 0;
  };

  /// Begins a replay. bound 0: the bytes must be equal.
  void begin(double bound);
  /// Returns whether this difference of a result is tolerated, and counts it if so.
  bool bears(double difference);
  double bound() const;
  /// Returns the differences seen in this replay.
  Seen seen() const;

 private:
  mutable std::mutex mutex_;
  double bound_ = 0;
  Seen seen_;
};

}  // namespace jitc
