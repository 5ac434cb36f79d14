// Stream of the software device: a FIFO queue, run by the device's crew.
//
// Promises: tasks run one at a time in the order given; push never waits for a task; a stream without a task
// that can start has no thread; progress is reported whenever the stream runs empty and at least every 64
// tasks. Called by: Streams, Issuer. The op's handler defines the content of a task.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "crew.h"
#include "event.h"
#include "hang_watch.h"
#include "jitc/generated_ops.h"

namespace jitc::software {

/// Number of completed tasks of a stream. Outlives the stream for those who wait for it.
using Counter = std::atomic<uint64_t>;

/// Legacy ordering: the task starts after that many tasks of another stream.
struct After {
  std::shared_ptr<const Counter> finished;
  uint64_t tickets;
};

struct Task {
  const ops::OpHeader* op = nullptr;
  std::function<void()> work;  // none: the task only waits. Two pointers at most: then nothing is allocated
  std::vector<After> after;    // must be over before it starts
  std::shared_ptr<Record> awaited;   // the same
  std::shared_ptr<Record> recorded;  // finished by its work; also when it is dropped
};

/// Device functions for a stream. Called from the stream's thread.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual bool running() const = 0;
  /// Returns whether all work that the task depends on is done; any thread.
  virtual bool may_start(const Task& task) const = 0;
  /// Returns whether a task may run in the submitting thread; else it must be queued first.
  virtual bool runs_at_once() const { return true; }
  virtual void run(const Task& task) = 0;   // never throws
  virtual void drop(const Task& task) = 0;  // instead of run, after a fence or fault
  virtual void report(uint64_t stream, uint64_t sequence) = 0;
  /// Notes that a task is over (ran or dropped) and its stream's counter includes it.
  virtual void over() = 0;
};

class Stream final : public Crew::Work, public std::enable_shared_from_this<Stream> {
 public:
  static constexpr uint32_t kNonBlocking = 1;  // cudaStreamNonBlocking

  Stream(uint64_t handle, uint32_t flags, Runner& runner, Crew& crew)
      : handle_(handle), flags_(flags), runner_(runner), crew_(crew) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Crew::Work
  void run() override;
  bool can_start() const override { return runner_.may_start(batch_[at_]); }

  void push(Task task);
  /// Runs the task in the calling thread if nothing is before it. False: it must be pushed.
  bool try_run(const Task& task);
  /// Notes that the op was done outside of the queue, after everything queued.
  void note(uint64_t sequence);
  /// Forgets the notes after a roll-back. Requires an idle stream.
  void forget_notes();
  uint64_t handle() const { return handle_; }
  uint32_t flags() const { return flags_; }
  bool blocking() const { return (flags_ & kNonBlocking) == 0; }
  uint64_t given() const { return given_; }  // only for the thread that pushes
  bool idle() const { return given_ == finished_->load(); }
  After after_all() const { return {finished_, given_}; }
  /// Returns the running op; any thread.
  std::optional<HangWatch::Running> running() const {
    const uint64_t packed = running_.load(std::memory_order_relaxed);
    if (!packed) return std::nullopt;
    return HangWatch::Running{packed >> 2, (packed & kCollective) != 0, part_.load(std::memory_order_relaxed),
                              (packed & kEntered) != 0};
  }
  /// Notes that the running task continues with this op, one of its several.
  void now_runs(const ops::OpHeader& op);
  // Same for callers that do not know their stream: on the calling thread's task.
  /// Notes that a collective has contributed this rank's part.
  static void note_entered();
  /// Notes that the collective made progress and is not finished.
  static void note_progress();

  // Notes of Streams: how far the legacy default stream has looked at this one and the other way around.
  uint64_t legacy_seen = 0, seen_by_legacy = 0;

 private:
  static constexpr uint64_t kCollective = 1, kEntered = 2;  // in running_, below the sequence
  bool take();
  void run_task(const Task& task, bool last);
  void finish_batch(uint64_t sequence);
  void report();

  const uint64_t handle_;
  const uint32_t flags_;
  Runner& runner_;
  Crew& crew_;
  uint64_t given_ = 0;
  const std::shared_ptr<Counter> finished_ = std::make_shared<Counter>(0);
  std::atomic<bool> available_{false};
  std::mutex mutex_;
  std::vector<Task> queue_;
  bool with_crew_ = false, busy_ = false;
  uint64_t noted_ = 0;
  std::atomic<uint64_t> running_{0};  // sequence of the running op, and its flags
  std::atomic<uint64_t> part_{0};     // of the running task
  // Used by the thread that runs the stream; constant while it is aside.
  std::vector<Task> batch_;
  size_t at_ = 0;
  uint64_t unreported_ = 0;  // the last completed task not reported yet
};

}  // namespace jitc::software
