// Mirror of a segment of the software device (device/common/mirror/segment_mirror.h).
//
// Of each rank here goes to the other nodes: that it has joined; its rounds, in order: the used bytes of its
// box, in parts, then the descriptor with the round's number; per rank there, the bytes that it writes to the
// mailbox, and how far it has read the other way.
//
// Promise: no round is missed. A rank fills the box of round k only when it has seen round k - 1 of all
// ranks. A rank of another node publishes k - 1 only when it has seen round k - 2 of this rank, so the bridge
// has sent that by then. So at most the rounds k - 1 and k are unsent, whose boxes are not the same. For the
// same reason the box that a round is written to there is not read any more: its rank has seen round k - 1 of
// all ranks, which they publish when they are done with k - 2. Called by: the bridge, through make_mirror().
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "device/common/mirror/segment_mirror.h"
#include "segment.h"

namespace jitc::software {

using device::Frame;
using device::FrameWriter;

class Mirror final : public device::SegmentMirror {
 public:
  /// Maps the segment. Throws Error.
  explicit Mirror(const device::MirroredSegment& segment);

 private:
  /// Rounds of one rank, toward or from a peer: how many of each turn, and how much of the next one's box.
  struct RoundsDone {
    std::array<uint64_t, kTurns> rounds{};
    uint64_t box = 0;
  };
  struct Come {
    bool seen = false, sent = false;
  };
  /// Mailboxes of a rank here with one there. Positions in their streams of bytes; written by the thread that
  /// sends (s) or receives (r).
  struct Letters {
    std::atomic<uint64_t> sent{0};          // s: to the other rank
    std::atomic<uint64_t> acknowledged{0};  // r: read by it
    std::atomic<uint64_t> received{0};      // r: from the other rank
    uint64_t reported = 0;                  // s: read by the rank here
  };
  struct Side {
    // By rank here.
    std::vector<Come> come;
    std::vector<RoundsDone> sent;
    // By rank there.
    std::vector<RoundsDone> received;
    std::vector<Letters> letters;  // by rank here, rank there
    size_t at = 0;                 // place that send_of_ranks looks at next
  };

  device::SegmentHead& head() const override { return segment_.head(); }
  void ring(uint32_t rank) const override { segment_.area(rank).doorbell.ring(); }
  void look_at_ranks(uint32_t peer) override;
  Sent send_of_ranks(uint32_t peer, FrameWriter& out, bool shown) override;
  void receive_of_rank(uint32_t peer, const Frame& frame) override;

  Letters& letters(uint32_t peer, size_t mine, size_t theirs);
  Sent send_from(uint32_t peer, size_t place, FrameWriter& out, bool shown);
  Sent send_joined(Side& side, size_t mine, FrameWriter& out);
  Sent send_round(Side& side, size_t mine, Turn turn, FrameWriter& out);
  Sent send_box(uint32_t rank, RoundsDone& done, const Descriptor& round, FrameWriter& out);
  Sent send_letters(Letters& letters, uint32_t from, uint32_t to, FrameWriter& out);
  Sent send_read(Letters& letters, uint32_t from, uint32_t to, FrameWriter& out);
  void receive_joined(uint32_t peer, device::PayloadReader payload);
  void receive_box(uint32_t peer, device::PayloadReader payload);
  void receive_round(uint32_t peer, device::PayloadReader payload);
  void receive_letters(uint32_t peer, device::PayloadReader payload);
  void receive_read(uint32_t peer, device::PayloadReader payload);
  void ring_here() const;

  Segment segment_;
  std::map<uint32_t, Side> sides_;  // by peer
};

}  // namespace jitc::software
