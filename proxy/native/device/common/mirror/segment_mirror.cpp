// See segment_mirror.h.
#include "segment_mirror.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace jitc::device {

SegmentMirror::SegmentMirror(const MirroredSegment& segment) : segment_(segment) {
  if (segment.ranks < 2 || segment.ranks > SegmentHead::kMostRanks)
    throw Error("a communicator of " + std::to_string(segment.ranks) + " ranks is on no two nodes");
  places_.resize(segment.ranks);
  std::vector<bool> known(segment.ranks);
  const auto place = [&](uint32_t rank, const Place& where) {
    if (rank >= segment.ranks || known[rank])
      throw Error("rank " + std::to_string(rank) + " has no place in the communicator, or two");
    known[rank] = true;
    places_[rank] = where;
  };
  for (size_t i = 0; i < segment.here.size(); ++i) place(segment.here[i], {true, 0, i});
  for (const auto& [peer, ranks] : segment.there) {
    for (size_t i = 0; i < ranks.size(); ++i) place(ranks[i], {false, peer, i});
    ends_[peer];
  }
  if (segment.here.empty() || segment.there.empty() || std::ranges::count(known, false))
    throw Error("not all ranks of the communicator have a node, or it is on one alone");
}

void SegmentMirror::open() {
  if (head().identity.load() != segment_.identity) throw Error("the communicator's segment is another one");
  head().bridged.store(1);  // what was published before is found by the next look at it
}

size_t SegmentMirror::place_here(uint32_t rank) const {
  if (rank >= places_.size() || !places_[rank].here)
    throw Malformed("a frame is for rank " + std::to_string(rank) + ", which is not on this node");
  return places_[rank].index;
}

size_t SegmentMirror::place_there(uint32_t peer, uint32_t rank) const {
  if (rank >= places_.size() || places_[rank].here || places_[rank].peer != peer)
    throw Malformed("a frame is of rank " + std::to_string(rank) + ", which is not on its sender's node");
  return places_[rank].index;
}

void SegmentMirror::ring_here() const {
  for (const uint32_t rank : here()) ring(rank);
}

void SegmentMirror::cut(const std::string& why) {
  {
    const std::lock_guard lock(marking_);
    head().cut_off(why);
  }
  ring_here();
}

void SegmentMirror::cut_for_disorder() {
  if (!disorder_.exchange(true)) cut("a rank on this node does not publish as the others expect");
}

// -- sending -------------------------------------------------------------------------------------------

void SegmentMirror::look(uint32_t peer) {
  Ends& ends = ends_.at(peer);
  for (size_t i = 0; i < ends.seen.size(); ++i) ends.seen[i] = head().absent[i].load();
  look_at_ranks(peer);
}

SegmentMirror::Sent SegmentMirror::send(uint32_t peer, FrameWriter& out, bool shown) {
  if (disorder_) return Sent::nothing;
  const Sent sent = send_of_ranks(peer, out, shown);
  // A rank's end counts after all that it published, which is sent by now.
  return sent == Sent::nothing && shown ? send_ends(peer, out) : sent;
}

SegmentMirror::Sent SegmentMirror::send_ends(uint32_t peer, FrameWriter& out) {
  Ends& ends = ends_.at(peer);
  std::vector<uint32_t> ended;
  for (const uint32_t rank : here())
    if ((ends.seen[rank / 64] & ~ends.sent[rank / 64]) >> rank % 64 & 1) ended.push_back(rank);
  if (ended.empty()) return Sent::nothing;
  std::string why;
  {
    const std::lock_guard lock(marking_);
    why = std::string(head().reason.data(), strnlen(head().reason.data(), head().reason.size()));
  }
  if (!out.begin(FrameKind::absent, link(), 4 + 4 * ended.size() + why.size())) return Sent::no_room;
  out.put32(static_cast<uint32_t>(ended.size()));
  for (const uint32_t rank : ended) {
    out.put32(rank);
    ends.sent[rank / 64] |= uint64_t{1} << rank % 64;
  }
  out.put(std::as_bytes(std::span(why)));
  return Sent::frame;
}

// -- receiving -----------------------------------------------------------------------------------------

void SegmentMirror::receive(uint32_t peer, const Frame& frame) {
  if (frame.kind == FrameKind::absent) return receive_ends(peer, PayloadReader(frame.payload));
  receive_of_rank(peer, frame);
}

void SegmentMirror::receive_ends(uint32_t peer, PayloadReader payload) {
  const uint32_t count = payload.word32();
  if (count > ranks()) throw Malformed("a frame names more ranks than the communicator has");
  std::vector<uint32_t> ended(count);
  for (uint32_t& rank : ended) place_there(peer, rank = payload.word32());
  const auto text = payload.rest();
  if (text.size() >= head().reason.size()) throw Malformed("a rank's end has a text that is too long");
  const std::string why(reinterpret_cast<const char*>(text.data()), text.size());
  {
    const std::lock_guard lock(marking_);
    for (const uint32_t rank : ended) head().leave(rank, why);
  }
  ring_here();
}

}  // namespace jitc::device
