// Mirror of a communicator's segment whose ranks are on several nodes: each node has a segment of its own,
// and what ranks write there travels to the others.
//
// A device's mirror knows what its ranks publish, and in which order (software: segment/mirror.h, cuda:
// nccl/bootstrap_mirror.h). Here: who is where, ranks that have ended, the end of a connection.
// Promises: only areas of ranks on other nodes are written, each only as its own node says; what is published
// appears on the other nodes in the same order, or not at all. A rank here that breaks the segment's rules
// costs the segment its link, and no other one anything.
// Lock rule: of each peer one thread sends and one receives; different peers, and cut(), any thread.
// Called by: the bridge.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "device/common/shared_segment.h"
#include "frames.h"

namespace jitc::device {

struct MirroredSegment {
  uint64_t link = 0;  // the same on all nodes
  std::string path;
  uint64_t bytes = 0, identity = 0;
  uint32_t ranks = 0;
  std::vector<uint32_t> here;                       // ranks
  std::map<uint32_t, std::vector<uint32_t>> there;  // by peer
};

class SegmentMirror {
 public:
  enum class Sent { nothing, frame, no_room };

  /// Throws Error if a rank has no place, or two.
  explicit SegmentMirror(const MirroredSegment& segment);
  virtual ~SegmentMirror() = default;
  SegmentMirror(const SegmentMirror&) = delete;
  SegmentMirror& operator=(const SegmentMirror&) = delete;

  /// Lets ranks here ring the bridge from now on. Throws Error if the segment is another one.
  void open();
  /// Notes which ranks have come or ended by now: send() says of no others that they have.
  void look(uint32_t peer);
  /// Writes at most one frame of what the peer lacks. shown: what the board said after look() has been sent;
  /// a rank that has come is counted there first.
  Sent send(uint32_t peer, FrameWriter& out, bool shown);
  /// Writes what has come from the peer. Throws Malformed.
  void receive(uint32_t peer, const Frame& frame);
  /// Ends the link: collectives fail, with the reason.
  void cut(const std::string& why);

 protected:
  uint64_t link() const { return segment_.link; }
  uint32_t ranks() const { return segment_.ranks; }
  const std::vector<uint32_t>& here() const { return segment_.here; }
  const std::vector<uint32_t>& there(uint32_t peer) const { return segment_.there.at(peer); }
  const std::map<uint32_t, std::vector<uint32_t>>& peers() const { return segment_.there; }
  /// Returns the rank's place among those here, or of its peer. Throws Malformed if it is not there.
  size_t place_here(uint32_t rank) const;
  size_t place_there(uint32_t peer, uint32_t rank) const;
  /// Ends the link because a rank here does not keep to the segment's rules.
  void cut_for_disorder();

 private:
  virtual SegmentHead& head() const = 0;
  virtual void ring(uint32_t rank) const = 0;
  virtual void look_at_ranks(uint32_t peer) = 0;
  virtual Sent send_of_ranks(uint32_t peer, FrameWriter& out, bool shown) = 0;
  virtual void receive_of_rank(uint32_t peer, const Frame& frame) = 0;

  using Ranks = std::array<uint64_t, SegmentHead::kMostRanks / 64>;  // a bit each
  struct Ends {
    Ranks seen{}, sent{};
  };
  struct Place {
    bool here = false;
    uint32_t peer = 0;
    size_t index = 0;
  };
  Sent send_ends(uint32_t peer, FrameWriter& out);
  void receive_ends(uint32_t peer, PayloadReader payload);
  void ring_here() const;

  const MirroredSegment segment_;
  std::vector<Place> places_;      // by rank
  std::map<uint32_t, Ends> ends_;  // by peer
  std::mutex marking_;             // the head's texts
  std::atomic<bool> disorder_{false};
};

}  // namespace jitc::device
