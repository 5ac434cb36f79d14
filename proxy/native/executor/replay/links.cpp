// Blocks that a peer gives back from its device to this one, without passing through the host.
//
// A transfer that fails is no error: the coordinator takes the other road (commands.cpp), whose checks then
// say what is wrong. The receiver looks at what has arrived, so the way here is checked too.
#include <algorithm>

#include "executor/session/session.h"

namespace jitc {

RecoverReply Session::with_links(RecoverReply reply) const {
  const auto plan = policy();
  reply.links = (plan->peer_mode() || !reply.missing.empty()) && backend_->links();
  return reply;
}

RecoverReply Session::send_blocks(const LinkRequest& request) {
  const std::lock_guard lock(mutex_);
  require_fenced("Send");
  return move_blocks(request, true);
}

RecoverReply Session::receive_blocks(const LinkRequest& request) {
  const std::lock_guard lock(mutex_);
  require_fenced("Receive");
  RecoverReply reply = move_blocks(request, false);
  if (reply.complete && !content_is_right(request.blocks))
    return {false, "a block has arrived with other content than was asked for", 0, {}};
  return reply;
}

RecoverReply Session::move_blocks(const LinkRequest& request, bool sends) {
  Link link{sends, request.path, request.path_bytes, std::chrono::milliseconds(request.timeout_ms), {}};
  link.cut = [newest = newest_epoch_, epoch = request.epoch] { return *newest > epoch; };
  std::vector<MemoryRange> ranges;
  uint64_t bytes = 0;
  for (const Transfer& block : request.blocks) {
    ranges.push_back({block.address, block.bytes});
    bytes += block.bytes;
  }
  std::string error;
  if (!backend_->move_blocks(link, ranges, error)) return {false, error, 0, {}};
  return {true, "", bytes, {}};
}

bool Session::content_is_right(const std::vector<Transfer>& blocks) const {
  std::vector<MemoryRange> ranges;
  for (const Transfer& block : blocks) ranges.push_back({block.address, block.bytes});
  std::vector<Hash> now(ranges.size());
  backend_->hash_all(ranges, now);
  return std::ranges::equal(blocks, now, {}, &Transfer::hash);
}

}  // namespace jitc
