// Where the ranks of one communicator find each other before NCCL can: a file of shared memory that the node
// service hands out, fresh in every recovery epoch.
//
// It carries: who is there, who wants the communicator now, NCCL's unique id, and the colors of splits.
// A rank that comes is there under a token of its own. Rank 0 publishes an id for exactly one set of tokens,
// so that an attempt that was given up (a fence between two runs of one epoch) cannot be mixed with the next.
// Promises: a rank writes only its own slot (rank 0 also whom an id is for); nothing waits but sleep(). Words
// are sequentially consistent: this is no hot path, and the order of what is published is what makes it
// right. Called by: Communicator, PeerEndpoint.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/common/shared_segment.h"
#include "device/common/split.h"
#include "nccl.h"

namespace jitc::cuda {

using device::SplitPost;

class NcclBootstrap {
 public:
  /// Of the file.
  static uint64_t bytes(uint32_t ranks) { return device::SharedSegment::size_for(content(ranks)); }
  /// Never the same twice, also not in another worker.
  static uint64_t fresh_token();

  NcclBootstrap(uint32_t ranks, uint32_t rank) : ranks_(ranks), rank_(rank) {}
  /// Maps the file, or private memory when path is empty; false with the reason.
  bool map(const std::string& path, uint64_t size, std::string& error);
  /// The segment of a communicator. Throws OpError, Abandoned: device/common/shared_segment.h.
  void join(CommunicatorSegments& segments, const Resources::Communicator& communicator) {
    memory_.join(segments, communicator, content(ranks_));
  }
  /// Throws OpError when a rank will do nothing here any more, as the service says.
  void refuse_absent() const;

  /// This rank is there, as token (not 0).
  void arrive(uint64_t token);
  /// It is not, unless it came again under another token.
  void leave(uint64_t token);
  /// It will not come (any more), whatever the others do: for a bootstrap that nobody joins twice.
  void refuse() { arrive(kRefused); }
  /// A rank has refused.
  bool refused() const;
  /// Tokens of all ranks, or nothing while one is missing.
  std::optional<std::vector<uint64_t>> present() const;
  /// Some rank needs the communicator: all make it.
  void want();
  bool wanted() const;

  /// Rank 0: the id is for the ranks with these tokens.
  void publish(const NcclUniqueId& id, const std::vector<uint64_t>& tokens);
  /// The newest id when it is for this rank's token; tokens: of all whom it is for. False: not there yet.
  bool read(uint64_t token, NcclUniqueId& id, std::vector<uint64_t>& tokens) const;

  /// Splits go in rounds. The same op (by sequence) twice is one round.
  uint64_t post(const SplitPost& post);
  /// Ranks that have not posted in this round.
  std::vector<uint32_t> missing(uint64_t round) const;
  SplitPost post_of(uint32_t rank, uint64_t round) const;

  uint32_t doorbell() const { return slot(rank_).doorbell.rung(); }
  void ring(uint32_t rank) const { slot(rank).doorbell.ring(); }
  void ring_own() const { ring(rank_); }
  void ring_all() const;
  /// Sleeps until own doorbell is no longer at seen, or for the time.
  void sleep(uint32_t seen, int64_t microseconds) const { slot(rank_).doorbell.sleep(seen, microseconds); }

 private:
  static uint64_t content(uint32_t ranks);

  static constexpr uint64_t kNobody = 0, kRefused = 1;
  struct Box {
    std::atomic<uint64_t> color_and_key, sequence;
  };
  struct alignas(64) RankSlot {
    device::Doorbell doorbell;
    std::atomic<uint64_t> token;          // 0: not there
    std::atomic<uint64_t> round;          // splits posted
    std::atomic<uint64_t> published_for;  // written by rank 0
    Box boxes[2];                         // of the even and the odd round
  };
  struct alignas(64) Head {
    std::atomic<uint64_t> magic;
    std::atomic<uint64_t> edition;  // odd: being written
    std::atomic<uint64_t> wanted;
    std::array<std::atomic<uint64_t>, sizeof(NcclUniqueId) / 8> id;
  };

  Head& head() const { return *reinterpret_cast<Head*>(memory_.data()); }
  RankSlot& slot(uint32_t rank) const {
    return reinterpret_cast<RankSlot*>(memory_.data() + sizeof(Head))[rank];
  }

  const uint32_t ranks_, rank_;
  device::SharedSegment memory_;
};

}  // namespace jitc::cuda
