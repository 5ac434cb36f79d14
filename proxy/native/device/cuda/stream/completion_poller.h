// Progress of the GPU: marks on streams, and the one thread that polls them.
//
// A mark is a value that a stream writes into its word (pinned host memory) when it reaches the mark; values
// increase, as in a timeline semaphore. The thread reads the words, delivers due results and reports
// progress. Promise: progress of some work is reported after the results of all work ordered before it, on
// any stream. The thread calls the driver only through Watcher::look, so that a blocking driver does not stop
// it, and sleeps while nothing is outstanding.
//
// Called by: Device, with its mutex held, except for functions that say otherwise.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "device/aspects.h"
#include "device/progress_doorbell.h"
#include "stream_timeline.h"

namespace jitc::cuda {

/// Receiver of the poller's findings. Called from its thread.
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// Asks the driver whether the device still works; called now and then while work is outstanding.
  virtual void look() = 0;
  /// Reports that the op has been the oldest outstanding one for longer than work may take.
  virtual void hung(uint64_t sequence, bool collective) = 0;
};

class CompletionPoller {
 public:
  using Pointer = std::shared_ptr<StreamTimeline>;
  static constexpr uint32_t kMarkEvery = 32;

  CompletionPoller(std::shared_ptr<Context> context, ExecutionSink& sink, Watcher& watcher,
                   double hang_seconds);
  ~CompletionPoller();
  CompletionPoller(const CompletionPoller&) = delete;
  CompletionPoller& operator=(const CompletionPoller&) = delete;
  Pointer timeline(uint64_t handle, abi::CUstream real);

  /// Marks every op, so that a failing one is known exactly, if careful; else one in kMarkEvery.
  void be_careful(bool careful) { mark_every_ = careful ? 1 : kMarkEvery; }
  /// Notes that the op is on the timeline's stream. Marks when one is due. Throws OpError.
  void given(const Pointer& timeline, const ops::OpHeader& op);
  /// Notes that the op was done without the stream, after all earlier work of the stream.
  void note(const Pointer& timeline, uint64_t sequence);
  /// Marks the timeline unless all of it is marked. Returns the value of its newest mark. Throws OpError.
  uint64_t mark(const Pointer& timeline);
  /// Delivers the completion when all work so far on the timeline has run; at once if it has. Throws OpError.
  void after(const Pointer& timeline, Completion completion) {
    after(timeline, mark(timeline), std::move(completion));
  }
  void after(const Pointer& timeline, uint64_t value, Completion completion);
  /// Keeps the memory until all work so far on the timeline has run. Does not mark.
  void keep(const Pointer& timeline, Pinned memory);
  bool idle(const StreamTimeline& timeline) const;
  bool reached(const StreamTimeline& timeline, uint64_t value) const;

  /// Returns the oldest marked op that may not have run yet, if any. Any thread.
  std::optional<UnderWay> under_way() const;
  /// Returns the same for one timeline's unmarked ops.
  uint64_t oldest_unmarked(const StreamTimeline& timeline) const {
    return timeline.unmarked_ ? timeline.first_ : UINT64_MAX;
  }

  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  /// Waits until nothing is outstanding on any timeline; false when waits are given up, or the time is over.
  /// Requires that the mutex is not held.
  bool wait_all(Deadline end = {});
  bool is_open() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }
  /// Waits until some timeline makes progress; false when waits are given up or nothing is outstanding.
  bool wait_some();
  /// Ends waits and deliveries (one in progress may still end). Any thread.
  void close();
  /// Resets a closed poller of an idle device: then no delivery is in progress and nothing is outstanding.
  void reset();
  /// Drops the timeline's unreported work, after reset().
  void forget(StreamTimeline& timeline);
  void open();

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  void loop();
  void look();
  bool deliver(Lock& lock);
  void hand_out(std::vector<Delivery>& deliveries);
  void nap(Lock& lock, uint32_t rounds);
  void look_after(Lock& lock);
  void check_hang(Lock& lock);
  void list(const Pointer& timeline);

  ExecutionSink& sink_;
  ProgressDoorbell& doorbell_;
  Watcher& watcher_;
  const double hang_seconds_;
  const std::shared_ptr<Context> context_;
  const std::shared_ptr<Words> words_;
  uint32_t mark_every_ = kMarkEvery;
  mutable std::mutex mutex_;
  std::condition_variable work_;     // for the thread
  std::condition_variable changed_;  // for those who wait
  std::vector<Pointer> busy_;        // timelines with marks that are outstanding
  size_t results_due_ = 0, waiters_ = 0;
  uint64_t deliveries_ = 0;
  bool open_ = true, stop_ = false, delivering_ = false;
  Clock::time_point looked_{}, oldest_since_{};
  const StreamTimeline* oldest_ = nullptr;
  uint64_t oldest_value_ = 0;
  std::thread thread_;
};

}  // namespace jitc::cuda
