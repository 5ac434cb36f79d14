// One stream of the software device: a FIFO queue with a thread of its own.
//
// Promises: tasks run one at a time in the order given; push never waits for a task; the thread exists only
// from the first task on; progress is reported whenever the stream runs dry and at least every 64 tasks.
// Called by: Device. What a task does is the runner's business.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "event.h"
#include "hang_watch.h"
#include "jitc/generated_ops.h"

namespace jitc::software {

class Stream;
class Group;

/// Result of a device_synchronize: given by whichever stream gets there last.
struct Join {
  std::atomic<size_t> remaining;
};

/// How many tasks of a stream are over. Outlives the stream for those who wait for it.
using Counter = std::atomic<uint64_t>;

/// Legacy ordering: the task starts after that many tasks of another stream.
struct After {
  std::shared_ptr<const Counter> finished;
  uint64_t tickets;
};

struct Task {
  const ops::OpHeader* op = nullptr;
  std::vector<After> after;
  std::shared_ptr<Record> record;  // event_record: to finish; event_wait: to wait for
  std::shared_ptr<Join> join;
  std::shared_ptr<Group> group;  // collective
};

/// What a stream needs of its device. Called from the stream's thread.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual bool running() const = 0;
  virtual void run(const Task& task) = 0;   // never throws
  virtual void drop(const Task& task) = 0;  // instead of run, after a fence or fault
  virtual void report(uint64_t stream, uint64_t sequence) = 0;
  /// A task is over (ran or dropped) and its stream's counter says so.
  virtual void over() = 0;
};

class Stream {
 public:
  static constexpr uint32_t kNonBlocking = 1;  // cudaStreamNonBlocking

  Stream(uint64_t handle, uint32_t flags, Runner& runner) : handle_(handle), flags_(flags), runner_(runner) {}
  ~Stream();  // waits for the queued tasks
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void push(Task task);
  /// The op was done outside of the queue, after everything in it was given.
  void note(uint64_t sequence);
  uint64_t handle() const { return handle_; }
  uint32_t flags() const { return flags_; }
  bool blocking() const { return (flags_ & kNonBlocking) == 0; }
  uint64_t given() const { return given_; }  // only for the thread that pushes
  bool dry() const { return given_ == finished_->load(); }
  After after_all() const { return {finished_, given_}; }
  /// What runs now, waiting included; any thread.
  std::optional<HangWatch::Running> running() const {
    const uint64_t packed = running_.load(std::memory_order_relaxed);
    if (!packed) return std::nullopt;
    return HangWatch::Running{packed >> 1, (packed & 1) != 0};
  }

  // How far the legacy default stream has looked at this one and the other way around: Device's notes.
  uint64_t legacy_seen = 0, seen_by_legacy = 0;

 private:
  void loop();
  bool take(std::vector<Task>& batch);
  void run_batch(const std::vector<Task>& batch);
  void finish_batch(uint64_t sequence);

  const uint64_t handle_;
  const uint32_t flags_;
  Runner& runner_;
  uint64_t given_ = 0;
  const std::shared_ptr<Counter> finished_ = std::make_shared<Counter>(0);
  std::atomic<bool> available_{false};
  std::mutex mutex_;
  std::condition_variable condition_;
  std::vector<Task> queue_;
  bool asleep_ = false, busy_ = false, closing_ = false;
  uint64_t noted_ = 0;
  std::atomic<uint64_t> running_{0};  // sequence of the task that runs, shifted; bit 0: a collective
  std::thread thread_;
};

}  // namespace jitc::software
