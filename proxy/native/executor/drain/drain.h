// Waits until the device has done all submitted work, where other ranks may wait for this one meanwhile.
//
// Without jitc a program does not wait there. So the remaining work of the device may need another rank,
// which itself waits until this one submits later ops: two threads that use communicators of their own,
// transfers in flight across an optimizer step, a join beside training. A rank that waits longer than a
// moment shows what it waits for (Standing); so does one that has nothing more to submit while its program
// waits for results, and one whose replay waits for what the program had seen. A rank that finds itself in a
// circle gives up (lookout.h). A circle that cannot be seen is assumed after a while, where giving up costs
// no more than a boundary (drain_limit.h).
//
// Promises: where peers are relied on, and no rank is in a circle, it waits however long it takes; a rank
// that gives up has more ops to submit, and continues with them. Called by: the dispatcher, and the makers of
// boundaries, in its thread.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/tally.h"
#include "drain_limit.h"

namespace jitc {

class Checkpoints;
class Replay;
class SessionCore;

enum class Drained {
  done,
  stopped,  // the session stops
  circle,   // ranks wait for each other: there is no waiting here
};

class Drain {
 public:
  Drain(SessionCore& core, Checkpoints& checkpoints, const Replay& replay)
      : core_(core), checkpoints_(checkpoints), replay_(replay) {}

  /// Waits before the op at the cursor, which waits for the drain, too.
  Drained await();
  /// Waits where that op can continue meanwhile.
  Drained await_beside();
  /// Waits however long others wait.
  Drained await_patiently();

  /// Marks the dispatcher as standing until some submitted work is done.
  void stand();
  /// Marks it as standing with nothing more to submit, while the program waits.
  void rest();
  bool may_be_awaited() const;
  /// Marks it as submitting ops again.
  void go_on();
  /// Returns whether it waits for ops of other ranks, and will continue without them. Any thread.
  bool will_go_on() const { return will_go_on_.load(std::memory_order_relaxed); }

 private:
  Drained await_before(uint64_t more);
  Standing standing() const;
  bool program_waits() const;

  SessionCore& core_;
  Checkpoints& checkpoints_;
  const Replay& replay_;
  DrainLimit limit_;
  std::atomic<bool> will_go_on_{false};
};

}  // namespace jitc
