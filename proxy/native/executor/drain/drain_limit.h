// How long a drain waits where no circle is seen, and giving up costs no more than a boundary.
//
// There may be a circle all the same: a thread may drive several GPUs, and a program wait for another one
// outside of them (PyTorch's store, as a communicator is made at its first message). Or another rank is late,
// and the boundary worth the wait. Nobody can tell which: so a wait at length that was in vain is followed by
// boundaries that are given up soon, more of them each time, and the next one at length is longer. Called by:
// Drain. Promises: of kFinally boundaries in a row one at least is waited for at length; waits that pay off
// are never too long again.
#pragma once
#include <chrono>
#include <cstdint>

#include "base/tally.h"

namespace jitc {

class DrainLimit {
 public:
  using Duration = std::chrono::steady_clock::duration;
  /// Whether a rank gives up that has not got on for so long; what it has given up on once it does not wait
  /// for again.
  bool is_over(const Tally& awaited, Duration waited);
  /// It has not got on for so long, and what it waited for was done then.
  void paid_off(Duration waited);
  /// It gave up for a circle that was only taken for one: the next such circle is taken for one soon.
  void was_doubtful() { doubt_ = kMoment; }
  /// How long nothing changes before that.
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
