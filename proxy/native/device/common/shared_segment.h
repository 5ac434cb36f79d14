// Memory in which the ranks of a communicator meet: a file that the node service hands out. Ranks, which are
// threads of different processes, wake each other through it.
//
// It begins with data exchanged by the service and the ranks (`SegmentHead`); the rest belongs to the device
// and starts as zeros. Promises: a rank that waits for another one learns within a tenth of a second that the
// other cannot come any more, or not be reached; the service sees when a rank has released the segment.
// Called by: NcclBootstrap (cuda), Segment (software), mirrors of segments (mirror/); mark_segment,
// mark_absent, mark_cut and ranks_left by the service, through the C interface.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/shared/doorbell.h"
#include "device/services.h"

namespace jitc::device {

/// Head of the segment. The node service writes it, except for `left`; of ranks on other nodes the bridge
/// does.
struct SegmentHead {
  static constexpr uint32_t kMostRanks = 1024;
  /// Notes that the rank is no longer active here.
  void leave(uint32_t rank, const std::string& why);
  /// Notes that ranks of other nodes cannot be reached any more. One caller at a time.
  void cut_off(const std::string& why);

  std::atomic<uint64_t> identity;                             // given to each rank that joins, with the file
  std::array<std::atomic<uint64_t>, kMostRanks / 64> absent;  // a bit per rank: it is no longer active here
  std::array<char, 1024> reason;  // of the first rank that is absent, zero-terminated; there before the bit
  // Times each rank has released the segment; the service knows how often the rank received it. For a worker
  // that is killed, or older than this field, it stays 0: then a recovery, or the session's end, frees the
  // segment.
  std::array<std::atomic<uint16_t>, kMostRanks> left;
  std::atomic<uint32_t> bridged;     // 1: some ranks are on other nodes, and a bridge stands in for them
  std::atomic<uint32_t> cut;         // 1: these cannot be reached any more
  std::array<char, 256> cut_reason;  // zero-terminated; there before `cut`
};

class SharedSegment {
 public:
  SharedSegment() = default;
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  /// Returns the size of a file with so many bytes for the device.
  static constexpr uint64_t size_for(uint64_t bytes) { return kHead + bytes; }
  /// Maps the file with so many bytes for the device, or private memory if it is null; announced: the file's
  /// content as reported. False with the reason.
  bool map(const OpenFile* file, uint64_t announced, uint64_t bytes, std::string& error);
  /// Opens the file first.
  bool map(const std::string& path, uint64_t announced, uint64_t bytes, std::string& error);
  /// Requests the communicator's segment from the node service and maps it; for a single rank it is private
  /// memory. Throws OpError if refused, or if it is missing twice although the service announced it;
  /// Abandoned if a recovery began meanwhile.
  void join(CommunicatorSegments& segments, const Resources::Communicator& communicator, uint64_t bytes);

  std::byte* data() const { return memory_ + kHead; }
  /// True if the rank is no longer active here: what it has not done will not be done.
  bool absent(uint32_t rank) const {
    return rank < SegmentHead::kMostRanks && head().absent[rank / 64].load() >> rank % 64 & 1;
  }
  /// Throws the OpError of a wait for an absent rank, with the service's reason.
  [[noreturn]] void refuse_absent() const;
  /// Throws OpError (a fault) if ranks of other nodes cannot be reached.
  void require_link() const;
  /// Wakes the bridge for ranks of other nodes, after their doorbells were rung.
  void ring_bridge() const {
    if (bridge_ && head().bridged.load() != 0) bridge_->ring();
  }
  SegmentHead& head() const { return *reinterpret_cast<SegmentHead*>(memory_); }

 private:
  static constexpr uint64_t kHead = 4096;
  static_assert(sizeof(SegmentHead) <= kHead);
  /// Maps what the service answered. False with the reason if the file is missing; throws as join does.
  bool take(const CommunicatorSegment& given, uint64_t bytes, std::string& error);
  void unmap();

  std::byte* memory_ = nullptr;
  uint64_t bytes_ = 0;
  int32_t rank_ = -1;  // this process's rank in the segment
  Doorbell* bridge_ = nullptr;
};

/// Gives the segment at the path its identity, before any rank joins. False with the reason.
bool mark_segment(const std::string& path, uint64_t identity, std::string& error);
/// Marks the rank as absent in the segment and wakes those that wait for it. False with the reason.
bool mark_absent(const std::string& path, uint32_t rank, const std::string& why, std::string& error);
/// Marks the ranks of other nodes as out of reach: collectives with them fail. False with the reason.
bool mark_cut(const std::string& path, const std::string& why, std::string& error);
/// Returns how often each rank has released the segment (SegmentHead::left). False with the reason.
bool ranks_left(const std::string& path, uint32_t ranks, uint16_t* counts, std::string& error);

}  // namespace jitc::device
