// Waits until the device has done all that it was given, where other ranks may wait for this one meanwhile.
//
// Without jitc a program does not wait there. So what the device has still to do may need another rank, which
// waits itself until this one gives what comes later in its ops: two threads that use communicators of their
// own, transfers that are under way across an optimizer step, a join beside training. A rank that waits
// longer than a moment shows what it waits for (Standing); so does one that has nothing more to give while
// its program waits for results, and one whose replay waits for what the program had seen. Who finds itself
// in a circle gives up (lookout.h). A circle that cannot be seen is taken for granted after a while, where
// giving up costs no more than a boundary (drain_limit.h).
//
// Promises: where peers are relied on, and nobody is in a circle, it waits however long it takes; who gives
// up has more ops to give, and goes on with them. Called by: the dispatcher, and what makes boundaries, in
// its thread.
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

  /// Before the op at the cursor, which waits for it, too.
  Drained await();
  /// The same, where that op can go on meanwhile.
  Drained await_beside();
  /// However long others wait.
  Drained await_patiently();

  /// The dispatcher stands until something is done that it has given.
  void stand();
  /// The same where it has nothing more to give, and the program waits.
  void rest();
  bool may_be_awaited() const;
  /// It gives more, from now on.
  void go_on();
  /// It waits for what others have to give, and will go on without it. For any thread.
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
