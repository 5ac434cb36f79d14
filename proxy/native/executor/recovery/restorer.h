// Rolls back to a boundary, or advances to the next one without running the step: memory, resources, the
// cursor in the journal, and what counts as executed.
//
// Promises: a copy that is damaged is as good as none; content that only a peer can supply is listed in the
// reply; a session whose state is not whole does not continue (Lifecycle::restored). A call that a newer
// recovery has overtaken ends soon. Called by: control threads while the dispatcher is parked
// (session_commands.h, Recovery). Each call throws Error with what is wrong. Files: restorer.cpp (back),
// skip_step.cpp (on).
#pragma once
#include <set>
#include <string>
#include <vector>

#include "executor/boundary/boundary_state.h"
#include "executor/core/session_types.h"

namespace jitc {

class BoundaryMaker;
class Checkpoints;
class Delivery;
class OpIssuer;
class Replay;
class ResourceTable;
class RowCopies;
class SessionCore;
class StepGate;

/// The parts that a restore changes.
struct Restored {
  OpIssuer& issuer;
  Delivery& delivery;
  Replay& replay;
  Checkpoints& checkpoints;
  RowCopies& copies;
  StepGate& gate;
  BoundaryMaker& boundaries;
};

class Restorer {
 public:
  Restorer(SessionCore& core, const Restored& parts);

  // Rolls back. epoch: of the recovery that asks, 0: not given. A call is refused once a newer recovery has
  // fenced the session. replaced: allocations that are to have the content of these hashes from then on,
  // which only a peer can supply.
  RecoverReply roll_back(uint64_t boundary, uint64_t epoch = 0, const std::vector<LiveRow>& replaced = {});
  RecoverReply skip_step(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch = 0);

  /// Returns whether the device has all that the session had at its position: no block from a peer is
  /// missing. Requires Lifecycle::mutex.
  bool memory_is_whole() const { return !memory_lost_ && missing_.empty(); }
  /// Notes that missing blocks have come from a peer, and have been checked. Requires Lifecycle::mutex.
  void arrived(const std::vector<Transfer>& blocks);
  /// Returns what the communicators have done at the session's position; nothing while it does not stand.
  Tally tally() const;
  /// Notes that the session continues: it has its memory.
  void resumed();

 private:
  // Rolling back.
  bool starts_after(uint64_t boundary) const;
  RecoverReply restart(uint64_t boundary);
  RecoverReply restore_to(const BoundaryState* state);
  void go_on_from(const BoundaryState& state);
  std::vector<LiveRow> keep_what_holds(const BoundaryState& state, RecoverReply& reply);
  void restore_rows(const BoundaryState& state, const std::vector<LiveRow>& kept, RecoverReply& reply);
  std::vector<LiveRow> take_unchanged(std::vector<LiveRow>& rows) const;
  void put_back(const std::vector<LiveRow>& rows);
  bool put_back_at_once(const std::vector<LiveRow>& rows);
  bool restore_copies(const std::vector<LiveRow>& rows, RecoverReply& reply);
  bool whole_plans(const Resources& resources, std::string& error);

  // Skipping a step.
  const RecordHeader* wait_for_boundary_op(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch);
  RecoverReply skip_to(const RecordHeader& boundary_op);
  bool skip_ops(uint64_t from, uint64_t to, ResourceTable& table, std::string& why);
  bool skip_result(const ops::OpHeader& op);
  RecoverReply restore_skipped(const ops::Boundary& op, const BoundaryState* base, const StepState* step);
  void put_in_place(std::vector<LiveRow> replicated, RecoverReply& reply);
  void go_on_after(const RecordHeader& boundary_op, const Resources& resources);
  void note_missing(const std::vector<LiveRow>& rows);

  SessionCore& core_;
  const Restored parts_;
  bool memory_lost_;            // this worker never had the session's memory, and has not restored it
  std::set<uint64_t> missing_;  // addresses of blocks that the newest restore could not give back
};

}  // namespace jitc
