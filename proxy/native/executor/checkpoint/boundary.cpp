// Boundaries: what is copied, hashed and published when an optimizer step is over.
//
// Order at boundary n: everything before has run; copies; the boundary's record; then the slot on the
// board says "prepared n". It is committed when the slots of the whole group say so: then the minibatch
// before it is forgotten. step.cpp has what comes before the step.
#include <algorithm>

#include "base/error.h"
#include "executor/journal/wire.h"
#include "executor/session/session.h"

namespace jitc {

std::shared_ptr<const Policy> Session::policy() const {
  const std::lock_guard lock(mutex_);
  return policy_;
}

bool Session::at_boundary(const ops::Boundary& op, uint64_t position) {
  // A process numbers its boundaries for all its sessions; one that is opened later begins with the newest of
  // them.
  const bool begins = op.header.sequence == 1 && op.boundary > last_boundary_;
  if (op.boundary != last_boundary_ + 1 && !begins) {
    fault(op.header.sequence, 1, "bad-boundary",
          "boundary " + std::to_string(op.boundary) + " does not follow boundary " +
              std::to_string(last_boundary_));
    return false;
  }
  if (!drained()) return false;
  plan_ = policy();
  settle_progress(op.header);
  commit_known();
  if (!make_boundary(op, position)) return false;
  hold_reached_ = hold_at_ && op.boundary >= hold_at_;
  if (stop_after_ && op.boundary >= stop_after_) fault(op.header.sequence, 0, "replica-divergence", "");
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
  progress_.settle(wire::stream_of(op), op.sequence);
  dispatched_ = op.sequence;
  ++ops_executed_;
  outbox_.progress(wire::stream_of(op), op.sequence);
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
  switch (find_room(op, state)) {
    case Kept::all:
      break;
    case Kept::stopped:
      return false;
    case Kept::no_room:
      pass_boundary(op.boundary);
      return true;
  }
  if (!record(state)) {
    // Make room by force, once; the boundary then is the only one, and protects again.
    shed();
    if (!record(state)) {
      drop_copies(state.rows);
      throw Error("the journal cannot hold even one boundary: give it more with jitc-proxyd --journal-limit");
    }
  }
  publish_boundary(std::move(state));
  return true;
}

/// False when the journal has no room for it.
bool Session::record(const BoundaryState& state) {
  const PhaseTime time(times_.record);
  return journal_.append_parts(RecordKind::boundary, state.number, state.pack());
}

/// Copies that do not fit beside those of older boundaries are tried again without them.
Session::Kept Session::find_room(const ops::Boundary& op, BoundaryState& state) {
  for (const bool alone : {false, true}) {
    try {
      if (keep_rows(op, state) && keep_variables(state)) return Kept::all;
      drop_copies(state.rows);
      return Kept::stopped;
    } catch (const SnapshotFull&) {
      drop_copies(state.rows);
      state.rows.clear();
    }
    if (!alone) forget_all("the memory for copies of boundaries is full", "--copies-limit");
    if (!runs()) return Kept::stopped;
  }
  return Kept::no_room;
}

/// The job goes on, but there is nothing to go back to: the boundary is one in name only.
void Session::pass_boundary(uint64_t number) {
  before_step_.clear();
  live_before_step_.clear();
  {
    const std::lock_guard lock(mutex_);
    drop_step();
    last_boundary_ = number;
    in_step_ = false;
    changed_.notify_all();
  }
  quiet_ = true;
  announce(number);
}

/// On the board: this rank is past boundary number.
void Session::announce(uint64_t number) {
  BoardSlot& slot = board_.slot(request_.slot);
  slot.reached.store(std::max(slot.reached.load(), number));
  slot.begun.store(std::max(slot.begun.load(), number));
  slot.prepared.store(number);
  board_.ring();
}

bool Session::keep_rows(const ops::Boundary& op, BoundaryState& state) {
  const auto* const blocks = reinterpret_cast<const ops::LiveBlock*>(&op + 1);
  state.measured = plan_->measures(op.boundary) || plan_->measures(op.boundary + 1) || plan_->peer_mode();
  state.rows.reserve(op.count);
  for (uint64_t i = 0; i < op.count; ++i) {
    state.rows.push_back(LiveRow{blocks[i]});
    state.rows.back().before = before_of(state.rows.back());
  }
  // In peer mode what is not copied is known by its hash, and so is what may need a copy before the step.
  // Other copies are hashed as they are made, unless the device hashes faster.
  const bool first = state.measured || backend_->hashes_itself();
  if (!runs() || (first && !measure(state.rows, op.header.sequence))) return false;
  for (uint64_t i = 0; i < op.count; ++i) {
    if (i == op.count / 2) injection_point(op.header, "boundary");
    if (!runs()) return false;
    const auto [address, bytes, ordinal] = blocks[i];
    const bool copy = keep_all_ || plan_->wants_copy(ordinal, bytes) || !protected_;
    if (copy && bytes && !copy_row(state.rows[i], op.header.sequence)) return false;
  }
  return true;
}

/// Variables of modules that the program has asked for: a module that is loaded again has them as they were
/// at first. A kernel's own variables, which nobody asked for, are out of sight. Throws SnapshotFull.
bool Session::keep_variables(BoundaryState& state) {
  const size_t blocks = state.rows.size();
  for (const auto& variable : state.resources.variables) {
    if (!variable.bytes) continue;
    LiveRow row{{variable.address, variable.bytes, LiveRow::kVariable | variable.address}};
    if (const LiveRow* const old = row_at_boundary(row)) row.before = old->hash;
    state.rows.push_back(row);
  }
  const auto variables = std::span(state.rows).subspan(blocks);
  std::ranges::sort(variables, {}, [](const LiveRow& row) { return row.block.ordinal; });
  return measure(variables, state.sequence) &&
         std::ranges::all_of(variables, [&](LiveRow& row) { return copy_row(row, state.sequence); });
}

/// What was at the row's place when the step began, as far as anybody looked.
Hash Session::before_of(const LiveRow& row) const {
  const auto found = before_step_.find(row.block.address);
  return found != before_step_.end() && found->second.bytes == row.block.bytes ? found->second.hash : kNoHash;
}

bool Session::measure(std::span<LiveRow> rows, uint64_t sequence) {
  const auto hashes = hashes_of(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].hash = hashes[i];
    if (hashes[i] == kNoHash && rows[i].block.bytes) return refuse_row(rows[i], sequence);
  }
  return true;
}

