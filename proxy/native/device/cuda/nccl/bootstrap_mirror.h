// Mirror of a bootstrap, so that NCCL's communicators connect ranks of several nodes
// (device/common/mirror/segment_mirror.h).
//
// Of each rank here goes to the other nodes: its token, with the splits that it has posted; from rank 0's
// node the id; from any node that the communicator is wanted. Promise: an id is shown on a node when the
// tokens of all its recipients are; so a rank never takes one that has not come yet for one that has left.
// Called by: the bridge, through make_mirror().
#pragma once
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "device/common/mirror/segment_mirror.h"
#include "nccl_bootstrap.h"

namespace jitc::cuda {

using device::Frame;
using device::FrameWriter;

class BootstrapMirror final : public device::SegmentMirror {
 public:
  /// Maps the segment. Throws Error.
  explicit BootstrapMirror(const device::MirroredSegment& segment);

 private:
  /// Words of a rank's slot: token, round, and of both boxes color and key, and sequence.
  using RankWords = std::array<uint64_t, 6>;
  struct Id {
    uint64_t edition = 0;
    NcclUniqueId id;
    std::vector<uint64_t> tokens;  // by rank
  };
  struct Side {
    std::vector<RankWords> seen, sent;  // by rank here
    uint64_t edition = 0;               // of the id sent
    bool requested = false;             // sent
  };

  device::SegmentHead& head() const override { return bootstrap_.segment_head(); }
  void ring(uint32_t rank) const override { bootstrap_.slot(rank).doorbell.ring(); }
  void look_at_ranks(uint32_t peer) override;
  Sent send_of_ranks(uint32_t peer, FrameWriter& out, bool shown) override;
  void receive_of_rank(uint32_t peer, const Frame& frame) override;

  std::optional<RankWords> words_of(uint32_t rank) const;
  Sent send_words(Side& side, FrameWriter& out);
  Sent send_id(Side& side, FrameWriter& out);
  Sent send_request(Side& side, FrameWriter& out);
  void receive_words(uint32_t peer, device::PayloadReader payload);
  void receive_id(uint32_t peer, device::PayloadReader payload);
  void show_id();
  void ring_here() const;

  NcclBootstrap bootstrap_;
  std::map<uint32_t, Side> sides_;  // by peer
  std::mutex mutex_;                // guards what follows
  std::optional<Id> next_;          // not shown yet
};

}  // namespace jitc::cuda
