// Before an optimizer step: what is measured and copied, and where the ranks wait for each other.
//
// In peer mode: pre-step copies; their record in the journal; "reached n + 1" on the board; wait for the
// group; "begun n + 1". In copy mode the step begins at once. See boundary.cpp for what comes after.
#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "executor/journal/wire.h"
#include "executor/session/session.h"

namespace jitc {
namespace {
/// A group that does not gather in this time is no group: go on, with copies of everything.
constexpr auto kGatherTime = std::chrono::seconds(10);
}  // namespace

/// What the rank alone may know: blocks of that class, and blocks that nobody has classified. Of these only
/// the ones whose copy is sure to be right after the step: made in this minibatch (activations, gradients:
/// the service has seen that steps do not change them), or unchanged by the step before. Without a copy of a
/// block SkipStep refuses, rather than restore what may be old.
bool Session::wants_step_copy(const LiveRow& row) const {
  if (plan_->known(row.block.ordinal)) return plan_->unique_ordinals.contains(row.block.ordinal);
  const LiveRow* const old = row_at_boundary(row);
  return !old || (old->hash != kNoHash && old->hash == old->before);
}

/// Notes what is live; the step_begin that follows looks at it.
bool Session::at_live_set(const ops::LiveSet& op) {
  const auto* const blocks = reinterpret_cast<const ops::LiveBlock*>(&op + 1);
  live_before_step_.clear();
  for (uint64_t i = 0; i < op.count; ++i)
    if (blocks[i].bytes) live_before_step_.push_back(LiveRow{blocks[i]});
  enqueue(op.header);
  return true;
}

/// The boundary's row of a block that is live before the step, or nullptr.
const LiveRow* Session::row_at_boundary(const LiveRow& live) const {
  if (boundaries_.empty()) return nullptr;
  const auto& rows = boundaries_.back().rows;
  const auto found = std::lower_bound(rows.begin(), rows.end(), live, [](const LiveRow& a, const LiveRow& b) {
    return a.block.ordinal < b.block.ordinal;
  });
  return found != rows.end() && found->same_place(live) ? &*found : nullptr;
}

bool Session::at_step_begin(const ops::StepBegin& op) {
  const uint64_t step = last_boundary_ + 1;
  plan_ = policy();
  if (const auto due = validations_.at(step); due && !at_validation(*due, op)) return false;
  if (plan_->peer_mode() || plan_->measures(step)) {
    if (!drained()) return false;
    quiet_ = true;
    before_step_.clear();
    if (plan_->measures(step)) measure_before_step();
    if (plan_->peer_mode()) learn_volatile();
    if (plan_->peer_mode() && !copy_before_step(step)) return false;
  }
  commit_known();
  board_.slot(request_.slot).reached.store(step);
  board_.ring();
  if (plan_->barrier && !hold_at_ && !wait_for_group(step)) return false;
  {
    const std::lock_guard lock(mutex_);
    if (!runs()) return false;
    in_step_ = true;
    step_waits_ = step_collectives_ = step_allocations_ = 0;
    board_.slot(request_.slot).begun.store(step);
  }
  const bool was_quiet = quiet_;
  enqueue(op.header);
  quiet_ = was_quiet;
  return true;
}

/// The first time: remembers what is live, and stops until the coordinator has taken the job back. The second
/// time: tells what has become of it.
bool Session::at_validation(Validation due, const ops::StepBegin& op) {
  if (!backend_->idle()) return false;
  quiet_ = true;
  if (!due.measured()) {
    due.measure(*backend_, live_now());
    if (!validations_.measured(std::move(due))) return true;
    fault(op.header.sequence, 0, "validation", "");
    return false;
  }
  Verdict verdict = due.compare(*backend_);
  verdict.results = tolerance_.seen();
  validations_.compared(verdict);
  if (!verdict.identical())
    notice("this job cannot be guaranteed to the last bit, it only goes on: " + verdict.text());
  return true;
}

/// As the program told right before the step, else all that is allocated.
std::vector<LiveRow> Session::live_now() const {
  if (!live_before_step_.empty()) return live_before_step_;
  std::vector<LiveRow> live;
  for (const auto& one : table_.list(*backend_).allocations)
    live.push_back(LiveRow{{one.address, one.bytes, one.sequence}});
  return live;
}

void Session::measure_before_step() {
  const auto hashes = hashes_of(live_before_step_);
  for (size_t i = 0; i < hashes.size(); ++i) {
    const auto& block = live_before_step_[i].block;
    if (hashes[i] != kNoHash) before_step_[block.address] = {block.bytes, hashes[i]};
  }
}

/// A block that was taken for stable has changed before the step (averages that are updated every tenth
/// step): from now on it is copied at every boundary. Until the next one a roll-back would be refused.
void Session::learn_volatile() {
  if (boundaries_.empty()) return;
  std::vector<LiveRow> stable;
  for (const LiveRow& row : boundaries_.back().rows)
    if (!row.copied() && row.hash != kNoHash && plan_->known(row.block.ordinal)) stable.push_back(row);
  const auto now = hashes_of(stable);
  std::vector<uint64_t> changed;
  for (size_t i = 0; i < stable.size(); ++i)
    if (now[i] != kNoHash && now[i] != stable[i].hash) changed.push_back(stable[i].block.ordinal);
  if (changed.empty()) return;
  const std::lock_guard lock(mutex_);
  auto wiser = std::make_shared<Policy>(*policy_);
  wiser->volatile_ordinals.insert(changed.begin(), changed.end());
  policy_ = plan_ = std::move(wiser);
}

bool Session::copy_before_step(uint64_t step) {
  if (boundaries_.empty() || (step_ && step_->step == step)) return true;
  StepState state{step, {}};
  try {
    if (!copy_changed_rows(state)) return drop_copies(state.rows), false;
  } catch (const SnapshotFull&) {
    // A roll-forward will be refused for what has no copy; going back is still possible.
    drop_copies(state.rows);
    return true;
  }
  if (!journal_.append_parts(RecordKind::step, step, state.pack())) {
    drop_copies(state.rows);
    shed_wanted_ = true;
    return true;
  }
  step_ = std::move(state);
  return true;
}

/// Throws SnapshotFull; what was copied until then is in state.
bool Session::copy_changed_rows(StepState& state) {
  std::vector<LiveRow> wanted;
  for (const LiveRow& row : live_before_step_)
    if (wants_step_copy(row)) wanted.push_back(row);
  const auto hashes = hashes_of(wanted);
  for (size_t i = 0; i < wanted.size(); ++i) {
    LiveRow& row = wanted[i];
    row.hash = hashes[i];
    if (row.hash == kNoHash) continue;  // not allocated here
    const LiveRow* const old = row_at_boundary(row);
    const bool changed = !old || !old->copied() || row.hash != old->hash;
    if (changed && !copy_row(row, 0)) return false;
    before_step_[row.block.address] = {row.block.bytes, row.hash};
    state.rows.push_back(row);
  }
  return true;
}

bool Session::wait_for_group(uint64_t step) {
  const PhaseTime time(times_.gather);
  const auto started = std::chrono::steady_clock::now();
  for (;;) {
    const uint32_t seen = board_.bell();
    std::vector<uint32_t> peers;
    {
      const std::lock_guard lock(mutex_);
      if (!runs()) return false;
      peers = peers_;
    }
    if (board_.least(board_.group(request_.slot, peers), &BoardSlot::reached) >= step) return true;
    if (std::chrono::steady_clock::now() - started > kGatherTime) return copy_rest_of_boundary();
    board_.wait(seen, 200);
  }
}

/// Nothing has changed what is stable yet: copied now, the boundary can be gone back to without peers.
bool Session::copy_rest_of_boundary() {
  notice("another rank did not reach this optimizer step in " + std::to_string(kGatherTime.count()) +
         " s: from now on this GPU keeps copies of all live memory at every boundary");
  if (!boundaries_.empty()) {
    BoundaryState state = boundaries_.back();
    if (!copy_rest(state)) return false;
    const std::lock_guard lock(mutex_);
    boundaries_.back() = std::move(state);
  }
  auto safer = std::make_shared<Policy>(*plan_);
  safer->copy_all = true;
  safer->barrier = false;
  const std::lock_guard lock(mutex_);
  policy_ = plan_ = std::move(safer);
  return true;
}

/// False when the session has to stop; a state without room for its copies stays as it was. A block that has
/// changed since the boundary gets no copy: it would be one of something else.
bool Session::copy_rest(BoundaryState& state) {
  const BoundaryState before = state;
  std::vector<LiveRow> made;
  try {
    for (LiveRow& row : state.rows) {
      if (row.copied() || !row.block.bytes) continue;
      LiveRow now{row.block};
      if (!copy_row(now, 0)) return drop_copies(made), false;
      if (now.hash != row.hash) {
        drop_copies({now});
        continue;
      }
      made.push_back(now);
      row.copy = now.copy;
    }
  } catch (const SnapshotFull&) {
    drop_copies(made);
    state = before;
    return true;
  }
  if (journal_.append_parts(RecordKind::boundary, state.number, state.pack())) return true;
  drop_copies(made);
  state = before;
  return true;
}

}  // namespace jitc
