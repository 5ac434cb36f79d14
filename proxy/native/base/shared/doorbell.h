// Doorbell in memory that processes share, one per sleeper, which others ring on an event for it.
//
// Promises: data written before ringing is visible to the thread that wakes (words are sequentially
// consistent); ringing costs no system call while no thread sleeps. Called by: segments of communicators, the
// job's part of the board.
#pragma once
#include <atomic>
#include <cstdint>

namespace jitc {

class Doorbell {
 public:
  /// Returns the number of rings; read it before looking for events.
  uint32_t rung() const { return rung_.load(); }
  void ring();
  /// Sleeps until the count differs from `seen`, or for the time.
  void sleep(uint32_t seen, int64_t microseconds);

 private:
  std::atomic<uint32_t> rung_, sleepers_;
};
static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

}  // namespace jitc
