// Meeting place of a communicator's ranks before NCCL is available: a file of shared memory that the node
// service hands out, fresh in every recovery epoch.
//
// The file carries: the ranks present, the ranks that want the communicator now, NCCL's unique id, and the
// colors of splits. A rank arrives under a token of its own. Rank 0 publishes an id for exactly one set of
// tokens, so that an abandoned attempt (a fence between two runs of one epoch) cannot mix with the next.
// Promises: a rank writes only its own slot (rank 0 also the recipients of an id), and the bridge those of
// ranks on other nodes; only sleep() waits. Words are sequentially consistent: this is no hot path, and
// correctness depends on the order of publication. Called by: Communicator, PeerEndpoint, BootstrapMirror.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/common/shared_segment.h"
#include "device/common/split.h"
#include "nccl.h"

namespace jitc::cuda {

using device::SplitPost;

class NcclBootstrap {
 public:
  /// Returns the size of the file.
  static uint64_t bytes(uint32_t ranks) { return device::SharedSegment::size_for(content(ranks)); }
  /// Returns a token that is unique, also among workers.
  static uint64_t fresh_token();

  NcclBootstrap(uint32_t ranks, uint32_t rank) : ranks_(ranks), rank_(rank) {}
  /// Maps the file, or private memory when path is empty; false with the reason.
  bool map(const std::string& path, uint64_t size, std::string& error);
  /// Joins a communicator's segment. Throws OpError, Abandoned: device/common/shared_segment.h.
  void join(CommunicatorSegments& segments, const Resources::Communicator& communicator) {
    memory_.join(segments, communicator, content(ranks_));
  }
  /// Throws OpError if the service has marked a rank as absent.
  void refuse_absent() const;
  /// Throws OpError (a fault) if ranks of other nodes cannot be reached.
  void require_link() const { memory_.require_link(); }

  /// Announces this rank under the token (not 0).
  void arrive(uint64_t token);
  /// Withdraws this rank's token, unless the rank has arrived again with another one.
  void leave(uint64_t token);
  /// Refuses for good, independently of the others: for a bootstrap that no rank joins twice.
  void refuse() { arrive(kRefused); }
  /// Returns whether a rank has refused.
  bool refused() const;
  /// Returns the tokens of all ranks, or nothing while one is missing.
  std::optional<std::vector<uint64_t>> present() const;
  /// Requests the communicator: all ranks make it.
  void want();
  bool wanted() const;

  /// Publishes the id for the ranks with these tokens. Rank 0 only.
  void publish(const NcclUniqueId& id, const std::vector<uint64_t>& tokens);
  /// Reads the newest id if it is for this rank's token; tokens: of all its recipients. False: not there yet.
  bool read(uint64_t token, NcclUniqueId& id, std::vector<uint64_t>& tokens) const;

  /// Posts to a split. Splits run in rounds; the same op (by sequence) twice is one round.
  uint64_t post(const SplitPost& post);
  /// Returns the ranks that have not posted in this round.
  std::vector<uint32_t> missing(uint64_t round) const;
  SplitPost post_of(uint32_t rank, uint64_t round) const;

  uint32_t doorbell() const { return slot(rank_).doorbell.rung(); }
  void ring_own() const { slot(rank_).doorbell.ring(); }
  void ring_all() const;
  /// Sleeps until own doorbell differs from `seen`, or for the time.
  void sleep(uint32_t seen, int64_t microseconds) const { slot(rank_).doorbell.sleep(seen, microseconds); }

  // Layout, for a mirror of it (bootstrap_mirror.h).
  static constexpr uint64_t kNobody = 0, kRefused = 1;  // tokens
  struct Box {
    std::atomic<uint64_t> color_and_key, sequence;
  };
  struct alignas(64) RankSlot {
    Doorbell doorbell;
    std::atomic<uint64_t> token;          // kNobody: not present
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
  device::SegmentHead& segment_head() const { return memory_.head(); }
  Head& head() const { return *reinterpret_cast<Head*>(memory_.data()); }
  RankSlot& slot(uint32_t rank) const {
    return reinterpret_cast<RankSlot*>(memory_.data() + sizeof(Head))[rank];
  }
  /// Shows an id for these tokens, by rank.
  void show(uint64_t edition, const NcclUniqueId& id, std::span<const uint64_t> tokens) const;
  /// Returns the newest id with its edition and tokens. False: there is none, or it is being written.
  bool shown(uint64_t& edition, NcclUniqueId& id, std::vector<uint64_t>& tokens) const;

 private:
  static uint64_t content(uint32_t ranks);

  const uint32_t ranks_, rank_;
  device::SharedSegment memory_;
};

}  // namespace jitc::cuda
