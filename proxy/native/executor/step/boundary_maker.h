// Makes boundaries: copies, hashes and publishes state when an optimizer step is over.
//
// Order at boundary n: everything before has run; copies; the boundary's record; then it is published
// (checkpoints.h). step_gate.h has what comes before the step. Promise: a boundary that does not fit beside
// older ones is tried again without them; the job continues in any case. Called by: the dispatcher's thread;
// Restorer and Recovery while it is parked.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "executor/boundary/boundary_state.h"
#include "executor/checkpoint/row_copies.h"
#include "jitc/generated_ops.h"

namespace jitc {

class Checkpoints;
class Drain;
class LateBoundary;
class OpIssuer;
class SessionCore;
class StepGate;

/// The parts used to make boundaries.
struct BoundaryParts {
  OpIssuer& issuer;
  Checkpoints& checkpoints;
  RowCopies& copies;
  StepGate& gate;
  LateBoundary& late;
  Drain& drain;
};

class BoundaryMaker {
 public:
  BoundaryMaker(SessionCore& core, const BoundaryParts& parts)
      : core_(core),
        issuer_(parts.issuer),
        checkpoints_(parts.checkpoints),
        copies_(parts.copies),
        gate_(parts.gate),
        late_(parts.late),
        drain_(parts.drain) {}

  /// Makes a boundary. position: of the op's record. Returns false if the session stops.
  bool at_boundary(const ops::Boundary& op, uint64_t position);

  /// Makes a boundary that no op asks for, right before this one, whose record is at the position. Does
  /// nothing in a step, or without room for copies. Returns false if the session stops.
  bool make_between(const ops::OpHeader& next, uint64_t position);

  /// Notes that memory and resources are those of the boundary op at this position already (SkipStep);
  /// nothing: they are not.
  void import_at(std::optional<uint64_t> position) { imported_ = position; }
  bool has_imported() const { return imported_.has_value(); }
  bool imports(uint64_t boundary) const;
  bool make_imported();

  /// Makes boundaries need no peer.
  void keep_all(bool all) { keep_all_ = all; }
  /// Stops the session after this boundary, before anything else runs (fault "replica-divergence"). 0: none.
  void stop_after(uint64_t boundary) { stop_after_ = boundary; }
  /// Parks the dispatcher after this boundary (FinishStep). 0: none.
  void park_after(uint64_t boundary) { park_after_ = boundary; }
  bool will_park() const { return park_after_ != 0; }
  /// Returns whether the boundary to park after was made since the last call.
  bool take_park_due() { return std::exchange(park_due_, false); }

 private:
  enum class Kept { all, stopped, no_room };
  /// Place and content of a boundary being made.
  struct Place {
    const ops::OpHeader& op;
    uint64_t number, sequence, position;  // see BoundaryState
    std::span<const ops::LiveBlock> blocks;
    bool between;
  };
  Place place_of(const ops::Boundary& op, uint64_t position) const;
  bool is_awaited(uint64_t boundary) const;
  bool is_last(uint64_t boundary) const;
  bool skips(uint64_t boundary) const;
  bool may_be_late(const BoundaryState& state) const;
  bool skip(const ops::Boundary& op, uint64_t number);
  bool give_up(const ops::Boundary& op, uint64_t number);
  bool make(const Place& place);
  bool publish(BoundaryState state);
  BoundaryState begun(const Place& place) const;
  bool record(const BoundaryState& state);
  Kept find_room(const Place& place, BoundaryState& state);
  std::pair<std::string, std::string> shortage(const Place& place);
  Kept keep(const Place& place, BoundaryState& state);
  bool keep_rows(const Place& place, BoundaryState& state);
  const LiveRow* earlier_row(const LiveRow& row) const;
  bool copy_wanted(std::span<LiveRow> rows, const Place& place);
  bool keep_variables(BoundaryState& state);

  SessionCore& core_;
  OpIssuer& issuer_;
  Checkpoints& checkpoints_;
  RowCopies& copies_;
  StepGate& gate_;
  LateBoundary& late_;
  Drain& drain_;
  uint64_t in_circles_ = 0;  // boundaries in a row that could not be made where ranks wait for each other
  std::optional<uint64_t> imported_;
  RowCopies::Later later_;                   // of the boundary being made
  bool park_due_ = false, reserve_ = false;  // the boundary being made is to be a reserve
  std::atomic<bool> keep_all_{false};
  std::atomic<uint64_t> park_after_{0}, stop_after_{0};
};

}  // namespace jitc
