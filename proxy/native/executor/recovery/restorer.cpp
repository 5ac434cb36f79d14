#include "restorer.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/parallel.h"
#include "executor/checkpoint/checkpoints.h"
#include "executor/checkpoint/row_copies.h"
#include "executor/core/session_core.h"
#include "executor/journal/wire.h"
#include "executor/replay/replay.h"
#include "executor/results/lookup.h"
#include "executor/state/communications.h"
#include "executor/step/boundary_maker.h"
#include "executor/step/step_gate.h"

namespace jitc {
namespace {
/// Bytes of copies that are written to the device at once.
constexpr uint64_t kGroupBytes = 1u << 30;

/// Returns the parts of the allocations that no row covers. Rows may overlap each other.
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

/// Returns an error for missing device variables: no peer can supply them.
std::string error_of_variables(const RecoverReply& reply) {
  const auto found = std::ranges::find_if(reply.missing, &LiveRow::variable);
  if (found == reply.missing.end()) return {};
  return "the kept copy of a device variable (" + std::to_string(found->block.bytes) + " bytes at address " +
         std::to_string(found->block.address) + ") is damaged";
}
}  // namespace

Restorer::Restorer(SessionCore& core, const Restored& parts)
    : core_(core), parts_(parts), memory_lost_(core.request.rebuild) {}

RecoverReply Restorer::roll_back(uint64_t boundary, uint64_t epoch, const std::vector<LiveRow>& replaced) {
  const Lifecycle::Lock lock(core_.life.mutex);
  core_.life.require_fenced("Rollback");
  core_.life.begin_command(epoch);
  if (const std::string damage = core_.journal.damage(); !damage.empty()) return {false, damage, 0, {}};
  if (boundary == 0 && core_.journal.head() != 0)
    return {false, "the start of the session is not in the journal any more", 0, {}};
  const BoundaryState* const state = parts_.checkpoints.find(boundary);
  if (!state && starts_after(boundary)) return restart(boundary);
  if (!state) {
    std::string has;
    for (const BoundaryState& one : parts_.checkpoints.boundaries()) has += " " + std::to_string(one.number);
    return {false, "boundary " + std::to_string(boundary) + " is not kept here (kept:" + has + ")", 0, {}};
  }
  parts_.boundaries.import_at({});
  parts_.checkpoints.forget_after(boundary);
  if (!replaced.empty()) parts_.checkpoints.replace_rows(boundary, replaced);
  return restore_to(parts_.checkpoints.find(boundary));
}

/// Returns whether the session had nothing yet when its process passed the boundary, and the journal has
/// everything since.
bool Restorer::starts_after(uint64_t boundary) const {
  const Journal& journal = core_.journal;
  if (journal.head() != 0 || boundary == 0) return journal.head() == 0;
  const RecordHeader* const record = first_op(journal);
  if (!record) return false;
  const ops::OpHeader& first = op_of(*record);
  return first.op == static_cast<uint16_t>(ops::OpId::boundary) &&
         as<ops::Boundary>(first).boundary >= boundary;
}

/// Rolls back to the start of the session, as it was with the others at this boundary.
RecoverReply Restorer::restart(uint64_t boundary) {
  parts_.boundaries.import_at({});
  parts_.checkpoints.forget_after(boundary);
  RecoverReply reply = restore_to(nullptr);
  parts_.checkpoints.stand_at(boundary);
  return reply;
}

RecoverReply Restorer::restore_to(const BoundaryState* state) {
  static const BoundaryState kStart;
  if (!state) state = &kStart;
  RecoverReply reply;
  std::string error;
  core_.life.restored = false;
  if (!whole_plans(state->resources, error) || !core_.backend->restore(state->resources, error))
    return {false, error, 0, {}};
  core_.issued.table.reset(state->resources);
  const auto kept = keep_what_holds(*state, reply);
  // JITC_POISON, validations: a replay must not rely on allocations that were not kept.
  if (core_.options.poison || parts_.gate.validations.repeats())
    core_.backend->poison_all(parts_without(state->resources.allocations, kept));
  restore_rows(*state, kept, reply);
  memory_lost_ = false;
  note_missing(reply.missing);
  if (!error_of_variables(reply).empty()) return {false, error_of_variables(reply), 0, {}};
  go_on_from(*state);
  reply.complete = reply.missing.empty();
  if (!reply.complete) reply.message = std::to_string(reply.missing.size()) + " blocks must come from a peer";
  return reply;
}

void Restorer::note_missing(const std::vector<LiveRow>& rows) {
  missing_.clear();
  for (const LiveRow& row : rows) missing_.insert(row.block.address);
}

void Restorer::arrived(const std::vector<Transfer>& blocks) {
  for (const Transfer& block : blocks) missing_.erase(block.address);
}

Tally Restorer::tally() const {
  const Lifecycle::Lock lock(core_.life.mutex);
  return core_.runs() ? Tally{} : core_.issued.table.communications().tally();
}

void Restorer::resumed() {
  memory_lost_ = false;
  missing_.clear();
}

void Restorer::go_on_from(const BoundaryState& state) {
  core_.issued.in_step = false;
  core_.issued.quiet = core_.life.restored = true;
  parts_.gate.forget();
  Counters& at = core_.at;
  uint64_t position = state.position;
  at.cursor = !state.number   ? core_.journal.head()
              : state.between ? position
                              : Journal::after(*core_.journal.at(position));
  at.dispatched = state.sequence;
  parts_.replay.begin();
  core_.progress.restore(state.sequence, state.resources.streams);
  for (const auto& stream : state.resources.streams)
    core_.completions.progress(stream.handle, state.sequence);
  core_.completions.progress(0, state.sequence);
  if (state.sequence) core_.completions.completion(CompletionKind::restored, 0, state.sequence);
  parts_.checkpoints.stand_at(state.number);
  at.committed = std::min(at.committed.load(), state.number);
}

/// Checks descriptions of cuDNN plans, which are read when a plan is used: a damaged one is reported now.
bool Restorer::whole_plans(const Resources& resources, std::string& error) {
  return std::ranges::all_of(resources.dnn_plans, [&](const Resources::DnnPlan& plan) {
    return !core_.images.image(plan.hash, plan.bytes, error).empty();
  });
}

/// Returns rows without a copy whose content a healthy rank still has, by its hash. All others are missing.
std::vector<LiveRow> Restorer::keep_what_holds(const BoundaryState& state, RecoverReply& reply) {
  std::vector<LiveRow> rows;
  for (const LiveRow& row : state.rows)
    if (!row.copied() && row.block.bytes) rows.push_back(row);
  std::vector<Hash> now(rows.size(), kNoHash);
  if (!memory_lost_) now = parts_.copies.hashes_of(rows);
  std::vector<LiveRow> kept;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool holds = now[i] != kNoHash && now[i] == rows[i].hash;
    (holds ? kept : reply.missing).push_back(rows[i]);
  }
  return kept;
}

