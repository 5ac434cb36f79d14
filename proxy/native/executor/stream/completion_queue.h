// Completions on their way to the client: results and faults at once, acks and progress coalesced.
//
// Called by: Session (puts), the stream's thread (poll). Promises: a result is out before any progress that
// was made after it, and after all that was made before it, so that a program which has waited for an op
// finds done what the op came after; otherwise only the newest ack, and the newest progress per stream, is
// kept; these alone wake the poller at most once per kLazy; progress is noted by its owner before it is
// reported. Results that are in the journal are read there when it is their turn; here they only wait in
// line.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "jitc/completion.h"
#include "results.h"

namespace jitc {

/// How far a stream has got.
struct StreamProgress {
  uint64_t stream, sequence;
};

class CompletionQueue {
 public:
  using Bytes = std::span<const std::byte>;
  /// Called right before the client may hear of it, with this object's mutex held.
  using Note = std::function<void(std::span<const StreamProgress>)>;
  static constexpr std::chrono::milliseconds kLazy{1};
  static constexpr int64_t kDetached = -2;
  /// Longest payload that fits into one message.
  static constexpr size_t kMaximumPayload = (4u << 20) - 4096;

  explicit CompletionQueue(ResultReader read = {}, Note note = {})
      : read_(std::move(read)), note_(std::move(note)) {}
  /// False when a stream is attached already. Starts with nothing to send.
  bool attach();
  void detach();
  bool attached() const;

  void completion(CompletionKind kind, uint32_t status, uint64_t sequence, Bytes payload = {});
  void result(uint32_t status, uint64_t sequence, ResultBytes bytes);
  /// Bytes of results that have not been sent, since the last attach. Counted also while nobody is attached.
  uint64_t unsent() const { return unsent_.load(); }
  /// The journal is about to forget results: those that wait in line are kept here from now on.
  void take_in();
  void progress(uint64_t stream, uint64_t sequence);
  void ack(uint64_t sequence, bool at_once = false);

  /// One CompletionBatch message; 0 after the time without one, kDetached, or -1: capacity is too small.
  int64_t poll(std::span<std::byte> out, int timeout_ms);

 private:
  struct Entry {
    CompletionKind kind;
    uint32_t status;
    uint64_t sequence;
    ResultBytes bytes;
    uint64_t stream = 0;  // of progress
  };
  bool lazy_pending() const { return ack_ > ack_sent_ || !progress_.empty(); }
  void put(Entry entry);
  bool write_first(std::vector<std::byte>& records, size_t room);
  int64_t compose(std::span<std::byte> out);
  void line_up_progress();
  void wake_lazily();

  const ResultReader read_;
  const Note note_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool attached_ = false, waiting_without_end_ = false, at_once_ = false;
  std::deque<Entry> line_;                 // what is sent in this order
  std::atomic<uint64_t> unsent_{0};        // bytes of the results in it
  std::map<uint64_t, uint64_t> progress_;  // made since the newest result
  std::vector<StreamProgress> reported_;   // in the message that is being composed
  uint64_t ack_ = 0, ack_sent_ = 0;
  std::chrono::steady_clock::time_point last_sent_{};
};

}  // namespace jitc
