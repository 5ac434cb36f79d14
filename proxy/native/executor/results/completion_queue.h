// The queue of completions to the client: results and faults at once, acks and progress coalesced.
//
// Called by: Session (puts), the op stream (take), tests (poll). Promises: a result is sent before any
// progress that was made after it; only the newest ack, and the newest progress per stream, is kept; these
// alone are sent at most once per kLazy; progress is noted by its owner before it is reported. Results that
// are in the journal are read there when it is their turn; here they only wait in line.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "jitc/completion.h"
#include "results.h"

namespace jitc {

/// Progress of a stream.
struct StreamProgress {
  uint64_t stream, sequence;
};

/// The sender of the queue's content: an op stream. Never called under the queue's mutex, except for soon().
class CompletionSender {
 public:
  virtual ~CompletionSender() = default;
  /// Sends in this thread: calls take().
  virtual void now() = 0;
  /// Sends in another thread, after that time at most. Takes no lock.
  virtual void soon(std::chrono::nanoseconds time) = 0;
};

class CompletionQueue {
 public:
  using Bytes = std::span<const std::byte>;
  /// Called right before the client may receive progress, with this object's mutex held.
  using Note = std::function<void(std::span<const StreamProgress>)>;
  static constexpr std::chrono::milliseconds kLazy{1};
  static constexpr int64_t kDetached = -2;
  /// Longest payload that fits into one message.
  static constexpr size_t kMaximumPayload = (4u << 20) - 4096;

  explicit CompletionQueue(ResultReader read = {}, Note note = {})
      : read_(std::move(read)), note_(std::move(note)) {}
  /// Attaches a sender (none: poll() is used) with nothing to send. Returns false if one is attached.
  bool attach(std::shared_ptr<CompletionSender> sender = nullptr);
  void detach();
  bool attached() const;

  void completion(CompletionKind kind, uint32_t status, uint64_t sequence, Bytes payload = {});
  /// Queues a result; the caller calls send() after it has released its locks.
  void result(uint32_t status, uint64_t sequence, ResultBytes bytes);
  void send();
  /// Returns the bytes of results not sent since the last attach. Counted also while no client is attached.
  uint64_t unsent() const { return unsent_.load(); }
  /// Copies queued results from the journal, which is about to forget them.
  void take_in();
  void progress(uint64_t stream, uint64_t sequence);
  void ack(uint64_t sequence, bool at_once = false);

  /// Takes one CompletionBatch message. Returns 0 if nothing is due, kDetached, or -1: capacity is too small.
  int64_t take(std::span<std::byte> out);
  /// Takes a message after waiting for it.
  int64_t poll(std::span<std::byte> out, int timeout_ms);

 private:
  struct Entry {
    CompletionKind kind;
    uint32_t status;
    uint64_t sequence;
    ResultBytes bytes;
  };
  using Clock = std::chrono::steady_clock;
  bool lazy_pending() const { return ack_ > ack_sent_ || !progress_.empty(); }
  bool due(Clock::time_point now) const {
    return !urgent_.empty() || at_once_ || (lazy_pending() && now >= last_sent_ + kLazy);
  }
  void put(Entry entry);
  bool write_first(std::vector<std::byte>& records, size_t room);
  int64_t compose(std::span<std::byte> out);
  void report_progress(std::vector<std::byte>& records, size_t room);
  void wake_lazily();

  const ResultReader read_;
  const Note note_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::shared_ptr<CompletionSender> sender_;
  bool attached_ = false, waiting_without_end_ = false, at_once_ = false;
  std::deque<Entry> urgent_;
  std::atomic<uint64_t> unsent_{0};  // bytes of the results in it
  std::map<uint64_t, uint64_t> progress_;
  uint64_t ack_ = 0, ack_sent_ = 0;
  Clock::time_point last_sent_{};
};

}  // namespace jitc
