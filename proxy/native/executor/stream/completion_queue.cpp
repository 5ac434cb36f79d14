#include "completion_queue.h"

#include <algorithm>
#include <cstring>

#include "executor/journal/wire.h"

namespace jitc {

bool CompletionQueue::attach() {
  const std::lock_guard lock(mutex_);
  if (attached_) return false;
  attached_ = true;
  line_.clear();
  unsent_ = 0;
  progress_.clear();
  ack_sent_ = 0;
  return true;
}

void CompletionQueue::detach() {
  const std::lock_guard lock(mutex_);
  attached_ = false;
  line_.clear();
  unsent_ = 0;
  progress_.clear();
  wake_.notify_all();
}

bool CompletionQueue::attached() const {
  const std::lock_guard lock(mutex_);
  return attached_;
}

void CompletionQueue::completion(CompletionKind kind, uint32_t status, uint64_t sequence, Bytes payload) {
  put({kind, status, sequence, {ResultBytes::kHere, payload.size(), {payload.begin(), payload.end()}}});
}

void CompletionQueue::result(uint32_t status, uint64_t sequence, ResultBytes bytes) {
  put({CompletionKind::result, status, sequence, std::move(bytes)});
}

void CompletionQueue::put(Entry entry) {
  const std::lock_guard lock(mutex_);
  if (entry.kind == CompletionKind::result) unsent_ += entry.bytes.size;
  if (!attached_) return;  // reported again at attach
  line_up_progress();
  line_.push_back(std::move(entry));
  wake_.notify_one();
}

void CompletionQueue::take_in() {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : line_) {
    ResultBytes& bytes = entry.bytes;
    if (bytes.position == ResultBytes::kHere) continue;
    const auto found = read_(bytes.position, bytes.size);
    bytes.here.assign(found.begin(), found.end());
    bytes.position = ResultBytes::kHere;
  }
}

void CompletionQueue::progress(uint64_t stream, uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (!attached_) return;
  uint64_t& newest = progress_[stream];
  newest = std::max(newest, sequence);
  wake_lazily();
}

void CompletionQueue::ack(uint64_t sequence, bool at_once) {
  const std::lock_guard lock(mutex_);
  ack_ = std::max(ack_, sequence);
  if (at_once) {
    at_once_ = true;
    wake_.notify_one();
  } else if (attached_) {
    wake_lazily();
  }
}

void CompletionQueue::wake_lazily() {
  if (waiting_without_end_) wake_.notify_one();
  waiting_without_end_ = false;
}

int64_t CompletionQueue::poll(std::span<std::byte> out, int timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(std::max(timeout_ms, 0));
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!attached_) return kDetached;
    const auto now = Clock::now();
    const auto due = last_sent_ + kLazy;
    if (!line_.empty() || at_once_ || (lazy_pending() && now >= due)) return compose(out);
    if (now >= end) return 0;
    waiting_without_end_ = !lazy_pending();
    wake_.wait_until(lock, waiting_without_end_ ? end : std::min(end, due));
    waiting_without_end_ = false;
  }
}

int64_t CompletionQueue::compose(std::span<std::byte> out) {
  constexpr size_t kSpare = 4096;  // for the ack and some progress beside the results
  if (out.size() < wire::kPrefix + kSpare) return -1;
  const size_t room = out.size() - wire::kPrefix;
  std::vector<std::byte> records;
  if (ack_ > ack_sent_ || at_once_) {
    wire::append_completion(records, CompletionKind::ack, 0, 0, ack_);
    ack_sent_ = ack_;
    at_once_ = false;
  }
  line_up_progress();
  while (!line_.empty() && write_first(records, room)) line_.pop_front();
  if (records.empty() && !line_.empty()) return -1;
  if (note_ && !reported_.empty()) note_(reported_);
  reported_.clear();
  last_sent_ = std::chrono::steady_clock::now();
  const size_t prefix = wire::write_prefix(out.data(), records.size());
  std::memcpy(out.data() + prefix, records.data(), records.size());
  return static_cast<int64_t>(prefix + records.size());
}

/// Its place is before what comes next.
void CompletionQueue::line_up_progress() {
  for (const auto& [stream, sequence] : progress_)
    line_.push_back({CompletionKind::progress, 0, sequence, {}, stream});
  progress_.clear();
}

/// False: it does not fit into what is left.
bool CompletionQueue::write_first(std::vector<std::byte>& records, size_t room) {
  const auto& [kind, status, sequence, bytes, stream] = line_.front();
  if (records.size() + wire::completion_size(bytes.size) > room) return false;
  const bool here = bytes.position == ResultBytes::kHere;
  wire::append_completion(records, kind, status, stream, sequence,
                          here ? Bytes(bytes.here) : read_(bytes.position, bytes.size));
  if (kind == CompletionKind::result) unsent_ -= bytes.size;
  if (kind == CompletionKind::progress) reported_.push_back({stream, sequence});
  return true;
}

}  // namespace jitc
