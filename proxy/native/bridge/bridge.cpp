// See bridge.h.
#include "bridge.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/shared/board.h"
#include "device/devices.h"
#include "jitc/bridge_api.h"

namespace jitc::bridge {
namespace {
using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

/// Longest sleep before everything is looked at again.
constexpr microseconds kLook{100'000};
}  // namespace

Bridge::Bridge(const std::string& board_path) : memory_(board_path, Board::kBytes), board_(memory_.data()) {
  board_.set_bridged(true);
  (void)board_.doorbell();  // what rang it before is seen by the looks that follow
}

Bridge::~Bridge() {
  board_.set_bridged(false);
  for (const auto& [number, one] : links_) one.mirror->cut("the bridge to the other nodes has ended");
}

std::shared_ptr<Peer> Bridge::peer(uint32_t number) {
  const std::lock_guard lock(peers_mutex_);
  if (const auto found = peers_.find(number); found != peers_.end()) return found->second;
  if (peers_.size() >= kMostPeers)
    std::erase_if(peers_, [](const auto& one) { return one.second.use_count() == 1 && one.second->idle(); });
  if (peers_.size() >= kMostPeers)
    throw Error("this node has something in common with " + std::to_string(kMostPeers) +
                " other nodes, and cannot with more");
  return peers_.emplace(number, std::make_shared<Peer>(number, board_)).first->second;
}

Bridge::Peers Bridge::all() const {
  const std::lock_guard lock(peers_mutex_);
  return peers_;
}

// -- what the service asks for ---------------------------------------------------------------------------

void Bridge::link(const std::string& text) {
  const LinkDescription description = link_description(text);
  const device::MirroredSegment& segment = description.segment;
  const std::lock_guard lock(linking_);
  if (const auto found = links_.find(segment.link); found != links_.end()) {
    if (found->second.identity == segment.identity) return;
    throw Error("link " + std::to_string(segment.link) + " is another communicator's");
  }
  if (links_.size() >= Peer::kMostLinks)
    throw Error("this node has " + std::to_string(Peer::kMostLinks) +
                " communicators with ranks on other nodes, and can have no more");
  const std::shared_ptr<SegmentMirror> mirror = make_mirror(description.kind, segment);
  mirror->open();
  link_with(segment, mirror);
  board_.bridge().ring();
}

/// Links with all peers, or with none.
void Bridge::link_with(const device::MirroredSegment& segment, const std::shared_ptr<SegmentMirror>& mirror) {
  Linked made{mirror, segment.identity, {}};
  try {
    for (const auto& [number, ranks] : segment.there) {
      peer(number)->link(segment.link, segment.ranks, mirror);
      made.peers.push_back(number);
    }
  } catch (const Error&) {
    for (const uint32_t number : made.peers) peer(number)->unlink(segment.link);
    throw;
  }
  links_.emplace(segment.link, std::move(made));
}

void Bridge::unlink(uint64_t link) {
  const std::lock_guard lock(linking_);
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  for (const uint32_t number : found->second.peers) peer(number)->unlink(link);
  links_.erase(found);
  board_.bridge().ring();
}

void Bridge::mirror(const std::string& text) {
  MirrorDescription description = mirror_description(text);
  const std::lock_guard lock(linking_);
  Peers concerned = all();
  for (const auto& [number, slots] : description.local) concerned.emplace(number, peer(number));
  for (const auto& [number, places] : description.remote) concerned.emplace(number, peer(number));
  for (const auto& [number, one] : concerned) {
    one->board_sender.show(description.local[number]);
    one->board_receiver.expect(description.remote[number]);
  }
  board_.bridge().ring();
}

void Bridge::cut(uint32_t number, const std::string& why) {
  for (const auto& mirror : peer(number)->cut()) mirror->cut(why);
  board_.bridge().ring();
}

std::string Bridge::counters() const {
  const std::lock_guard lock(linking_);
  return counters_document(links_.size(), all());
}

// -- bytes -----------------------------------------------------------------------------------------------

size_t Bridge::collect(uint32_t number, std::span<std::byte> room, int timeout_ms) {
  if (room.size() < JITC_BRIDGE_LEAST_ROOM)
    throw Error("the buffer is too small: it needs " + std::to_string(JITC_BRIDGE_LEAST_ROOM) + " bytes");
  const std::shared_ptr<Peer> from = peer(number);
  const auto end = Clock::now() + std::chrono::milliseconds(std::max(timeout_ms, 0));
  for (;;) {
    const uint32_t seen = board_.bridge().rung();
    if (const size_t bytes = from->collect(room)) return bytes;
    const auto rest = std::chrono::duration_cast<microseconds>(end - Clock::now());
    if (rest.count() <= 0) return 0;
    board_.bridge().sleep(seen, std::min(rest, kLook).count());
  }
}

void Bridge::apply(uint32_t number, std::span<const std::byte> bytes) {
  if (peer(number)->apply(bytes)) board_.bridge().ring();
}

}  // namespace jitc::bridge
