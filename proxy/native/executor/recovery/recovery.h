// What the coordinator asks of a session in a recovery: stop, keep, finish the step, go on, give up.
//
// Promises: when fence() returns nothing runs on the device and the dispatcher is parked; a call of an
// earlier recovery that is under way ends soon. restorer.h has the way back. Called by: control threads
// (json_codec.h), one at a time; each call throws Error with what is wrong.
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

/// What a recovery steers.
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
  // epoch: of the recovery that asks, 0: not said. When a newer one has fenced the session the call is
  // refused.
  /// While a lost peer is rebuilt: what is kept on this device alone goes to memory of the node as well
  /// (keep.cpp).
  RecoverReply keep(uint64_t epoch, uint32_t timeout_ms);
  RecoverReply finish_step(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch = 0);
  /// bound: up to which numbers may differ in replay from what the program has (tolerance.h).
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
