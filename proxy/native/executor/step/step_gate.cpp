#include "step_gate.h"

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "executor/checkpoint/checkpoints.h"
#include "executor/checkpoint/row_copies.h"
#include "executor/drain/drain.h"
#include "executor/issue/op_issuer.h"
#include "executor/journal/wire.h"
#include "executor/replay/replay.h"
#include "late_boundary.h"

namespace jitc {
namespace {
/// Longest time for a group to gather: then the rank continues without it, with copies of everything.
constexpr auto kGatherTime = std::chrono::seconds(10);
}  // namespace

/// Takes the live set, for the step_begin that follows.
bool StepGate::at_live_set(const ops::LiveSet& op) {
  const auto* const blocks = reinterpret_cast<const ops::LiveBlock*>(&op + 1);
  live_.emplace();
  for (uint64_t i = 0; i < op.count; ++i)
    if (blocks[i].bytes) live_->push_back(LiveRow{blocks[i]});
  issuer_.issue(op.header);
  return true;
}

bool StepGate::at_step_begin(const ops::StepBegin& op, bool waits) {
  const uint64_t step = core_.at.last_boundary + 1;
  if (!late_.finish() || !late_.learn(step)) return false;
  checkpoints_.plan.begin();
  if (wire::shares_step(op.header) && !keep_copies(kSharedSteps, true)) return false;
  if (const auto due = validations.at(step); due && !at_validation(*due, op)) return false;
  if (!prepare(step)) return false;
  checkpoints_.commit_known();
  core_.slot().unskippable.store(plan().peer_mode() && !peers_can_finish(step) ? step : 0);
  if (plan().barrier) checkpoints_.pairing.reach(step, checkpoints_.boundaries());
  core_.slot().reached.store(step);
  core_.board.job.ring();
  if (plan().barrier && waits && !wait_for_group(step)) return false;
  Issued& issued = core_.issued;
  {
    const std::lock_guard lock(core_.life.mutex);
    if (!core_.runs()) return false;
    issued.in_step = true;
    issued.behind_barrier = plan().barrier;
    issued.step_waits = issued.step_collectives = issued.step_allocations = 0;
    core_.slot().begun.store(step);
  }
  core_.board.job.tell_bridge();
  issuer_.step_begins();
  const bool was_quiet = issued.quiet;
  issuer_.issue(op.header);
  issued.quiet = was_quiet;
  return true;
}

const Policy& StepGate::plan() const { return checkpoints_.plan.current(); }

bool StepGate::prepare(uint64_t step) {
  if (!plan().peer_mode() && !plan().measures(step)) return true;
  if (const Drained drained = drain_.await(); drained != Drained::done) {
    forget();
    return drained == Drained::circle && (!plan().peer_mode() || keep_copies(kCircle, true));
  }
  core_.issued.quiet = true;
  measure();
  if (!plan().peer_mode()) return true;
  learn_mutable();
  return copy_before(step);
}

/// Validates a step. The first time: notes what is live, and stops until the coordinator has rolled the job
/// back. The second time: reports what differs.
bool StepGate::at_validation(Validation due, const ops::StepBegin& op) {
  const Drained drained = due.measured() ? drain_.await_patiently() : drain_.await();
  if (drained != Drained::done) return drained == Drained::circle;  // too late, for the service
  core_.issued.quiet = true;
  if (!due.measured()) {
    due.measure(*core_.backend, live_now());
    if (!validations.measured(std::move(due))) return true;
    core_.fault(op.header.sequence, 0, "validation", "");
    return false;
  }
  Verdict verdict = due.compare(*core_.backend);
  verdict.results = replay_.tolerance.seen();
  validations.compared(verdict);
  if (!verdict.identical())
    core_.notice("this job cannot be guaranteed to the last bit, it only goes on: " + verdict.text());
  return true;
}

/// Returns the live blocks as the program reported them right before the step, else all allocations.
std::vector<LiveRow> StepGate::live_now() const {
  if (live_) return *live_;
  std::vector<LiveRow> live;
  for (const auto& one : core_.issued.table.list(*core_.backend).allocations)
    live.push_back(LiveRow{{one.address, one.bytes, one.sequence}});
  return live;
}

/// Returns the live rows that the program reported, else in peer mode those of the newest boundary: they are
/// needed also if the program does not report right before the step.
const std::vector<LiveRow>& StepGate::rows_before_step() const {
  static const std::vector<LiveRow> kNone;
  if (live_) return *live_;
  return plan().peer_mode() && !checkpoints_.empty() ? checkpoints_.newest().rows : kNone;
}

void StepGate::measure() {
  before_.clear();
  const auto& rows = rows_before_step();
  const auto hashes = copies_.hashes_of(rows);
  for (size_t i = 0; i < hashes.size(); ++i)
    if (hashes[i] != kNoHash) before_[rows[i].block.address] = {rows[i].block.bytes, hashes[i]};
}

/// Learns a block that was taken for stable and changed before the step (averages that are updated every
/// tenth step): from now on it is copied at every boundary. Until the next one a roll-back would be refused.
void StepGate::learn_mutable() {
  if (checkpoints_.empty()) return;
  std::vector<uint64_t> changed;
  for (const LiveRow& row : checkpoints_.newest().rows) {
    const Hash now = before_of(row);
    const bool stable = !row.copied() && row.hash != kNoHash && plan().classified(row.block.ordinal);
    if (stable && now != kNoHash && now != row.hash) changed.push_back(row.block.ordinal);
  }
  if (!changed.empty()) checkpoints_.plan.learn_mutable(changed);
}

/// Returns whether a row needs a copy before the step. Of the blocks that only this rank may have (blocks of
/// that class, small ones, and unclassified ones), those need one whose copy is certain to be valid after the
/// step, or that peers can verify: made in this minibatch (activations, gradients: the service has seen that
/// steps do not change them), or unchanged by the step before. Without a copy of a block SkipStep refuses,
/// rather than restore what may be old.
bool StepGate::wants_copy(const LiveRow& row) const {
  if (plan().classified(row.block.ordinal))
    return plan().wants_copy_before_step(row.block.ordinal, row.block.bytes);
  const LiveRow* const old = checkpoints_.row_at_newest(row);
  return !old || (old->hash != kNoHash && old->hash == old->before);
}

/// Returns whether SkipStep would have all that only this rank has. Else a rank that is lost in the step
/// makes all ranks roll back to the boundary before it.
bool StepGate::peers_can_finish(uint64_t step) const {
  if (checkpoints_.empty()) return true;
  const auto& kept = checkpoints_.step();
  if (!kept || kept->step != step) return false;
  const BoundaryState& base = checkpoints_.newest();
  if (unsettled_variable(core_.issued.table.list(*core_.backend), &base)) return false;
  std::unordered_set<uint64_t> copied;
  for (const LiveRow& row : kept->rows)
    if (row.copied() || (!has_changed(row) && checkpoints_.row_at_newest(row)->copied()))
      copied.insert(row.block.address);
  return std::ranges::all_of(rows_before_step(), [&](const LiveRow& row) {
    return row.variable() || before_of(row) == kNoHash || plan().has_replica(row.block.ordinal) ||
           copied.contains(row.block.address);
  });
}

/// Returns whether the row has changed since the boundary.
bool StepGate::has_changed(const LiveRow& row) const {
  const LiveRow* const old = checkpoints_.row_at_newest(row);
  return !old || old->hash != row.hash;
}

StepState StepGate::state_before(uint64_t step) const {
  StepState state{step, {}};
  for (const LiveRow& one : rows_before_step()) {
    LiveRow row{one.block};
    row.hash = before_of(row);
    if (row.hash == kNoHash || row.variable()) continue;  // not allocated here
    if (wants_copy(row) || (plan().classified(row.block.ordinal) && has_changed(row)))
      state.rows.push_back(row);
  }
  return state;
}

/// Copies this rank's own rows. Throws SnapshotFull; rows copied until then are in state.
bool StepGate::copy_own_rows(StepState& state) {
  for (LiveRow& row : state.rows) {
    if (!wants_copy(row)) continue;
    const LiveRow* const old = checkpoints_.row_at_newest(row);
    if ((has_changed(row) || !old->copied()) && !copies_.copy(row, 0)) return false;
  }
  return true;
}

bool StepGate::copy_before(uint64_t step) {
  if (checkpoints_.empty() || (checkpoints_.step() && checkpoints_.step()->step == step)) return true;
  StepState state = state_before(step);
  try {
    if (!copy_own_rows(state)) return copies_.drop(state.rows), false;
  } catch (const SnapshotFull&) {
    // A roll-forward will be refused for blocks without a copy; a roll-back is still possible.
    copies_.drop(state.rows);
    for (LiveRow& row : state.rows) row.copy = LiveRow::kNoCopy;
  }
  if (!core_.journal.append_parts(RecordKind::step, step, state.pack())) {
    copies_.drop(state.rows);
    core_.journal_full = true;
    return true;
  }
  checkpoints_.set_step(std::move(state));
  return true;
}

bool StepGate::wait_for_group(uint64_t step) {
  const PhaseTime time(core_.times.gather);
  const auto started = std::chrono::steady_clock::now();
  for (;;) {
    const uint32_t seen = core_.board.job.doorbell();
    std::vector<uint32_t> peers;
    {
      const std::lock_guard lock(core_.life.mutex);
      if (!core_.runs()) return false;
      peers = checkpoints_.peers();
    }
    checkpoints_.pairing.renew(checkpoints_.boundaries());
    switch (checkpoints_.pairing.gathering(peers, step)) {
      case Pairing::Gathering::together:
        return !is_unskippable(core_.board.job.group(core_.request.slot, peers), step) || keep_boundary();
      case Pairing::Gathering::uneven:
        return keep_copies("the ranks of this job make different optimizer steps", true);
      case Pairing::Gathering::waits:
        break;
    }
    if (std::chrono::steady_clock::now() - started > kGatherTime)
      return keep_copies("another rank did not reach this optimizer step in " +
                         std::to_string(kGatherTime.count()) + " s");
    core_.board.job.wait(seen, 200);
  }
}

bool StepGate::is_unskippable(const std::vector<uint32_t>& group, uint64_t step) const {
  return std::ranges::any_of(
      group, [&](uint32_t one) { return core_.board.job.slot(one).unskippable.load() == step; });
}

/// Returns the content at the row's address when the step began.
Hash StepGate::before_of(const LiveRow& row) const {
  const auto found = before_.find(row.block.address);
  return found != before_.end() && found->second.bytes == row.block.bytes ? found->second.hash : kNoHash;
}

void StepGate::forget() {
  before_.clear();
  live_.reset();
}

}  // namespace jitc
