// Copies to memory of the node what is kept on this device alone, while a lost peer is rebuilt.
//
// In peer mode the newest boundary of a rank lacks copies of what its peers hold. From the moment when a peer
// is lost until it has that state again, losing this rank too would end the job. Called in control threads
// while the dispatcher is parked, beside the rebuilding of the peer. Promise: a boundary that it completes
// can be restored without peers; a boundary that it cannot keep stays as it was before.
#include "executor/checkpoint/checkpoints.h"
#include "executor/checkpoint/row_copies.h"
#include "executor/core/session_core.h"
#include "executor/step/boundary_maker.h"
#include "recovery.h"
#include "restorer.h"

namespace jitc {

RecoverReply Recovery::keep(uint64_t epoch, uint32_t timeout_ms) {
  Lifecycle::Lock lock(core_.life.mutex);
  core_.life.require_fenced("Keep");
  core_.life.begin_command(epoch);
  const bool peer_mode = parts_.checkpoints.plan.wanted()->peer_mode();
  if (!peer_mode || !parts_.restorer.memory_is_whole() || parts_.checkpoints.empty()) return {};
  const uint64_t next = core_.at.last_boundary + 1;
  if (core_.slot().begun < next && !parts_.boundaries.imports(next)) return keep_newest();
  // A step that has begun has changed what peers hold: only its end can be kept.
  lock.unlock();
  parts_.boundaries.keep_all(true);
  RecoverReply reply = go_to(next, timeout_ms, epoch);
  parts_.boundaries.keep_all(false);
  return reply;
}

/// Keeps the newest boundary. No rank has begun the next step, so allocations without copies still are what
/// they were at the boundary; their hashes prove it.
RecoverReply Recovery::keep_newest() {
  BoundaryState state = parts_.checkpoints.newest();
  std::vector<LiveRow> bare;
  for (const LiveRow& row : state.rows)
    if (!row.copied() && row.block.bytes) bare.push_back(row);
  const auto now = parts_.copies.hashes_of(bare);
  RecoverReply reply;
  for (size_t i = 0; i < bare.size(); ++i) {
    if (keep_row(bare[i], now[i]))
      reply.bytes += bare[i].block.bytes;
    else
      reply.missing.push_back(bare[i]);
  }
  auto kept = bare.begin();
  for (LiveRow& row : state.rows)
    if (!row.copied() && row.block.bytes) row = *kept++;
  if (!core_.journal.append_parts(RecordKind::boundary, state.number, state.pack())) {
    parts_.copies.drop(bare);
    return {false, "the journal is full", 0, {}};
  }
  parts_.checkpoints.replace_newest(std::move(state));
  reply.complete = reply.missing.empty();
  if (!reply.complete) reply.message = std::to_string(reply.missing.size()) + " blocks could not be kept";
  return reply;
}

bool Recovery::keep_row(LiveRow& row, const Hash& now) {
  if (core_.life.outdated(core_.life.command_epoch) || now == kNoHash || now != row.hash) return false;
  row.copy = core_.snapshot.take(row.block.bytes);
  return row.copied() &&
         core_.backend->read(row.block.address, core_.snapshot.bytes(row.copy, row.block.bytes));
}

}  // namespace jitc