/// Every copy has a hash, by which it is known to be whole when it is needed. Throws SnapshotFull.
bool Session::copy_row(LiveRow& row, uint64_t sequence) {
  const PhaseTime time(times_.copy);
  const auto [address, bytes, ordinal] = row.block;
  row.copy = snapshot_.take(bytes);
  if (row.copy == Snapshot::kNone) throw SnapshotFull();
  const auto into = snapshot_.bytes(row.copy, bytes);
  const bool hashed = row.hash != kNoHash;
  if (hashed ? backend_->read(address, into) : backend_->read_hashed(address, into, row.hash)) return true;
  snapshot_.give_back(row.copy, bytes);
  row.copy = Snapshot::kNone;
  return refuse_row(row, sequence);
}

bool Session::refuse_row(const LiveRow& row, uint64_t sequence) {
  fault(sequence, 1, "bad-live-block",
        "the boundary names a live block that is not allocated: " + std::to_string(row.block.bytes) +
            " bytes at address " + std::to_string(row.block.address));
  return false;
}

void Session::publish_boundary(BoundaryState state) {
  const uint64_t number = state.number;
  ++times_.boundaries;
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
  announce(number);
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
  release_unused_images(boundaries_.front().sequence);
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

void Session::drop_copies(const std::vector<LiveRow>& rows) {
  for (const LiveRow& row : rows)
    if (row.copied()) snapshot_.give_back(row.copy, row.block.bytes);
}

void Session::drop_boundary(const BoundaryState& state) { drop_copies(state.rows); }

void Session::drop_step() {
  if (step_) drop_copies(step_->rows);
  step_.reset();
}

}  // namespace jitc
