// Ops whose answer a receiver of the program still waits for, such as a copy to pinned memory that runs
// beside the program.
//
// A thread that learns that such an op is done must find its bytes, so they are due until their receiver has
// returned. Promise: any thread, with any other lock held; no call waits. Called by: SessionClient.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>

namespace jitc::session {

class BytesDue {
 public:
  void add(uint64_t sequence, uint64_t stream) {
    const std::lock_guard lock(mutex_);
    streams_.emplace(sequence, stream);
  }
  void given(uint64_t sequence) {
    const std::lock_guard lock(mutex_);
    streams_.erase(sequence);
  }
  /// Returns whether an op of the stream up to this one is due.
  bool any(uint64_t stream, uint64_t sequence) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(streams_.begin(), streams_.upper_bound(sequence),
                       [&](const auto& due) { return due.second == stream; });
  }
  /// Returns the newest op before all due ones.
  uint64_t before() const {
    const std::lock_guard lock(mutex_);
    return streams_.empty() ? UINT64_MAX : streams_.begin()->first - 1;
  }

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> streams_;  // by sequence
};

}  // namespace jitc::session