/// Restores rows. Content that a healthy rank has not changed since the boundary needs no copy either.
void Restorer::restore_rows(const BoundaryState& state, const std::vector<LiveRow>& kept,
                            RecoverReply& reply) {
  std::vector<LiveRow> copies, same = kept;
  std::ranges::copy_if(state.rows, std::back_inserter(copies), &LiveRow::copied);
  if (!memory_lost_) std::ranges::move(take_unchanged(copies), std::back_inserter(same));
  if (restore_copies(copies, reply)) return;
  // Rows may overlap: a damaged copy may lie over rows that had been found unchanged.
  const auto now = parts_.copies.hashes_of(same);
  for (size_t i = 0; i < same.size(); ++i)
    if (now[i] != same[i].hash) reply.missing.push_back(same[i]);
}

/// Removes and returns the rows whose allocations still have the wanted content.
std::vector<LiveRow> Restorer::take_unchanged(std::vector<LiveRow>& rows) const {
  const auto now = parts_.copies.hashes_of(rows);
  std::vector<LiveRow> changed, unchanged;
  for (size_t i = 0; i < rows.size(); ++i)
    (now[i] != kNoHash && now[i] == rows[i].hash ? unchanged : changed).push_back(rows[i]);
  rows = std::move(changed);
  return unchanged;
}

/// Writes rows back, block by block if not at once; a block that was not written fails its hash.
void Restorer::put_back(const std::vector<LiveRow>& rows) {
  if (put_back_at_once(rows)) return;
  uint64_t bytes = 0;
  for (const LiveRow& row : rows) bytes += row.block.bytes;
  in_parallel(core_.backend->copy_threads(), rows.size(), bytes, [&](size_t i) {
    const auto& [address, size, ordinal] = rows[i].block;
    if (!core_.life.is_overtaken(core_.life.command_epoch))
      core_.backend->write(address, core_.snapshot.bytes(rows[i].copy, size));
  });
}

/// Writes rows back in groups, between which a newer recovery can end it.
bool Restorer::put_back_at_once(const std::vector<LiveRow>& rows) {
  BlockCopier* const copier = core_.backend->copier();
  if (!copier) return false;
  std::vector<BlockCopy> group;
  uint64_t bytes = 0;
  for (const LiveRow& row : rows) {
    group.push_back({row.block.address, core_.snapshot.bytes(row.copy, row.block.bytes)});
    bytes += row.block.bytes;
    if (bytes < kGroupBytes && &row != &rows.back()) continue;
    if (core_.life.is_overtaken(core_.life.command_epoch)) return true;
    if (!copier->put_back(group)) return false;
    group.clear();
    bytes = 0;
  }
  return true;
}

/// Restores copies and compares the content with the hash that the copy was made with: a damaged copy is as
/// good as none. Returns false if there is one.
bool Restorer::restore_copies(const std::vector<LiveRow>& rows, RecoverReply& reply) {
  put_back(rows);
  core_.life.stop_if_outdated(core_.life.command_epoch);
  const auto now = parts_.copies.hashes_of(rows);
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

}  // namespace jitc
