// Results that differ from those which the program has: how far numbers may, and how far they did.
//
// Many programs sum in another order each time (atomics, split-K), so that a replay gives other last digits
// of the same numbers. Those are tolerated up to a bound that the service sets for each replay, and counted.
// What steers a program (whole numbers, sizes, truth values, what has become infinite) is never tolerated:
// the ops that came after it would be other ops. Called by: Replay, which has it, StepGate and Session, from
// any thread (its own lock).
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

namespace jitc {

/// The largest difference of two elements at the same place, relative to the largest element that the program
/// has; infinite where the bytes are no numbers (element: jitc_element_type), where their counts differ, and
/// where one of the two is infinite or no number and the other one is not the same.
double relative_difference(uint32_t element, std::span<const std::byte> had, std::span<const std::byte> now);

class Tolerance {
 public:
  struct Seen {
    uint64_t results = 0;
    double largest = 0;
  };

  /// A replay begins. bound 0: the bytes must be equal.
  void begin(double bound);
  /// Whether this difference of a result is tolerated; then it is counted.
  bool bears(double difference);
  double bound() const;
  /// In this replay.
  Seen seen() const;

 private:
  mutable std::mutex mutex_;
  double bound_ = 0;
  Seen seen_;
};

}  // namespace jitc
