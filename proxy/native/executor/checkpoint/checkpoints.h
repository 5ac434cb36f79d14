// The boundaries that a session can roll back to: published, committed with the whole group, and forgotten.
//
// A boundary is published when its copies and its record are complete; the slot on the board then says
// "prepared n", and what it belongs with. It is committed when each rank of the group has one that belongs
// with it (pairing.h): then the minibatch before it is forgotten; a reserve (policy.h) stays behind, with the
// journal from there on, until another one has taken its place or room is needed. Promises: the journal says
// so first, for a worker that may have to take over; the newest boundary stays until there is another one, or
// the journal or the arena is full, which is reported to the user. State: changed by the dispatcher with
// Lifecycle::mutex held, read by commands with it; commands change it while the dispatcher is parked. Called
// by: BoundaryMaker, StepGate, Restorer, Recovery, Intake (truncate) and Session.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "executor/boundary/boundary_loader.h"
#include "executor/boundary/boundary_state.h"
#include "executor/boundary/policy.h"
#include "executor/boundary/reserves.h"
#include "executor/journal/journal.h"
#include "executor/pairing/pairing.h"

namespace jitc {

class OpIssuer;
class RowCopies;
class SessionCore;

class Checkpoints {
 public:
  Checkpoints(SessionCore& core, OpIssuer& issuer, RowCopies& copies)
      : pairing(core), core_(core), issuer_(issuer), copies_(copies) {}

  Plan plan;
  Pairing pairing;

  // Queries.
  const Boundaries& boundaries() const { return boundaries_; }
  bool empty() const { return boundaries_.empty(); }
  const BoundaryState& newest() const { return boundaries_.back(); }
  const BoundaryState* find(uint64_t number) const;
  /// Returns the newest boundary's row of an allocation, or nullptr.
  const LiveRow* row_at_newest(const LiveRow& live) const;
  /// Returns a boundary's table (0: the newest). Throws Error if it is not kept. `earlier` accepts one of
  /// which only rows are known. Requires Lifecycle::mutex.
  const BoundaryState& table(uint64_t boundary, bool earlier) const;
  const std::optional<StepState>& step() const { return step_; }
  /// Returns whether a fault could be recovered now.
  bool protects() const { return protected_; }

  // Making boundaries. record() returns false if the journal has no room for it.
  bool record(const BoundaryState& state);
  /// Publishes a boundary. late: ops of the minibatch after it have been submitted to the device.
  void publish(BoundaryState state, bool late = false);
  /// Passes a boundary without keeping it: the job continues, but has nothing to roll back to; or, if
  /// skipped, rolls back to an earlier one.
  void pass(uint64_t number, bool skipped = false);
  void set_step(StepState state) { step_ = std::move(state); }
  /// Replaces the newest boundary. Requires Lifecycle::mutex, when commands may read.
  void replace_newest(BoundaryState state) { boundaries_.back() = std::move(state); }
  /// Forgets what the whole group no longer needs.
  void commit_known();
  /// Makes room: drops reserves, and the journal up to the committed boundary. Returns false without
  /// reserves.
  bool drop_reserves();
  /// Truncates the journal. Called by the dispatcher, and by Intake when the client took results.
  void truncate();
  /// Drops the journal: it is full, or too much is known of results, and no boundary will free it.
  void drop_journal();
  /// Lets the job continue with nothing to roll back to, until the next boundary. Reports to the user why.
  void enter_unprotected_mode(const std::string& why, const std::string& option);
  /// Notes the sessions that have these slots now as ranks of this job.
  void set_peers(const std::vector<uint32_t>& slots);
  /// Returns the slots that they still have.
  std::vector<uint32_t> peers() const;

  // Rolling back. Drops all boundaries after this one. Throws Error if the journal is full.
  void forget_after(uint64_t boundary);
  /// Turns the boundary into one at which these allocations had the content of a peer. Throws Error as above.
  void replace_rows(uint64_t boundary, const std::vector<LiveRow>& replaced);
  /// Sets this rank's boundary on the board and for the group, replacing any earlier one.
  void stand_at(uint64_t boundary);

  // Loads a record of an existing journal.
  void load(const RecordHeader& record);
  /// Completes loading. Throws Error if the journal is damaged.
  void loaded();

 private:
  void forget_before(uint64_t first);
  void announce(uint64_t number);
  void end_step(uint64_t number, bool waited);
  void drop_step();

  SessionCore& core_;
  OpIssuer& issuer_;
  RowCopies& copies_;
  Boundaries boundaries_;
  EarlierTables earlier_;  // of boundaries before these
  std::optional<StepState> step_;
  std::vector<std::pair<uint32_t, uint64_t>> peers_;  // slots with sessions
  Reserves reserves_;
  std::atomic<bool> protected_{true};
  bool regained_ = false;  // a boundary was made without protection, and other ranks may lack theirs
  BoundaryLoader loader_{boundaries_, step_};
};

}  // namespace jitc
