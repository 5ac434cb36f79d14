// One stream of the software device: a FIFO queue, run by the device's crew.
//
// Promises: tasks run one at a time in the order given; push never waits for a task; a stream without a task
// that can start has no thread; progress is reported whenever the stream runs empty and at least every 64
// tasks. Called by: Streams, Issuer. What a task does is the business of its op's handler.
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

/// How many tasks of a stream are over. Outlives the stream for those who wait for it.
using Counter = std::atomic<uint64_t>;

/// Legacy ordering: the task starts after that many tasks of another stream.
struct After {
  std::shared_ptr<const Counter> finished;
  uint64_t tickets;
};

struct Task {
  const ops::OpHeader* op = nullptr;
  std::function<void()> work;  // none: the task only waits. Two pointers at most: then nothing is allocated
  std::vector<After> after;    // what must be over before it starts
  std::shared_ptr<Record> awaited;   // the same
  std::shared_ptr<Record> recorded;  // finished by its work; also when it is dropped
};

/// What a stream needs of its device. Called from the stream's thread.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual bool running() const = 0;
  /// Whether nothing that the task has to come after is still to be done; any thread.
  virtual bool may_start(const Task& task) const = 0;
  /// Whether a task may run in the thread that gives it; else it must have its place in the queue first.
  virtual bool runs_at_once() const { return true; }
  virtual void run(const Task& task) = 0;   // never throws
  virtual void drop(const Task& task) = 0;  // instead of run, after a fence or fault
  virtual void report(uint64_t stream, uint64_t sequence) = 0;
  /// A task is over (ran or dropped) and its stream's counter says so.
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
  /// Runs the task in the calling thread, when nothing is before it. False: it is to be pushed.
  bool try_run(const Task& task);
  /// The op was done outside of the queue, after everything in it was given.
  void note(uint64_t sequence);
  /// While it has nothing to do, after a roll-back.
  void forget_notes();
  uint64_t handle() const { return handle_; }
  uint32_t flags() const { return flags_; }
  bool blocking() const { return (flags_ & kNonBlocking) == 0; }
  uint64_t given() const { return given_; }  // only for the thread that pushes
  bool idle() const { return given_ == finished_->load(); }
  After after_all() const { return {finished_, given_}; }
  /// What runs now; any thread.
  std::optional<HangWatch::Running> running() const {
    const uint64_t packed = running_.load(std::memory_order_relaxed);
    if (!packed) return std::nullopt;
    return HangWatch::Running{packed >> 2, (packed & kCollective) != 0, part_.load(std::memory_order_relaxed),
                              (packed & kEntered) != 0};
  }
  /// From the task that runs: it goes on with this op, one of several that it consists of.
  void now_runs(const ops::OpHeader& op);
  // The same, for those who do not know their stream: of the task that the calling thread runs.
  /// A collective has given this rank's part.
  static void note_entered();
  /// It has got on, though it is not over.
  static void note_progress();

  // How far the legacy default stream has looked at this one and the other way around: notes of Streams.
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
  std::atomic<uint64_t> running_{0};  // sequence of the op that runs, and what is to be said of it
  std::atomic<uint64_t> part_{0};     // of the task that runs
  // Of the thread that runs the stream; nobody changes them while it is aside.
  std::vector<Task> batch_;
  size_t at_ = 0;
  uint64_t unreported_ = 0;  // the last task that is done, where nobody has been told
};

}  // namespace jitc::software
