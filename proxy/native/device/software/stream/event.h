// Events: what has been recorded, and who waits for it.
//
// Promises: a wait refers to the record that was the latest when the wait was given, as in CUDA; destroying
// an event leaves its pending records alone. Called by: Device (creates), stream threads (finish).
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace jitc::software {

/// One cudaEventRecord. Timed, then done; each once, for good. Between the two its stream's progress is
/// reported: who waited for it finds it reported, and who has heard of it finds the time.
class Record {
 public:
  using Clock = std::chrono::steady_clock;
  Record(uint64_t stream, uint64_t sequence) : stream(stream), sequence(sequence) {}
  bool timed() const { return timed_.load(); }
  Clock::time_point time() const { return time_; }
  /// By one thread, before anybody is told.
  void take_time() {
    if (timed()) return;
    time_ = Clock::now();
    timed_.store(true);
  }
  bool done() const { return done_.load(); }
  /// Marks it as done; returns the sequences of the event_synchronize ops that waited for it.
  std::vector<uint64_t> finish() {
    take_time();
    const std::lock_guard lock(mutex_);
    done_.store(true);
    return std::move(waiting_);
  }
  /// False when it is done already.
  bool notify(uint64_t sequence) {
    const std::lock_guard lock(mutex_);
    if (done_.load()) return false;
    waiting_.push_back(sequence);
    return true;
  }

  const uint64_t stream, sequence;  // of the op

 private:
  std::mutex mutex_;
  std::atomic<bool> timed_{false}, done_{false};
  Clock::time_point time_{};
  std::vector<uint64_t> waiting_;
};

struct Event {
  static constexpr uint64_t kDisableTiming = 2;  // cudaEventDisableTiming
  uint64_t flags = 0;
  std::shared_ptr<Record> latest;  // null: never recorded
};

}  // namespace jitc::software
