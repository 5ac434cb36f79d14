// The memory in which the ranks of a communicator meet: a file that the node service hands out, and how the
// ranks, which are threads of different processes, wake each other in it.
//
// It begins with what the service and the ranks say to each other (`SegmentHead`); what lies behind that is
// the device's own matter and starts as zeros. Promises: a rank that waits for another one finds out within a
// tenth of a second that the other one cannot come any more; once a rank has let go of the segment, the
// service can see that. Called by: NcclBootstrap (cuda), Segment (software); mark_segment, mark_absent and
// ranks_left by the service, through the C interface.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "device/services.h"

namespace jitc::device {

static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

/// In shared memory, one per rank: rung by the others when something happened for it. Words are sequentially
/// consistent, so that what was written before ringing is there for the thread that wakes.
class Doorbell {
 public:
  /// How often it was rung, to be read before looking for what has happened.
  uint32_t rung() const { return rung_.load(); }
  void ring();
  /// Until it is no longer at seen, or for the time.
  void sleep(uint32_t seen, int64_t microseconds);

 private:
  std::atomic<uint32_t> rung_, sleepers_;
};

/// Written by the node service, but for what the ranks have left.
struct SegmentHead {
  static constexpr uint32_t kMostRanks = 1024;
  std::atomic<uint64_t> identity;                             // given to each rank that joins, with the path
  std::array<std::atomic<uint64_t>, kMostRanks / 64> absent;  // a bit per rank: it does nothing here any more
  std::array<char, 1024> reason;  // of the first rank that is absent, zero-terminated; there before the bit
  // How often each rank has let go of the segment; the service knows how often it was given to it. Of a
  // worker that is killed, or older than this, it stays 0: then a recovery, or the session's end, frees the
  // segment.
  std::array<std::atomic<uint16_t>, kMostRanks> left;
};

class SharedSegment {
 public:
  SharedSegment() = default;
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  /// Of a file with so many bytes for the device.
  static constexpr uint64_t size_for(uint64_t bytes) { return kHead + bytes; }
  /// Maps the file with so many bytes for the device, or private memory when path is empty; announced: what
  /// the file is said to hold. False with the reason.
  bool map(const std::string& path, uint64_t announced, uint64_t bytes, std::string& error);
  /// Asks the node service for the communicator's segment and maps it; of one rank alone it is private
  /// memory. Throws OpError when that is refused, or not there although the service says so twice; Abandoned
  /// when a recovery has begun in between.
  void join(CommunicatorSegments& segments, const Resources::Communicator& communicator, uint64_t bytes);

  std::byte* data() const { return memory_ + kHead; }
  /// Whether the rank does nothing here any more: what it had not done before is not done.
  bool absent(uint32_t rank) const {
    return rank < SegmentHead::kMostRanks && head().absent[rank / 64].load() >> rank % 64 & 1;
  }
  /// Throws the OpError of a wait for a rank that is absent, with the reason as the service gave it.
  [[noreturn]] void refuse_absent() const;

 private:
  static constexpr uint64_t kHead = 4096;
  static_assert(sizeof(SegmentHead) <= kHead);
  SegmentHead& head() const { return *reinterpret_cast<SegmentHead*>(memory_); }
  /// Maps what the service has answered. False with the reason when that is not there; throws as join does.
  bool take(const CommunicatorSegment& given, uint64_t bytes, std::string& error);
  void unmap();

  std::byte* memory_ = nullptr;
  uint64_t bytes_ = 0;
  int32_t rank_ = -1;  // as which it was given to this process
};

/// Gives the segment at the path its identity, before anybody joins. False with the reason.
bool mark_segment(const std::string& path, uint64_t identity, std::string& error);
/// The rank does nothing in the segment any more; those who wait for it are told. False with the reason.
bool mark_absent(const std::string& path, uint32_t rank, const std::string& why, std::string& error);
/// How often each of so many ranks has let go of it (SegmentHead::left). False with the reason.
bool ranks_left(const std::string& path, uint32_t ranks, uint16_t* counts, std::string& error);

}  // namespace jitc::device
