// The coordinator's calls to a session in a recovery: stop, keep, finish the step, resume, give up.
//
// Promises: when fence() returns nothing runs on the device and the dispatcher is parked; a call of an
// earlier recovery that is in flight ends soon. restorer.h has the roll-back. Called by: control threads
// (session_commands.h), one at a time; each call throws Error with what is wrong.
#pragma once
#include <string>
#include <vector>

#include "executor/core/lifecycle.h"
#include "executor/core/session_types.h"

namespace jitc {

class BoundaryMaker;
class Checkpoints;
class LateBoundary;
class Replay;
class Restorer;
class RowCopies;
class SessionCore;

/// The parts that a recovery controls.
struct Steered {
  Replay& replay;
  Checkpoints& checkpoints;
  RowCopies& copies;
  BoundaryMaker& boundaries;
  LateBoundary& late;
  Restorer& restorer;
};

class Recovery {
 public:
  Recovery(SessionCore& core, const Steered& parts) : core_(core), parts_(parts) {}

  Position fence(uint64_t epoch);
  // Keeps what is on this device alone in memory of the node as well (keep.cpp), while a lost peer is
  // rebuilt. epoch: of the recovery that asks, 0: not given. A call is refused once a newer recovery has
  // fenced the session.
  RecoverReply keep(uint64_t epoch, uint32_t timeout_ms);
  RecoverReply finish_step(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch = 0);
  /// Resumes. bound: how far numbers in replay may differ from the program's (tolerance.h).
  void resume(uint64_t epoch, const std::vector<uint32_t>& slots, double bound = 0);
  void abandon(uint32_t status, const std::string& message);

 private:
  void stop_dispatcher(Lifecycle::Lock& lock);
  void park_dispatcher(Lifecycle::Lock& lock);
  bool is_at(uint64_t boundary) const;
  RecoverReply go_to(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch);
  RecoverReply run_to(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch, Lifecycle::Lock& lock);
  RecoverReply keep_newest();
  bool keep_row(LiveRow& row, const Hash& now);

  SessionCore& core_;
  const Steered parts_;
};

}  // namespace jitc
