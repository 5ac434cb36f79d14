// Back to a boundary: memory, resources, the cursor in the journal, and what counts as executed.
//
// Called in control threads while the dispatcher is parked, by what recovery.cpp has for the coordinator.
#include <algorithm>

#include "error.h"
#include "session.h"

namespace jitc {
namespace {
/// The parts of the allocations that no row covers. Rows may overlap each other.
std::vector<MemoryRange> parts_without(const std::vector<Resources::Allocation>& allocations,
                                       std::vector<LiveRow> rows) {
  std::ranges::sort(rows, {}, [](const LiveRow& row) { return row.block.address; });
  std::vector<MemoryRange> parts;
  for (const auto& allocation : allocations) {
    uint64_t at = allocation.address;
    const uint64_t end = allocation.address + allocation.bytes;
    for (const LiveRow& row : rows) {
      const uint64_t from = row.block.address, to = from + row.block.bytes;
      if (to <= at) continue;
      if (from >= end) break;
      if (from > at) parts.push_back({at, from - at});
      at = to;
    }
    if (at < end) parts.push_back({at, end - at});
  }
  return parts;
}
}  // namespace

const BoundaryState* Session::find_boundary(uint64_t number) const {
  for (const BoundaryState& state : boundaries_)
    if (state.number == number) return &state;
  return nullptr;
}

RecoverReply Session::roll_back(uint64_t boundary) {
  Lock lock(mutex_);
  require_fenced("Rollback");
  if (boundary == 0) {
    if (journal_.head() != 0)
      return {false, "the start of the session is not in the journal any more", 0, {}};
    forget_after(0);
    return restore_to(nullptr);
  }
  const BoundaryState* const state = find_boundary(boundary);
  if (!state) {
    std::string has;
    for (const BoundaryState& one : boundaries_) has += " " + std::to_string(one.number);
    return {false, "boundary " + std::to_string(boundary) + " is not kept here (kept:" + has + ")", 0, {}};
  }
  forget_after(boundary);
  return restore_to(state);
}

/// Later boundaries never happened. The journal says so first, for the worker that may have to take over.
void Session::forget_after(uint64_t boundary) {
  boundary_to_make_.reset();
  const bool later = (!boundaries_.empty() && boundaries_.back().number > boundary) || step_;
  if (later && !journal_.append(RecordKind::rollback, boundary, {}))
    throw Error("the journal is full: the roll-back cannot be noted");
  while (!boundaries_.empty() && boundaries_.back().number > boundary) {
    drop_boundary(boundaries_.back());
    boundaries_.pop_back();
  }
  drop_step();
  last_boundary_ = boundary;
}

RecoverReply Session::restore_to(const BoundaryState* state) {
  static const BoundaryState kStart;
  if (!state) state = &kStart;
  RecoverReply reply;
  std::string error;
  if (!backend_->restore(state->resources, error)) return {false, error, 0, {}};
  table_.reset(state->resources);
  const auto kept = keep_what_holds(*state, reply);
  if (options_.poison || validation_.measured()) spoil(state->resources, kept);
  restore_copies(*state, reply);
  in_step_ = false;
  quiet_ = restored_ = true;
  before_step_.clear();
  live_before_step_.clear();
  uint64_t position = state->position;
  cursor_ = state->number ? Journal::after(*journal_.at(position)) : journal_.head();
  dispatched_ = state->sequence;
  past_ = journal_.tail();
  progress_.restore(state->sequence, state->resources.streams);
  for (const auto& stream : state->resources.streams) outbox_.progress(stream.handle, state->sequence);
  outbox_.progress(0, state->sequence);
  BoardSlot& slot = board_.slot(request_.slot);
  for (auto* const counter : {&slot.prepared, &slot.reached, &slot.begun}) counter->store(state->number);
  committed_ = std::min(committed_.load(), state->number);
  reply.complete = reply.missing.empty();
  if (!reply.complete) reply.message = std::to_string(reply.missing.size()) + " blocks must come from a peer";
  return reply;
}

/// Never copied: what a healthy rank still has is as good as its hash says. All else is missing.
std::vector<LiveRow> Session::keep_what_holds(const BoundaryState& state, RecoverReply& reply) {
  std::vector<LiveRow> rows;
  for (const LiveRow& row : state.rows)
    if (!row.copied() && row.block.bytes) rows.push_back(row);
  std::vector<Hash> now(rows.size(), kNoHash);
  if (!memory_lost_) now = hashes_of(rows);
  std::vector<LiveRow> kept;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool holds = now[i] != kNoHash && (rows[i].hash == kNoHash || now[i] == rows[i].hash);
    (holds ? kept : reply.missing).push_back(rows[i]);
  }
  return kept;
}

void Session::restore_copies(const BoundaryState& state, RecoverReply& reply) {
  for (const LiveRow& row : state.rows) {
    const auto [address, bytes, ordinal] = row.block;
    if (!row.copied()) continue;
    if (backend_->write(address, snapshot_.bytes(row.copy, bytes)))
      reply.bytes += bytes;
    else
      reply.missing.push_back(row);
  }
}

/// JITC_POISON, validations: what is allocated and not kept is spoiled, so that a replay cannot lean on it.
void Session::spoil(const Resources& resources, const std::vector<LiveRow>& kept) {
  backend_->spoil_all(parts_without(resources.allocations, kept));
}

}  // namespace jitc
