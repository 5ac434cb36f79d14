// While a lost peer is rebuilt: what is kept on this device alone goes to memory of the node as well.
//
// In peer mode the newest boundary of a rank lacks copies of what its peers hold. From the moment when a peer
// is lost until it has that state again, losing this rank too would end the job. Called in control threads
// while the dispatcher is parked, beside the rebuilding of the peer. Promise: a boundary that it completes
// can be restored without peers; what it cannot keep is as it was before.
#include "base/error.h"
#include "executor/session/session.h"

namespace jitc {

RecoverReply Session::keep(uint64_t epoch, uint32_t timeout_ms) {
  Lock lock(mutex_);
  require_fenced("Keep");
  begin_command(epoch);
  if (!policy_->peer_mode() || memory_lost_ || boundaries_.empty()) return {};
  const uint64_t next = last_boundary_ + 1;
  if (board_.slot(request_.slot).begun < next) return keep_newest();
  // A step that has begun has changed what peers hold: only its end can be kept.
  lock.unlock();
  keep_all_ = true;
  RecoverReply reply = finish_step(next, timeout_ms, epoch);
  keep_all_ = false;
  return reply;
}

/// Nobody has begun the next step, so blocks without copies still are what they were at the boundary; their
/// hashes say so.
RecoverReply Session::keep_newest() {
  BoundaryState state = boundaries_.back();
  std::vector<LiveRow> bare;
  for (const LiveRow& row : state.rows)
    if (!row.copied() && row.block.bytes) bare.push_back(row);
  const auto now = hashes_of(bare);
  RecoverReply reply;
  for (size_t i = 0; i < bare.size(); ++i) {
    if (outdated(command_epoch_) || now[i] == kNoHash || now[i] != bare[i].hash) {
      reply.missing.push_back(bare[i]);
      continue;
    }
    bare[i].copy = snapshot_.take(bare[i].block.bytes);
    if (!bare[i].copied() ||
        !backend_->read(bare[i].block.address, snapshot_.bytes(bare[i].copy, bare[i].block.bytes)))
      reply.missing.push_back(bare[i]);
    else
      reply.bytes += bare[i].block.bytes;
  }
  auto kept = bare.begin();
  for (LiveRow& row : state.rows)
    if (!row.copied() && row.block.bytes) row = *kept++;
  if (!journal_.append_parts(RecordKind::boundary, state.number, state.pack())) {
    drop_copies(bare);
    return {false, "the journal is full", 0, {}};
  }
  boundaries_.back() = std::move(state);
  reply.complete = reply.missing.empty();
  if (!reply.complete) reply.message = std::to_string(reply.missing.size()) + " blocks could not be kept";
  return reply;
}

}  // namespace jitc
