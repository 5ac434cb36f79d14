#include "checkpoints.h"

#include <algorithm>
#include <map>
#include <utility>

#include "executor/issue/op_issuer.h"
#include "executor/results/lookup.h"
#include "jitc/limits.h"
#include "row_copies.h"

namespace jitc {

// -- queries -----------------------------------------------------------------------------------------

const BoundaryState* Checkpoints::find(uint64_t number) const {
  for (const BoundaryState& state : boundaries_)
    if (state.number == number) return &state;
  return nullptr;
}

const LiveRow* Checkpoints::row_at_newest(const LiveRow& live) const {
  return boundaries_.empty() ? nullptr : row_of(boundaries_.back().rows, live);
}

const BoundaryState& Checkpoints::table(uint64_t boundary, bool earlier) const {
  const BoundaryState* state =
      boundary ? find(boundary) : (boundaries_.empty() ? nullptr : &boundaries_.back());
  if (!state && earlier) state = earlier_.find(boundary);
  if (!state) throw Error("boundary " + std::to_string(boundary) + " is not kept here");
  return *state;
}

// -- making boundaries ---------------------------------------------------------------------------------

bool Checkpoints::record(const BoundaryState& state) {
  const PhaseTime time(core_.times.record);
  return core_.journal.append_parts(RecordKind::boundary, state.number, state.pack());
}

void Checkpoints::publish(BoundaryState state, bool late) {
  const uint64_t number = state.number;
  ++core_.times.boundaries;
  {
    const std::lock_guard lock(core_.life.mutex);
    drop_step();
    boundaries_.push_back(std::move(state));
    core_.at.own_boundaries = boundaries_.back().own;
    core_.at.prepared = number;
    end_step(number, !late);
  }
  announce(number);
  if (!protected_.exchange(true)) regained_ = true;
  commit_known();
  // Half of the journal is for what is not committed yet.
  if (core_.journal.bytes() > core_.journal.capacity() / 2) drop_reserves();
}

void Checkpoints::pass(uint64_t number, bool skipped) {
  {
    const std::lock_guard lock(core_.life.mutex);
    drop_step();
    if (!skipped) core_.at.prepared = number;
    end_step(number, !skipped);
  }
  if (!skipped) pairing.pass(number);
  if (!skipped) announce(number);
}

/// Ends the step. Requires Lifecycle::mutex. waited: for all work of the device.
void Checkpoints::end_step(uint64_t number, bool waited) {
  core_.at.last_boundary = number;
  core_.issued.in_step = false;
  if (waited) core_.issued.quiet = true;
  core_.life.changed.notify_all();
}

/// Shows on the board that this rank is past boundary number.
void Checkpoints::announce(uint64_t number) {
  pairing.say_alone(boundaries_);
  pairing.forget_left(core_.board.job.group(core_.request.slot, peers()), boundaries_);
  pairing.show(boundaries_);
  JobSlot& slot = core_.slot();
  slot.reached.store(std::max(slot.reached.load(), number));
  slot.begun.store(std::max(slot.begun.load(), number));
  slot.prepared.store(number);
  core_.board.job.ring();
}

void Checkpoints::set_peers(const std::vector<uint32_t>& slots) {
  peers_.clear();
  for (const uint32_t slot : slots) peers_.emplace_back(slot, core_.board.job.slot(slot).session.load());
}

std::vector<uint32_t> Checkpoints::peers() const {
  std::vector<uint32_t> found;
  for (const auto& [slot, session] : peers_)
    if (session != 0 && core_.board.job.slot(slot).session.load() == session) found.push_back(slot);
  return found;
}

void Checkpoints::commit_known() {
  Counters& at = core_.at;
  Lifecycle::Lock lock(core_.life.mutex);
  const uint64_t committed = pairing.newest_common(peers(), boundaries_).value_or(0);
  if (committed <= at.committed || boundaries_.empty()) return;
  forget_before(std::min(committed, boundaries_.back().number));
  pairing.show(boundaries_);
  at.committed = std::min(committed, at.last_boundary.load());
  pairing.say_alone(boundaries_);
  const bool regained = std::exchange(regained_, false);
  if (at.committed == at.prepared) core_.snapshot.trim();
  lock.unlock();
  if (regained) core_.notice("a boundary is complete: faults of this GPU can be recovered again");
  truncate();
  issuer_.release_unused_images(boundaries_.front().sequence, boundaries_);
  if (at.committed == at.last_boundary && at.dispatched == boundaries_.back().sequence)
    core_.backend->commit();
}

/// Forgets boundaries before `first`. Requires Lifecycle::mutex.
void Checkpoints::forget_before(uint64_t first) {
  const Plan::Pointer policy = plan.wanted();
  reserves_.name_first(core_.journal, first, boundaries_, *policy);
  for (auto one = boundaries_.begin(); one != boundaries_.end();) {
    if (reserves_.stays(*one, first, *policy)) {
      ++one;
      continue;
    }
    copies_.drop(one->rows);
    earlier_.add(std::move(*one));
    one = boundaries_.erase(one);
  }
}

bool Checkpoints::drop_reserves() {
  {
    const std::lock_guard lock(core_.life.mutex);
    const uint64_t committed = core_.at.committed;
    if (boundaries_.empty() || boundaries_.front().number >= committed) return false;
    reserves_.give_up(committed - 1);
    forget_before(std::min(committed, boundaries_.back().number));
  }
  truncate();
  return true;
}

void Checkpoints::truncate() {
  uint64_t position, sequence;
  {
    const std::lock_guard lock(core_.life.mutex);
    if (boundaries_.empty() || boundaries_.front().number > core_.at.committed) return;
    position = boundaries_.front().position;
    sequence = boundaries_.front().sequence;
  }
  if (position <= core_.journal.head()) return;
  if (const auto owed = core_.results.oldest_owed()) position = std::min(position, *owed);
  if (position <= core_.journal.head()) return;
  core_.journal.truncate(position);
  core_.results.forget(sequence);
  core_.life.notify();
}

void Checkpoints::drop_journal() {
  if (drop_reserves()) {
    core_.journal_full = false;
    return;
  }
  if (core_.results.count() > limits::kResults)
    return enter_unprotected_mode(
        "more than " + std::to_string(limits::kResults) + " results since the last boundary", "");
  enter_unprotected_mode("the journal of this GPU is full (" +
                             std::to_string(core_.journal.capacity() >> 20) + " MiB with its spill file)",
                         "--journal-limit");
}

void Checkpoints::enter_unprotected_mode(const std::string& why, const std::string& option) {
  if (!core_.backend->idle()) return;
  core_.completions.take_in();
  core_.results.take_in(result_reader(core_.journal),
                        limits::kPendingResults + limits::kUnreadResults);  // more than is ever in flight
  if (protected_.exchange(false))
    core_.notice(why + ": until the next boundary a fault cannot be recovered" +
                 (option.empty() ? "" : ". Give the service more with jitc-proxyd " + option));
  const std::lock_guard lock(core_.life.mutex);
  core_.journal.set_first_boundary(core_.at.last_boundary + 1, {});
  for (const BoundaryState& state : boundaries_) copies_.drop(state.rows);
  boundaries_.clear();
  drop_step();
  core_.journal.truncate(core_.at.cursor);
  core_.results.forget(core_.at.dispatched);
  core_.journal_full = false;
  core_.life.changed.notify_all();
}

void Checkpoints::drop_step() {
  if (step_) copies_.drop(step_->rows);
  step_.reset();
}

// -- rolling back --------------------------------------------------------------------------------------

void Checkpoints::forget_after(uint64_t boundary) {
  const bool later = core_.at.last_boundary != boundary || step_;
  if (later && !core_.journal.append(RecordKind::rollback, boundary, {}))
    throw Error("the journal is full: the roll-back cannot be noted");
  while (!boundaries_.empty() && boundaries_.back().number > boundary) {
    copies_.drop(boundaries_.back().rows);
    boundaries_.pop_back();
  }
  // Boundaries made after this roll-back are new, even if later ones had been committed.
  if (core_.journal.first_boundary() > boundary)
    reserves_.name_first(core_.journal, boundary, boundaries_, *plan.wanted());
  drop_step();
  earlier_ = {};
  core_.at.prepared = core_.at.last_boundary = boundary;
  core_.at.own_boundaries = boundaries_.empty() ? 0 : boundaries_.back().own;
}

void Checkpoints::replace_rows(uint64_t boundary, const std::vector<LiveRow>& replaced) {
  const auto place = std::ranges::find(boundaries_, boundary, &BoundaryState::number);
  BoundaryState state = *place;
  std::vector<LiveRow> dropped;
  for (LiveRow& row : state.rows) {
    const auto wanted = std::ranges::find_if(replaced, [&](const LiveRow& one) {
      return one.block.ordinal == row.block.ordinal && one.block.bytes == row.block.bytes;
    });
    if (row.variable() || wanted == replaced.end() || wanted->hash == row.hash) continue;
    dropped.push_back(row);
    row.hash = wanted->hash;
    row.copy = LiveRow::kNoCopy;
  }
  if (!core_.journal.append_parts(RecordKind::boundary, state.number, state.pack()))
    throw Error("the journal is full: what replaces blocks of a boundary cannot be noted");
  *place = std::move(state);
  copies_.drop(dropped);
}

void Checkpoints::stand_at(uint64_t boundary) {
  JobSlot& slot = core_.slot();
  for (auto* const counter : {&slot.prepared, &slot.reached, &slot.begun}) counter->store(boundary);
  pairing.show(boundaries_);
}

// -- an existing journal ---------------------------------------------------------------------------------

void Checkpoints::load(const RecordHeader& record) {
  loader_.load(core_.journal, record, record.payload(), &core_.images);
  if (record.kind == RecordKind::rollback) core_.at.prepared = core_.at.last_boundary = record.sequence;
}

void Checkpoints::loaded() {
  std::map<uint64_t, const LiveRow*> claimed;  // by extent
  const auto claim = [&](const LiveRow& row) {
    if (!row.copied()) return;
    const auto [first, is_first] = claimed.try_emplace(row.copy, &row);
    const bool same = first->second->hash == row.hash && first->second->block.bytes == row.block.bytes;
    if (is_first ? !core_.snapshot.claim(row.copy, row.block.bytes) : !same)
      throw Error("the journal is damaged: copies of boundaries overlap");
    if (!is_first) core_.snapshot.share(row.copy);
  };
  for (const BoundaryState& state : boundaries_)
    for (const LiveRow& row : state.rows) claim(row);
  if (step_)
    for (const LiveRow& row : step_->rows) claim(row);
  if (!boundaries_.empty()) {
    core_.at.prepared = core_.at.last_boundary = boundaries_.back().number;
    core_.at.own_boundaries = boundaries_.back().own;
    plan.adopt(boundaries_.back().policy);
    // The previous worker was lost while it rolled back to a reserve.
    if (const uint64_t number = boundaries_.back().number; number < core_.journal.first_boundary())
      reserves_.name_first(core_.journal, number, boundaries_, *plan.wanted());
  }
  core_.slot().prepared.store(core_.at.last_boundary);
  pairing.show(boundaries_);
  // The oldest boundary may be uncommitted: until the first commit, a roll-back goes to the start of the
  // program.
  const uint64_t first = core_.journal.first_boundary();
  const auto oldest =
      std::ranges::find_if(boundaries_, [&](const BoundaryState& one) { return one.number >= first; });
  core_.at.committed = oldest == boundaries_.end() ? 0 : std::min(first, oldest->number);
}

}  // namespace jitc
