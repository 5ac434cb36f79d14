// Boundaries: what is copied, hashed and published when an optimizer step begins and when it is over.
//
// Order at boundary n: everything before has run; copies; the boundary's record; then the slot on the
// board says "prepared n". It is committed when the slots of the whole group say so: then the minibatch
// before it is forgotten. Before step n + 1 changes anything in peer mode: pre-step copies; their record;
// "reached n + 1"; wait for the group; "begun n + 1".
#include <algorithm>
#include <chrono>

#include "error.h"
#include "session.h"
#include "wire.h"

namespace jitc {
namespace {
/// A group that does not gather in this time is no group: go on, with copies of everything.
constexpr auto kGatherTime = std::chrono::seconds(10);
}  // namespace

std::shared_ptr<const Policy> Session::policy() const {
  const std::lock_guard lock(mutex_);
  return policy_;
}

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

// -- before a step -----------------------------------------------------------------------------------

bool Session::at_step_begin(const ops::StepBegin& op) {
  const uint64_t step = last_boundary_ + 1;
  plan_ = policy();
  if (plan_->peer_mode() || plan_->measures(step)) {
    if (!backend_->idle()) return false;
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

void Session::measure_before_step() {
  for (const LiveRow& row : live_before_step_) {
    Content content{row.block.bytes, {}};
    if (backend_->hash(row.block.address, row.block.bytes, content.hash))
      before_step_[row.block.address] = content;
  }
}

/// A block that was taken for stable has changed before the step (averages that are updated every tenth
/// step): from now on it is copied at every boundary. Until the next one a roll-back would be refused.
void Session::learn_volatile() {
  if (boundaries_.empty()) return;
  std::vector<uint64_t> changed;
  for (const LiveRow& row : boundaries_.back().rows) {
    if (row.copied() || row.hash == kNoHash || !row.block.bytes) continue;
    Hash now;
    if (!backend_->hash(row.block.address, row.block.bytes, now) || now == row.hash) continue;
    if (plan_->known(row.block.ordinal)) changed.push_back(row.block.ordinal);
  }
  if (changed.empty()) return;
  const std::lock_guard lock(mutex_);
  auto wiser = std::make_shared<Policy>(*policy_);
  wiser->volatile_ordinals.insert(changed.begin(), changed.end());
  policy_ = plan_ = std::move(wiser);
}

bool Session::copy_before_step(uint64_t step) {
  if (boundaries_.empty() || (step_ && step_->step == step)) return true;
  StepState state{step, {}};
  for (LiveRow kept : live_before_step_) {
    if (!wants_step_copy(kept)) continue;
    const LiveRow& row = kept;
    if (!backend_->hash(row.block.address, row.block.bytes, kept.hash)) continue;  // not allocated here
    const LiveRow* const old = row_at_boundary(row);
    const bool changed = !old || !old->copied() || old->hash == kNoHash || kept.hash != old->hash;
    if (changed && !keep_row(kept, true, false, 0)) {
      drop_copies(state.rows);
      return false;
    }
    before_step_[row.block.address] = {row.block.bytes, kept.hash};
    state.rows.push_back(kept);
  }
  if (!journal_.append_parts(RecordKind::step, step, state.pack())) {
    drop_copies(state.rows);
    shed_wanted_ = true;
    return true;
  }
  step_ = std::move(state);
  return true;
}

bool Session::wait_for_group(uint64_t step) {
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
    std::vector<LiveRow> made;
    for (LiveRow& row : state.rows) {
      if (row.copied()) continue;
      if (!keep_row(row, true, false, 0)) return drop_copies(made), false;
      made.push_back(row);
    }
    if (!journal_.append_parts(RecordKind::boundary, state.number, state.pack())) drop_copies(made);
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

// -- after a step --------------------------------------------------------------------------------------

bool Session::at_boundary(const ops::Boundary& op, uint64_t position) {
  if (op.boundary != last_boundary_ + 1) {
    fault(op.header.sequence, 1, "bad-boundary",
          "boundary " + std::to_string(op.boundary) + " does not follow boundary " +
              std::to_string(last_boundary_));
    return false;
  }
  if (!backend_->idle()) return false;
  plan_ = policy();
  settle_progress(op.header);
  commit_known();
  if (!make_boundary(op, position)) return false;
  hold_reached_ = hold_at_ && op.boundary >= hold_at_;
  return true;
}

/// After SkipStep: memory and resources are those of the boundary; its copies and its record are made now.
bool Session::make_imported_boundary() {
  uint64_t position = *boundary_to_make_;
  const RecordHeader* const record = journal_.at(position);
  plan_ = policy();
  const auto& op = *reinterpret_cast<const ops::Boundary*>(record->payload().data());
  if (!make_boundary(op, position)) return false;
  boundary_to_make_.reset();
  return true;
}

/// All ops up to this one have run.
void Session::settle_progress(const ops::OpHeader& op) {
  {
    const std::lock_guard lock(progress_mutex_);
    for (auto& [stream, reached] : streams_) reached.done = std::max(reached.done, reached.given);
    streams_[op.stream] = {op.sequence, op.sequence};
  }
  dispatched_ = op.sequence;
  ++ops_executed_;
  outbox_.progress(op.stream, op.sequence);
}

bool Session::make_boundary(const ops::Boundary& op, uint64_t position) {
  BoundaryState state;
  state.number = op.boundary;
  state.sequence = op.header.sequence;
  state.position = position;
  state.step_waits = step_waits_;
  state.step_collectives = step_collectives_;
  state.step_allocations = step_allocations_;
  state.policy = *plan_;
  state.resources = table_.list(*backend_);
  if (!keep_rows(op, state)) {
    drop_copies(state.rows);
    return false;
  }
  const auto packed = state.pack();
  if (!journal_.append_parts(RecordKind::boundary, state.number, packed)) {
    // Make room by force, once; the boundary then is the only one, and protects again.
    shed();
    if (!journal_.append_parts(RecordKind::boundary, state.number, state.pack())) {
      drop_copies(state.rows);
      throw Error("the journal cannot hold even one boundary: give it more with jitc-proxyd --journal-limit");
    }
  }
  publish_boundary(std::move(state));
  return true;
}

bool Session::keep_rows(const ops::Boundary& op, BoundaryState& state) {
  const auto* const blocks = reinterpret_cast<const ops::LiveBlock*>(&op + 1);
  const bool measured =
      plan_->measures(op.boundary) || plan_->measures(op.boundary + 1) || plan_->peer_mode();
  state.rows.reserve(op.count);
  for (uint64_t i = 0; i < op.count; ++i) {
    if (i == op.count / 2) injection_point(op.header, "boundary");
    if (!runs()) return false;
    LiveRow row{blocks[i]};
    // In peer mode what is not copied is known by its hash, and so is what may need a copy before the step.
    const bool copy = plan_->wants_copy(row.block.ordinal, row.block.bytes) || !protected_;
    if (!keep_row(row, copy, measured, op.header.sequence)) return false;
    row.before = before_of(row);
    state.rows.push_back(row);
  }
  return true;
}

/// What was at the row's place when the step began, as far as anybody looked.
Hash Session::before_of(const LiveRow& row) const {
  const auto found = before_step_.find(row.block.address);
  return found != before_step_.end() && found->second.bytes == row.block.bytes ? found->second.hash : kNoHash;
}

bool Session::keep_row(LiveRow& row, bool copy, bool hash, uint64_t sequence) {
  const auto [address, bytes, ordinal] = row.block;
  if (!copy || !bytes) {
    if (!hash && bytes) return true;
    if (bytes == 0 || backend_->hash(address, bytes, row.hash)) return true;
  } else {
    row.copy = snapshot_.take(bytes);
    if (row.copy == Snapshot::kNone) {
      fault(sequence, 2, "snapshot-full", "the memory for copies of boundaries is full");
      return false;
    }
    const auto into = snapshot_.bytes(row.copy, bytes);
    if (backend_->read(address, into)) {
      if (hash) row.hash = hash_bytes(into);
      return true;
    }
    snapshot_.give_back(row.copy, bytes);
    row.copy = Snapshot::kNone;
  }
  fault(sequence, 1, "bad-live-block",
        "the boundary names a live block that is not allocated: " + std::to_string(bytes) +
            " bytes at address " + std::to_string(address));
  return false;
}

void Session::publish_boundary(BoundaryState state) {
  const uint64_t number = state.number;
  before_step_.clear();
  live_before_step_.clear();
  {
    const std::lock_guard lock(mutex_);
    drop_step();
    boundaries_.push_back(std::move(state));
    last_boundary_ = number;
    in_step_ = false;
    changed_.notify_all();
  }
  quiet_ = true;
  BoardSlot& slot = board_.slot(request_.slot);
  slot.reached.store(std::max(slot.reached.load(), number));
  slot.begun.store(std::max(slot.begun.load(), number));
  slot.prepared.store(number);
  board_.ring();
  if (!protected_.exchange(true)) notice("a boundary is complete: faults of this GPU can be recovered again");
  commit_known();
}

/// Forgets what the whole group does not need any more.
void Session::commit_known() {
  Lock lock(mutex_);
  const uint64_t committed = board_.least(board_.group(request_.slot, peers_), &BoardSlot::prepared);
  if (committed <= committed_ || boundaries_.empty()) return;
  journal_.set_first_boundary(std::min(committed, boundaries_.back().number));
  while (boundaries_.size() > 1 && boundaries_.front().number < committed) {
    drop_boundary(boundaries_.front());
    boundaries_.pop_front();
  }
  committed_ = std::min(committed, last_boundary_.load());
  if (committed_ == last_boundary_) snapshot_.trim();
  lock.unlock();
  truncate();
  if (committed_ == last_boundary_ && dispatched_ == boundaries_.back().sequence) backend_->commit();
}

/// Called by the dispatcher, and by submit when results were taken by the client.
void Session::truncate() {
  uint64_t position, sequence;
  {
    const std::lock_guard lock(mutex_);
    if (boundaries_.empty() || boundaries_.front().number > committed_) return;
    position = boundaries_.front().position;
    sequence = boundaries_.front().sequence;
  }
  if (position <= journal_.head()) return;
  if (const auto owed = results_.oldest_owed()) position = std::min(position, *owed);
  if (position <= journal_.head()) return;
  journal_.truncate(position);
  results_.forget(sequence);
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

template <class Rows>
void Session::drop_copies(const Rows& rows) {
  for (const LiveRow& row : rows)
    if (row.copied()) snapshot_.give_back(row.copy, row.block.bytes);
}

void Session::drop_boundary(const BoundaryState& state) { drop_copies(state.rows); }

void Session::drop_step() {
  if (step_) drop_copies(step_->rows);
  step_.reset();
}

}  // namespace jitc
