#include "boundary_maker.h"

#include <algorithm>
#include <string>

#include "executor/checkpoint/checkpoints.h"
#include "executor/drain/drain.h"
#include "executor/issue/op_issuer.h"
#include "executor/journal/wire.h"
#include "executor/results/lookup.h"
#include "jitc/limits.h"
#include "late_boundary.h"
#include "step_gate.h"

namespace jitc {
namespace {
/// Number of boundaries belonging with none of other ranks at which the ranks of a job are assumed not to
/// make boundaries that belong together.
constexpr uint64_t kMany = 16;
/// Number of failed boundaries in a row that is reported to the user.
constexpr uint64_t kCircles = 16;

/// Returns whether some boundaries belong with none of other ranks: each one is made until one does.
bool is_alone(const Checkpoints& checkpoints, uint64_t committed) {
  const uint64_t uncommitted = count_after(checkpoints.boundaries(), committed);
  return uncommitted >= kFew && uncommitted < kMany;
}
}  // namespace

bool BoundaryMaker::at_boundary(const ops::Boundary& op, uint64_t position) {
  // A process numbers its boundaries for all its sessions; one that is opened later begins with the newest of
  // them.
  const bool begins = op.header.sequence == 1 && op.boundary > core_.at.last_boundary;
  const Place place = place_of(op, position);
  if (place.number != core_.at.last_boundary + 1 && !begins) {
    core_.fault(op.header.sequence, 1, "bad-boundary",
                "boundary " + std::to_string(op.boundary) + " does not follow boundary " +
                    std::to_string(core_.at.last_boundary));
    return false;
  }
  if (!late_.finish()) return false;
  checkpoints_.plan.begin();
  gate_.leave_peers_if_uneven();
  checkpoints_.pairing.step_ends();
  if (skips(place.number)) return skip(op, place.number);
  switch (is_last(place.number) ? drain_.await_patiently() : drain_.await()) {
    case Drained::stopped:
      return false;
    case Drained::circle:
      return give_up(op, place.number);
    case Drained::done:
      break;
  }
  in_circles_ = 0;
  checkpoints_.plan.begin();
  issuer_.note_done(op.header);
  checkpoints_.commit_known();
  if (!make(place)) return false;
  park_due_ = park_after_ && place.number >= park_after_;
  if (stop_after_ && place.number >= stop_after_)
    core_.fault(op.header.sequence, 0, "replica-divergence", "");
  return true;
}

/// Makes a boundary at which all allocations are live: none is known not to be.
bool BoundaryMaker::make_between(const ops::OpHeader& next, uint64_t position) {
  if (core_.issued.in_step || !late_.finish() || drain_.await_beside() != Drained::done) return core_.runs();
  checkpoints_.plan.begin();
  checkpoints_.commit_known();
  std::vector<ops::LiveBlock> blocks;
  for (const auto& one : core_.issued.table.list(*core_.backend).allocations)
    blocks.push_back({one.address, one.bytes, one.sequence});
  std::ranges::sort(blocks, {}, &ops::LiveBlock::ordinal);
  const Place place{next, core_.at.last_boundary + 1, core_.at.dispatched, position, blocks, true};
  BoundaryState state = begun(place);
  const Kept kept = keep(place, state);
  if (kept != Kept::all) return kept == Kept::no_room;
  gate_.forget();
  return publish(std::move(state));
}

BoundaryMaker::Place BoundaryMaker::place_of(const ops::Boundary& op, uint64_t position) const {
  return {op.header,
          op.boundary + core_.at.own_boundaries,
          op.header.sequence,
          position,
          {reinterpret_cast<const ops::LiveBlock*>(&op + 1), op.count},
          false};
}

/// Returns whether a boundary is awaited; a validation after it then runs at most one minibatch again.
bool BoundaryMaker::is_awaited(uint64_t boundary) const {
  return gate_.validations.step() == boundary + 1 || is_last(boundary);
}

/// Returns whether nothing comes after the boundary until the service allows it.
bool BoundaryMaker::is_last(uint64_t boundary) const {
  return (park_after_ && boundary >= park_after_) || (stop_after_ && boundary >= stop_after_);
}

/// Returns whether the policy skips a boundary; never the only one, nor one while the journal fills.
bool BoundaryMaker::skips(uint64_t boundary) const {
  const bool filling = core_.journal.bytes() > core_.journal.capacity() / 2 ||
                       core_.results.count() > limits::kResults / 2 || core_.journal_full;
  // Where numbers of ranks differ: counted from the newest that belong together.
  const uint64_t base = checkpoints_.pairing.uneven() ? core_.at.committed.load() : 0;
  return !checkpoints_.plan.current().makes(boundary - base) && !is_awaited(boundary) && !filling &&
         !is_alone(checkpoints_, core_.at.committed) && !checkpoints_.empty() && checkpoints_.protects();
}

/// Returns whether copies may be late: in copy mode, where ranks do not wait for each other before a step.
bool BoundaryMaker::may_be_late(const BoundaryState& state) const {
  return late_.usable() && !state.between && !checkpoints_.plan.current().peer_mode() && !state.measured &&
         !reserve_ && !keep_all_ && !imported_ && !is_awaited(state.number) && !checkpoints_.empty() &&
         checkpoints_.protects();
}

/// Gives up a boundary that cannot be made where ranks wait for each other; a later one can.
bool BoundaryMaker::give_up(const ops::Boundary& op, uint64_t number) {
  gate_.leave_peers(StepGate::kCircle);
  if (++in_circles_ == kCircles)
    core_.notice(std::string(StepGate::kCircle) + ": after a fault all is run again since boundary " +
                 std::to_string(core_.at.committed) + ", until a step can be kept");
  return skip(op, number);
}

bool BoundaryMaker::skip(const ops::Boundary& op, uint64_t number) {
  issuer_.issue(op.header);
  issuer_.at_point(op.header, "boundary");
  if (!core_.runs()) return false;
  gate_.forget();
  checkpoints_.pass(number, true);
  checkpoints_.commit_known();
  return true;
}

bool BoundaryMaker::imports(uint64_t boundary) const {
  if (!imported_) return false;
  uint64_t position = *imported_;
  return as<ops::Boundary>(op_of(*core_.journal.at(position))).boundary == boundary;
}

/// Makes the boundary after SkipStep: memory and resources are in place; copies and record are made now.
bool BoundaryMaker::make_imported() {
  uint64_t position = *imported_;
  const Place place = place_of(as<ops::Boundary>(op_of(*core_.journal.at(position))), position);
  checkpoints_.plan.begin();
  if (!make(place)) return false;
  imported_.reset();
  park_due_ = park_after_ && place.number >= park_after_;
  return true;
}

bool BoundaryMaker::make(const Place& place) {
  BoundaryState state = begun(place);
  std::optional<PhaseTime> time;
  if ((reserve_ = checkpoints_.plan.current().next_reserve == place.number)) {
    time.emplace(core_.times.reserve);
    ++core_.times.reserves;
  }
  const Kept kept = find_room(place, state);
  if (kept == Kept::stopped) return false;
  gate_.forget();
  if (kept == Kept::no_room) return checkpoints_.pass(place.number), true;
  if (later_.blocks.empty()) return publish(std::move(state));
  core_.issued.quiet = true;
  checkpoints_.pass(place.number, true);
  return late_.begin(std::move(state), later_.blocks);
}

bool BoundaryMaker::publish(BoundaryState state) {
  if (!record(state)) {
    copies_.drop(state.rows);
    throw Error("the journal cannot hold even one boundary: give it more with jitc-proxyd --journal-limit");
  }
  checkpoints_.publish(std::move(state));
  return true;
}

/// Makes room by force: at the price of reserves, then of all boundaries before, so that this one is the only
/// one, and protects again.
bool BoundaryMaker::record(const BoundaryState& state) {
  if (checkpoints_.record(state)) return true;
  if (checkpoints_.drop_reserves() && checkpoints_.record(state)) return true;
  checkpoints_.drop_journal();
  return checkpoints_.record(state);
}

BoundaryState BoundaryMaker::begun(const Place& place) const {
  BoundaryState state;
  state.number = place.number;
  state.sequence = place.sequence;
  state.position = place.position;
  state.own = core_.at.own_boundaries + place.between;
  state.between = place.between;
  state.step_waits = core_.issued.step_waits;
  state.step_collectives = core_.issued.step_collectives;
  state.step_allocations = core_.issued.step_allocations;
  state.policy = checkpoints_.plan.current();
  core_.issued.table.communications().learn_ranks(*core_.backend);
  state.resources = core_.issued.table.list(*core_.backend);
  return state;
}

/// Finds room for copies that do not fit beside those of older boundaries: tries without a reserve, then
/// without the older boundaries.
BoundaryMaker::Kept BoundaryMaker::find_room(const Place& place, BoundaryState& state) {
  Kept kept = keep(place, state);
  if (kept == Kept::no_room && std::exchange(reserve_, false)) kept = keep(place, state);
  if (kept == Kept::no_room && checkpoints_.drop_reserves()) kept = keep(place, state);
  if (kept != Kept::no_room) return kept;
  const auto [why, option] = shortage(place);
  checkpoints_.enter_unprotected_mode(why, option);
  return core_.runs() ? keep(place, state) : Kept::stopped;
}

/// Returns why there is no room, and the option that makes it: two boundaries, beside what others hold.
std::pair<std::string, std::string> BoundaryMaker::shortage(const Place& place) {
  uint64_t bytes = 0;
  for (const ops::LiveBlock& block : place.blocks) bytes += block.bytes;
  const CopiesBudget& budget = core_.snapshot.budget();
  const uint64_t others = budget.used() - std::min(budget.used(), budget.held());
  const auto mebibytes = [](uint64_t of) { return std::to_string((of + (1 << 20) - 1) >> 20) + " MiB"; };
  return {"the memory for copies of boundaries is full (" + mebibytes(budget.limit()) + " on this node, " +
              mebibytes(others) + " of it taken by other sessions; this program has " + mebibytes(bytes) +
              " to copy)",
          "--copies-limit " + std::to_string(((others + 2 * bytes) >> 30) + 1) + "GiB"};
}

BoundaryMaker::Kept BoundaryMaker::keep(const Place& place, BoundaryState& state) {
  later_.blocks.clear();
  try {
    if (keep_rows(place, state) && keep_variables(state)) return Kept::all;
    copies_.drop(state.rows);
    return Kept::stopped;
  } catch (const SnapshotFull&) {
    copies_.drop(state.rows);
    state.rows.clear();
    return Kept::no_room;
  }
}

bool BoundaryMaker::keep_rows(const Place& place, BoundaryState& state) {
  const Policy& plan = checkpoints_.plan.current();
  state.measured = plan.measures(place.number) || plan.measures(place.number + 1) || plan.peer_mode();
  later_.may_wait = [this, late = may_be_late(state)](const LiveRow& row) {
    return late && late_.may_wait(row);
  };
  state.rows.reserve(place.blocks.size());
  for (const ops::LiveBlock& block : place.blocks) {
    state.rows.push_back(LiveRow{block});
    state.rows.back().before = gate_.before_of(state.rows.back());
  }
  // In peer mode blocks that are not copied are known by their hash, and so are those that may need a copy
  // before the step. Other copies are hashed as they are made, unless the device hashes faster.
  const bool first = state.measured || core_.backend->hashes_itself();
  if (!core_.runs() || (first && !copies_.measure(state.rows, place.sequence))) return false;
  const auto half = std::span(state.rows).first(place.blocks.size() / 2);
  if (!copy_wanted(half, place)) return false;
  if (!place.blocks.empty()) issuer_.at_point(place.op, "boundary");
  return core_.runs() && copy_wanted(std::span(state.rows).subspan(half.size()), place);
}

/// Returns a row that may have a copy of this content: one copied before the step, which did not change it,
/// or else the newest boundary's.
const LiveRow* BoundaryMaker::earlier_row(const LiveRow& row) const {
  const auto& step = checkpoints_.step();
  const LiveRow* const before = step && row.hash != kNoHash ? row_of(step->rows, row) : nullptr;
  return before && before->copied() && before->hash == row.hash ? before : checkpoints_.row_at_newest(row);
}

bool BoundaryMaker::copy_wanted(std::span<LiveRow> rows, const Place& place) {
  const Policy& plan = checkpoints_.plan.current();
  const bool all = keep_all_ || reserve_ || !checkpoints_.protects();
  std::vector<RowCopies::Wanted> wanted;
  for (LiveRow& row : rows)
    if (row.block.bytes && (all || plan.wants_copy(row.block.ordinal, row.block.bytes)))
      wanted.push_back({&row, earlier_row(row)});
  return copies_.copy_all(wanted, place.sequence, &later_);
}

/// Keeps variables of modules that the program has asked for: a reloaded module has their initial values. A
/// kernel's own variables, which it never asked for, are out of sight. Throws SnapshotFull.
bool BoundaryMaker::keep_variables(BoundaryState& state) {
  const size_t blocks = state.rows.size();
  for (const auto& variable : state.resources.variables) {
    if (!variable.bytes) continue;
    LiveRow row{{variable.address, variable.bytes, LiveRow::kVariable | variable.address}};
    if (const LiveRow* const old = checkpoints_.row_at_newest(row)) row.before = old->hash;
    state.rows.push_back(row);
  }
  const auto variables = std::span(state.rows).subspan(blocks);
  std::ranges::sort(variables, {}, [](const LiveRow& row) { return row.block.ordinal; });
  return copies_.measure(variables, state.sequence) &&
         std::ranges::all_of(variables, [&](LiveRow& row) { return copies_.copy(row, state.sequence); });
}

}  // namespace jitc
