// Boundaries for a rank that makes no optimizer steps (an actor, an evaluation, a parameter server), or fewer
// than others: its worker makes one where it meets a boundary of theirs.
//
// Ranks whose newest boundaries belong with none of this rank's say so on the board (JobSlot::alone). Before
// a collective with such a rank, this one waits until that one has come to it too: every boundary before it
// has been made by then, and where both have done the same a boundary is made here. It costs no time that the
// collective would not have cost, unless the other rank comes only after something else that this one has to
// do: its collectives show that, or that it stands in a circle with this one (lookout.h); a wait that they do
// not explain ends with a time limit.
//
// Promises: there is no wait as long as no rank asks for one; waits that were in vain become rare, and end
// for good after a few. Called by: the dispatcher, before each collective, in its thread.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/tally.h"
#include "executor/journal/journal.h"
#include "jitc/generated_ops.h"

namespace jitc {

class BoundaryMaker;
class Checkpoints;
class Replay;
class SessionCore;

class Meeting {
 public:
  Meeting(SessionCore& core, Checkpoints& checkpoints, BoundaryMaker& boundaries, const Replay& replay)
      : core_(core), checkpoints_(checkpoints), boundaries_(boundaries), replay_(replay) {}

  /// Prepares for the collective of this record before it is issued. Returns false if the session stops.
  bool before(const RecordHeader& record);
  /// Returns whether it waits for others, and will continue without them. Any thread.
  bool waits() const { return waits_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::chrono::milliseconds kFirst{1000}, kLongest{30'000};
  static constexpr int kTries = 6, kLookMilliseconds = 20;

  bool is_called() const;
  Encounter await(const ops::Collective& op);
  void stand_before(const ops::Collective& op);
  Encounter look(const ops::Collective& op) const;
  void in_vain(bool in_circle);

  SessionCore& core_;
  Checkpoints& checkpoints_;
  BoundaryMaker& boundaries_;
  const Replay& replay_;
  std::chrono::milliseconds patience_ = kFirst;
  int failures_ = 0, in_vain_ = 0;  // since one was met: waits that took all the time, and all waits
  uint64_t passes_ = 0;             // collectives that are not waited before
  std::atomic<bool> waits_{false};
};

}  // namespace jitc
