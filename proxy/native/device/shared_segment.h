// The memory in which the ranks of a communicator meet: a file that the node service hands out, and how the
// ranks, which are threads of different processes, wake each other in it.
//
// What lies in it is the device's own matter; it starts as zeros. Called by: Meeting (cuda), Segment
// (software).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace jitc::device {

static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

/// In shared memory, one per rank: rung by the others when something happened for it. Words are sequentially
/// consistent, so that what was written before ringing is there for whoever wakes.
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

class SharedSegment {
 public:
  SharedSegment() = default;
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;
  /// Maps so many bytes of the file, or private memory when path is empty; announced: what the file is said
  /// to hold. False with the reason.
  bool map(const std::string& path, uint64_t announced, uint64_t bytes, std::string& error);
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace jitc::device
