// Events: records, and the waits for them.
//
// Promises: a wait refers to the latest record at its submission, as in CUDA; destroying an event leaves its
// pending records alone. Called by: Device (creates), stream threads (finish).
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace jitc::software {

/// One cudaEventRecord. Completed once, for good.
class Record {
 public:
  using Clock = std::chrono::steady_clock;
  bool done() const { return done_.load(); }
  Clock::time_point time() const { return time_; }  // when done
  /// Marks it as done; returns the sequences of the event_synchronize ops that waited for it.
  std::vector<uint64_t> finish(Clock::time_point time = Clock::now()) {
    const std::lock_guard lock(mutex_);
    time_ = time;
    done_.store(true);
    return std::move(waiting_);
  }
  /// Adds a waiting op; false when the record is done already.
  bool notify(uint64_t sequence) {
    const std::lock_guard lock(mutex_);
    if (done_.load()) return false;
    waiting_.push_back(sequence);
    return true;
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> done_{false};
  Clock::time_point time_{};
  std::vector<uint64_t> waiting_;
};

struct Event {
  static constexpr uint64_t kDisableTiming = 2;  // cudaEventDisableTiming
  uint64_t flags = 0;
  std::shared_ptr<Record> latest;  // null: never recorded
};

}  // namespace jitc::software
