// Limit of a drain's wait where no circle is seen, and giving up costs no more than a boundary.
//
// There may be a circle all the same: a thread may drive several GPUs, and a program wait for another one
// outside of them (PyTorch's store, as a communicator is made at its first message). Or another rank is late,
// and the boundary worth the wait. No rank can distinguish the two: so a long wait that was in vain is
// followed by boundaries that are given up soon, more of them each time, and the next long wait is longer.
// Called by: Drain. Promises: of kFinally boundaries in a row at least one gets a long wait; waits that pay
// off are never too long again.
#pragma once
#include <chrono>
#include <cstdint>

#include "base/tally.h"

namespace jitc {

class DrainLimit {
 public:
  using Duration = std::chrono::steady_clock::duration;
  /// Returns whether a rank gives up that has made no progress for so long; it does not wait again for what
  /// it gave up on once.
  bool is_over(const Tally& awaited, Duration waited);
  /// Notes that the rank made no progress for so long, and that what it waited for was done then.
  void paid_off(Duration waited);
  /// Notes that it gave up for a circle that was only assumed: the next such circle is assumed soon.
  void was_doubtful() { doubt_ = kMoment; }
  /// Returns how long nothing changes before a circle is assumed.
  Duration doubt() const { return doubt_; }

  /// kMoment: most waits are shorter; afterwards also how often a rank looks for a circle.
  static constexpr std::chrono::milliseconds kMoment{20}, kSoon{200}, kFirst{1'000}, kLongest{10'000};
  static constexpr uint32_t kFewest = 4, kFinally = 1024;  // boundaries that are given up soon, at a time

 private:
  Duration at_length_ = kFirst, doubt_ = kSoon;
  uint32_t soon_ = 0, next_ = kFewest;
  Tally given_up_;
};

}  // namespace jitc
