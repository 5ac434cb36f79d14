// Gate before an optimizer step: measures and copies blocks, and lets the ranks wait for each other.
//
// In peer mode: all that is live is hashed; pre-step copies; their record in the journal; "reached n + 1" on
// the board; wait for the group; "begun n + 1". In copy mode the step begins at once. boundary_maker.h has
// what comes after. Promises: no rank begins a step that another rank could still be rolled back before, as
// long as the group gathers in time; without a group, all live allocations are copied from then on. Called
// by: the dispatcher's thread; BoundaryMaker and Restorer for what it knows.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "executor/boundary/boundary_state.h"
#include "executor/comparison/validation.h"
#include "jitc/generated_ops.h"

namespace jitc {

class Checkpoints;
class Drain;
class LateBoundary;
class OpIssuer;
class Replay;
class RowCopies;
class SessionCore;

class StepGate {
 public:
  StepGate(SessionCore& core, OpIssuer& issuer, Replay& replay, Checkpoints& checkpoints, RowCopies& copies,
           LateBoundary& late, Drain& drain)
      : core_(core),
        issuer_(issuer),
        replay_(replay),
        checkpoints_(checkpoints),
        copies_(copies),
        late_(late),
        drain_(drain) {}

  /// Takes the live set, as the program reports it right before the step.
  bool at_live_set(const ops::LiveSet& op);
  /// Begins a step. waits: for the group, if the policy says so. Returns false if the session stops.
  bool at_step_begin(const ops::StepBegin& op, bool waits);

  /// Returns the content at the row's address when the step began, as far as it was measured.
  Hash before_of(const LiveRow& row) const;
  /// Copies all blocks from now on if the ranks' steps do not correspond: they cannot rely on each other.
  void leave_peers_if_uneven();
  /// Does the same for this reason (nothing: peers have announced it).
  void leave_peers(const std::string& why = {});
  /// Forgets the step: it is over, or was rolled back.
  void forget();

  /// Reason why ranks that wait for each other before an optimizer step, or after it, are no peers.
  static constexpr const char* kCircle =
      "ranks of this job need from each other, around an optimizer step, what each gives only after it "
      "(work of several threads, or transfers under way)";

  Validations validations;

 private:
  static constexpr const char* kSharedSteps =
      "other threads of this program make steps, too, or give work while one is made";
  struct Content {
    uint64_t bytes;
    Hash hash;
  };

  const Policy& plan() const;
  bool prepare(uint64_t step);
  bool at_validation(Validation due, const ops::StepBegin& op);
  std::vector<LiveRow> live_now() const;
  const std::vector<LiveRow>& rows_before_step() const;
  void measure();
  void learn_mutable();
  bool wants_copy(const LiveRow& row) const;
  bool has_changed(const LiveRow& row) const;
  StepState state_before(uint64_t step) const;
  bool copy_own_rows(StepState& state);
  bool copy_before(uint64_t step);
  bool peers_can_finish(uint64_t step) const;
  bool wait_for_group(uint64_t step);
  bool is_unskippable(const std::vector<uint32_t>& group, uint64_t step) const;
  bool keep_boundary();
  bool keep_copies(const std::string& why, bool uneven = false);
  void adopt_copies();
  bool copy_rest(BoundaryState& state);

  SessionCore& core_;
  OpIssuer& issuer_;
  Replay& replay_;
  Checkpoints& checkpoints_;
  RowCopies& copies_;
  LateBoundary& late_;
  Drain& drain_;
  std::optional<std::vector<LiveRow>> live_;      // of the step that is about to begin; not said: nothing
  std::unordered_map<uint64_t, Content> before_;  // by address: at the newest step's begin
};

}  // namespace jitc
