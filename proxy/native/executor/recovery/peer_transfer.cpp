#include "peer_transfer.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "base/shared/shared_map.h"
#include "executor/checkpoint/checkpoints.h"
#include "executor/core/session_core.h"
#include "restorer.h"

namespace jitc {
namespace {

uint64_t end_of(const std::vector<Transfer>& blocks) {
  uint64_t end = 0;
  for (const Transfer& block : blocks) {
    if (block.bytes > UINT64_MAX - block.offset) throw Error("a transfer's offset is out of range");
    end = std::max(end, block.offset + block.bytes);
  }
  return end;
}

[[noreturn]] void refuse(const Transfer& block, const char* why) {
  throw Error("block of " + std::to_string(block.bytes) + " bytes at address " +
              std::to_string(block.address) + " " + why);
}

/// Checks that the content is the one that was asked for.
void check(const Backend& backend, const std::vector<Transfer>& blocks) {
  std::vector<MemoryRange> ranges;
  for (const Transfer& block : blocks) ranges.push_back({block.address, block.bytes});
  std::vector<Hash> hashes(blocks.size());
  backend.hash_all(ranges, hashes);
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (hashes[i] == blocks[i].hash) continue;
    refuse(blocks[i], hashes[i] == kNoHash ? "is not allocated" : "has other content than was asked for");
  }
}

/// Requires hashes: nothing moves that could not be checked.
void require_hashes(const std::vector<Transfer>& blocks) {
  for (const Transfer& block : blocks)
    if (block.bytes && block.hash == kNoHash) refuse(block, "is asked for without the hash of its content");
}
}  // namespace

template <class Move>
uint64_t PeerTransfer::move_all(const std::vector<Transfer>& blocks, const Move& move) const {
  uint64_t bytes = 0;
  for (const Transfer& block : blocks) bytes += block.bytes;
  std::vector<char> moved(blocks.size());
  in_parallel(core_.backend->copy_threads(), blocks.size(), bytes,
              [&](size_t i) { moved[i] = move(blocks[i]); });
  for (size_t i = 0; i < blocks.size(); ++i)
    if (!moved[i]) refuse(blocks[i], "is not allocated");
  return bytes;
}

uint64_t PeerTransfer::export_blocks(const std::string& path, const std::vector<Transfer>& blocks,
                                     uint64_t epoch) {
  const std::lock_guard lock(core_.life.mutex);
  core_.life.require_fenced("Export");
  core_.life.begin_command(epoch);
  require_hashes(blocks);
  if (blocks.empty()) return 0;
  const SharedMap map(path, end_of(blocks));
  if (!map.reserve(0, map.size())) throw Error("no memory for blocks on their way to a peer");
  check(*core_.backend, blocks);
  return move_all(blocks, [&](const Transfer& block) {
    return core_.backend->read(block.address, {map.data() + block.offset, block.bytes});
  });
}

uint64_t PeerTransfer::import_blocks(const std::string& path, const std::vector<Transfer>& blocks,
                                     uint64_t epoch) {
  const std::lock_guard lock(core_.life.mutex);
  core_.life.require_fenced("Import");
  core_.life.begin_command(epoch);
  require_hashes(blocks);
  if (blocks.empty()) return 0;
  const SharedMap map(path, end_of(blocks));
  const uint64_t bytes = move_all(blocks, [&](const Transfer& block) {
    return core_.backend->write(block.address, {map.data() + block.offset, block.bytes});
  });
  check(*core_.backend, blocks);  // content that has arrived, so that the transfer is checked too
  restorer_.arrived(blocks);
  return bytes;
}

RecoverReply PeerTransfer::with_direct_path(RecoverReply reply) const {
  const auto plan = checkpoints_.plan.wanted();
  const BlockMover* const mover = core_.backend->mover();
  reply.direct_path = (plan->peer_mode() || !reply.missing.empty()) && mover && mover->usable();
  return reply;
}

RecoverReply PeerTransfer::send_blocks(const DirectTransferRequest& request) {
  const std::lock_guard lock(core_.life.mutex);
  core_.life.require_fenced("Send");
  return move_blocks(request, true);
}

RecoverReply PeerTransfer::receive_blocks(const DirectTransferRequest& request) {
  const std::lock_guard lock(core_.life.mutex);
  core_.life.require_fenced("Receive");
  RecoverReply reply = move_blocks(request, false);
  if (reply.complete && !content_is_right(request.blocks))
    return {false, "a block has arrived with other content than was asked for", 0, {}};
  if (reply.complete) restorer_.arrived(request.blocks);
  return reply;
}

RecoverReply PeerTransfer::move_blocks(const DirectTransferRequest& request, bool sends) {
  DirectTransfer transfer{
      sends, request.path, request.path_bytes, std::chrono::milliseconds(request.timeout_ms), {}};
  transfer.cancelled = [newest = core_.life.newest_epoch, epoch = request.epoch] { return *newest > epoch; };
  std::vector<MemoryRange> ranges;
  uint64_t bytes = 0;
  for (const Transfer& block : request.blocks) {
    ranges.push_back({block.address, block.bytes});
    bytes += block.bytes;
  }
  const BlockMover* const mover = core_.backend->mover();
  if (!mover) return {false, "this device moves blocks through the host only", 0, {}};
  std::string error;
  if (!mover->move_blocks(transfer, ranges, error)) return {false, error, 0, {}};
  return {true, "", bytes, {}};
}

bool PeerTransfer::content_is_right(const std::vector<Transfer>& blocks) const {
  std::vector<MemoryRange> ranges;
  for (const Transfer& block : blocks) ranges.push_back({block.address, block.bytes});
  std::vector<Hash> now(ranges.size());
  core_.backend->hash_all(ranges, now);
  return std::ranges::equal(blocks, now, {}, &Transfer::hash);
}

}  // namespace jitc
