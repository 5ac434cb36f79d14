// Back to a boundary: memory, resources, the cursor in the journal, and what counts as executed.
//
// Called in control threads while the dispatcher is parked, by what recovery.cpp has for the coordinator.
#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "executor/session/session.h"

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

RecoverReply Session::roll_back(uint64_t boundary, uint64_t epoch, const std::vector<LiveRow>& replaced) {
  Lock lock(mutex_);
  require_fenced("Rollback");
  begin_command(epoch);
  if (const std::string damage = journal_.damage(); !damage.empty()) return {false, damage, 0, {}};
  if (boundary == 0 && journal_.head() != 0)
    return {false, "the start of the session is not in the journal any more", 0, {}};
  const BoundaryState* const state = find_boundary(boundary);
  if (!state && starts_after(boundary)) return restart(boundary);
  if (!state) {
    std::string has;
    for (const BoundaryState& one : boundaries_) has += " " + std::to_string(one.number);
    return {false, "boundary " + std::to_string(boundary) + " is not kept here (kept:" + has + ")", 0, {}};
  }
  forget_after(boundary);
  if (!replaced.empty()) replace_rows(boundary, replaced);
  return restore_to(find_boundary(boundary));
}

/// The boundary becomes one at which these blocks had the content of a peer. What is kept of them here goes.
void Session::replace_rows(uint64_t boundary, const std::vector<LiveRow>& replaced) {
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
    row.copy = Snapshot::kNone;
  }
  if (!journal_.append_parts(RecordKind::boundary, state.number, state.pack()))
    throw Error("the journal is full: what replaces blocks of a boundary cannot be noted");
  *place = std::move(state);
  drop_copies(dropped);
}

/// Whether the session had nothing yet when its process passed the boundary, and all that came since is in
/// the journal.
bool Session::starts_after(uint64_t boundary) const {
  if (journal_.head() != 0 || boundary == 0) return journal_.head() == 0;
  uint64_t position = 0;
  const RecordHeader* record = journal_.at(position);
  while (record && record->kind != RecordKind::op) {
    position = Journal::after(*record);
    record = journal_.at(position);
  }
  if (!record) return false;
  const auto& first = *reinterpret_cast<const ops::OpHeader*>(record->payload().data());
  return first.op == static_cast<uint16_t>(ops::OpId::boundary) &&
         as<ops::Boundary>(first).boundary >= boundary;
}

/// Back to the start of the session, as it was with the others at this boundary.
RecoverReply Session::restart(uint64_t boundary) {
  forget_after(boundary);
  RecoverReply reply = restore_to(nullptr);
  BoardSlot& slot = board_.slot(request_.slot);
  for (auto* const counter : {&slot.prepared, &slot.reached, &slot.begun}) counter->store(boundary);
  return reply;
}

/// Later boundaries never happened. The journal says so first, for the worker that may have to take over.
void Session::forget_after(uint64_t boundary) {
  boundary_to_make_.reset();
  const bool later = last_boundary_ != boundary || step_;
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
  restored_ = false;
  if (!whole_plans(state->resources, error) || !backend_->restore(state->resources, error))
    return {false, error, 0, {}};
  table_.reset(state->resources);
  const auto kept = keep_what_holds(*state, reply);
  if (options_.poison || validations_.repeats()) spoil(state->resources, kept);
  restore_rows(*state, kept, reply);
  if (!error_of_variables(reply).empty()) return {false, error_of_variables(reply), 0, {}};
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

/// Descriptions of cuDNN plans are read when a plan is used: a damaged one is to be told now.
bool Session::whole_plans(const Resources& resources, std::string& error) {
  return std::ranges::all_of(resources.dnn_plans, [&](const Resources::DnnPlan& plan) {
    return !images_.image(plan.hash, plan.bytes, error).empty();
  });
}

/// No peer can give back a device variable.
std::string Session::error_of_variables(const RecoverReply& reply) {
  const auto found = std::ranges::find_if(reply.missing, &LiveRow::variable);
  if (found == reply.missing.end()) return {};
  return "the kept copy of a device variable (" + std::to_string(found->block.bytes) + " bytes at address " +
         std::to_string(found->block.address) + ") is damaged";
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
    const bool holds = now[i] != kNoHash && now[i] == rows[i].hash;
    (holds ? kept : reply.missing).push_back(rows[i]);
  }
  return kept;
}

void Session::restore_rows(const BoundaryState& state, const std::vector<LiveRow>& kept,
                           RecoverReply& reply) {
  std::vector<LiveRow> copies;
  std::ranges::copy_if(state.rows, std::back_inserter(copies), &LiveRow::copied);
  if (restore_copies(copies, reply)) return;
  // Rows may overlap: a damaged copy may lie over what had been found to hold.
  const auto now = hashes_of(kept);
  for (size_t i = 0; i < kept.size(); ++i)
    if (now[i] != kept[i].hash) reply.missing.push_back(kept[i]);
}

/// Compares what has arrived with the hash that the copy was made with: a damaged copy is as good as none.
/// False when there is one.
bool Session::restore_copies(const std::vector<LiveRow>& rows, RecoverReply& reply) {
  for (const LiveRow& row : rows) {
    stop_if_outdated(command_epoch_);
    backend_->write(row.block.address, snapshot_.bytes(row.copy, row.block.bytes));
  }
  const auto now = hashes_of(rows);
  bool whole = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (now[i] == rows[i].hash) {
      reply.bytes += rows[i].block.bytes;
      continue;
    }
    reply.missing.push_back(rows[i]);
    whole = false;
  }
  return whole;
}

/// JITC_POISON, validations: what is allocated and not kept is spoiled, so that a replay cannot lean on it.
void Session::spoil(const Resources& resources, const std::vector<LiveRow>& kept) {
  backend_->spoil_all(parts_without(resources.allocations, kept));
}

}  // namespace jitc
