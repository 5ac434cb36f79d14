// Shared memory of one communicator in one recovery epoch: how ranks in different processes meet.
//
// Layout: one RankArea per rank, two boxes per rank, one mailbox per ordered pair of ranks. It starts as
// zeros. Every rank writes only its own area and boxes, and its side of its mailboxes.
// Ranks of other nodes have the same here: the bridge writes what theirs have written there (mirror.h).
// Promise: publish() makes everything written before it visible and wakes the ranks that wait for it.
// Called by: Communicator, the collectives, the mirror.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "device/common/shared_segment.h"

namespace jitc::software {

/// State of a rank in a round; must be the same on all ranks except for contributions.
struct Descriptor {
  uint32_t kind = 0, dtype = 0, reduction = 0;
  int32_t root = -1;
  uint64_t count = 0;
  uint64_t step = 0;           // round inside the collective
  int32_t color = 0, key = 0;  // contribution to a split
  uint64_t sequence = 0;       // of the split op
  uint64_t used = 0;           // bytes of this rank's box
  bool agrees(const Descriptor& other) const {
    return kind == other.kind && dtype == other.dtype && reduction == other.reduction && root == other.root &&
           count == other.count && step == other.step;
  }
};

/// Collectives and splits take turns independently of each other.
enum Turn : size_t { kCollectives = 0, kSplits = 1, kTurns = 2 };

struct alignas(64) RankArea {
  Doorbell doorbell;
  std::atomic<uint32_t> joined;
  alignas(64) std::atomic<uint64_t> rounds[kTurns];  // published by this rank
  alignas(64) Descriptor descriptors[kTurns][2];     // of the even and odd round
};

struct alignas(64) Mailbox {
  std::atomic<uint64_t> written;  // bytes, by the sender
  alignas(64) std::atomic<uint64_t> read;
};

class Segment {
 public:
  static constexpr size_t kBox = 1u << 20;
  /// Returns the size of the file.
  static uint64_t bytes(uint32_t ranks) { return device::SharedSegment::size_for(content(ranks)); }

  Segment(uint32_t ranks, uint32_t rank) : ranks_(ranks), rank_(rank) {}
  /// Maps the file, for a mirror of it; false with the reason.
  bool map(const std::string& path, uint64_t size, std::string& error) {
    return memory_.map(path, size, content(ranks_), error);
  }
  /// Joins the segment. Throws OpError, Abandoned: device/common/shared_segment.h.
  void join(CommunicatorSegments& segments, const Resources::Communicator& communicator) {
    memory_.join(segments, communicator, content(ranks_));
  }
  bool absent(uint32_t rank) const { return memory_.absent(rank); }
  [[noreturn]] void refuse_absent() const { memory_.refuse_absent(); }
  void require_link() const { memory_.require_link(); }
  device::SegmentHead& head() const { return memory_.head(); }

  RankArea& area(uint32_t rank) const { return reinterpret_cast<RankArea*>(memory_.data())[rank]; }
  RankArea& own() const { return area(rank_); }
  std::byte* box(uint32_t rank, uint64_t round) const;
  Mailbox& mailbox(uint32_t from, uint32_t to) const;
  std::byte* letters(Mailbox& mailbox) const { return reinterpret_cast<std::byte*>(&mailbox + 1); }
  uint64_t mailbox_size() const { return letters_of(ranks_); }

  void ring(uint32_t rank) const {
    area(rank).doorbell.ring();
    memory_.ring_bridge();
  }
  void ring_all() const;
  /// Sleeps until own doorbell differs from `seen`, or for the time.
  void sleep(uint32_t seen, int64_t microseconds) const { own().doorbell.sleep(seen, microseconds); }

 private:
  static uint64_t content(uint32_t ranks);
  static uint64_t letters_of(uint32_t ranks);
  static uint64_t boxes_at(uint32_t ranks);
  static uint64_t mailboxes_at(uint32_t ranks);

  const uint32_t ranks_, rank_;
  device::SharedSegment memory_;
};

}  // namespace jitc::software
