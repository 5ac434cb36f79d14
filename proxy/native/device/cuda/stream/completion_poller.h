// How far the GPU has got: marks on streams, and the one thread that looks at them.
//
// A mark is a value that a stream writes into its word (pinned host memory) when it gets there, each one
// greater than the one before: a timeline semaphore's value. The thread reads the words, gives the results
// that are due and reports progress. Promise: progress of some work is reported after the results of all
// that the work came after, on any stream. The thread calls the driver only through Watcher::look, so that a
// driver that blocks does not stop it, and sleeps while nothing is outstanding.
//
// Called by: Device, with its mutex held, but for the functions that say otherwise.
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

/// Who is told what the poller finds. Called from its thread.
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// Now and then while work is outstanding: asks the driver whether the device still works.
  virtual void look() = 0;
  /// The op has been the oldest one outstanding for longer than work may take.
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

  /// Careful: every op is marked, so that one that fails is known exactly. Else one in kMarkEvery.
  void be_careful(bool careful) { mark_every_ = careful ? 1 : kMarkEvery; }
  /// The op was put on the timeline's stream. Marks when it is time to. Throws OpError.
  void given(const Pointer& timeline, const ops::OpHeader& op);
  /// The op is done without the stream, after everything that the stream was given.
  void note(const Pointer& timeline, uint64_t sequence);
  /// Marks the timeline unless nothing is unmarked. Returns the value of its newest mark. Throws OpError.
  uint64_t mark(const Pointer& timeline);
  /// When everything that the timeline was given so far has run; at once when it has. Throws OpError.
  void after(const Pointer& timeline, Completion completion) {
    after(timeline, mark(timeline), std::move(completion));
  }
  void after(const Pointer& timeline, uint64_t value, Completion completion);
  /// Keeps the memory until everything that the timeline was given so far has run. Does not mark.
  void keep(const Pointer& timeline, Pinned memory);
  bool idle(const StreamTimeline& timeline) const;
  bool reached(const StreamTimeline& timeline, uint64_t value) const;

  /// The oldest op that may not have run yet, of those that are marked; if any. Any thread.
  std::optional<UnderWay> under_way() const;
  /// The same of one timeline, of those that are not.
  uint64_t oldest_unmarked(const StreamTimeline& timeline) const {
    return timeline.unmarked_ ? timeline.first_ : UINT64_MAX;
  }

  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  /// Waits until nothing is outstanding on any timeline; false when waits are given up, or the time is over.
  /// Without the mutex.
  bool wait_all(Deadline end = {});
  bool is_open() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }
  /// Waits until some timeline has got on; false when waits are given up or nothing is outstanding.
  bool wait_some();
  /// Waits are over and nothing more is delivered (a delivery under way may still end). Any thread.
  void close();
  /// After close(), the device at rest: when it returns no delivery is under way and nothing is outstanding.
  void reset();
  /// After reset(): what the timeline was given and nobody was told of is forgotten.
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
