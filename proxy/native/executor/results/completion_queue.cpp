#include "completion_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "executor/journal/wire.h"

namespace jitc {

bool CompletionQueue::attach(std::shared_ptr<CompletionSender> sender) {
  const std::lock_guard lock(mutex_);
  if (attached_) return false;
  attached_ = true;
  sender_ = std::move(sender);
  urgent_.clear();
  unsent_ = 0;
  progress_.clear();
  ack_sent_ = 0;
  return true;
}

void CompletionQueue::detach() {
  const std::lock_guard lock(mutex_);
  attached_ = false;
  urgent_.clear();
  unsent_ = 0;
  progress_.clear();
  wake_.notify_all();
  if (const auto sender = std::exchange(sender_, nullptr)) sender->soon({});  // it finds that it is detached
}

bool CompletionQueue::attached() const {
  const std::lock_guard lock(mutex_);
  return attached_;
}

void CompletionQueue::completion(CompletionKind kind, uint32_t status, uint64_t sequence, Bytes payload) {
  put({kind, status, sequence, {ResultBytes::kHere, payload.size(), {payload.begin(), payload.end()}}});
  const std::lock_guard lock(mutex_);
  if (sender_) sender_->soon({});
}

void CompletionQueue::result(uint32_t status, uint64_t sequence, ResultBytes bytes) {
  put({CompletionKind::result, status, sequence, std::move(bytes)});
}

void CompletionQueue::put(Entry entry) {
  const std::lock_guard lock(mutex_);
  if (entry.kind == CompletionKind::result) unsent_ += entry.bytes.size;
  if (!attached_) return;  // reported again at attach
  urgent_.push_back(std::move(entry));
  wake_.notify_one();
}

/// Sends, or leaves many bytes to another thread: this one has the device's work to do.
void CompletionQueue::send() {
  constexpr uint64_t kMuch = 64 << 10;
  std::shared_ptr<CompletionSender> sender;
  {
    const std::lock_guard lock(mutex_);
    if (urgent_.empty() || !sender_) return;
    if (unsent_ > kMuch) return sender_->soon({});
    sender = sender_;
  }
  sender->now();
}

void CompletionQueue::take_in() {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : urgent_) {
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
    if (sender_) sender_->soon({});
  } else if (attached_) {
    wake_lazily();
  }
}

void CompletionQueue::wake_lazily() {
  if (sender_) return sender_->soon(kLazy);
  if (waiting_without_end_) wake_.notify_one();
  waiting_without_end_ = false;
}

int64_t CompletionQueue::take(std::span<std::byte> out) {
  const std::lock_guard lock(mutex_);
  if (!attached_) return kDetached;
  const auto now = Clock::now();
  if (due(now)) return compose(out);
  if (lazy_pending() && sender_) sender_->soon(last_sent_ + kLazy - now);
  return 0;
}

int64_t CompletionQueue::poll(std::span<std::byte> out, int timeout_ms) {
  const auto end = Clock::now() + std::chrono::milliseconds(std::max(timeout_ms, 0));
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!attached_) return kDetached;
    const auto now = Clock::now();
    if (due(now)) return compose(out);
    if (now >= end) return 0;
    waiting_without_end_ = !lazy_pending();
    wake_.wait_until(lock, waiting_without_end_ ? end : std::min(end, last_sent_ + kLazy));
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
  while (!urgent_.empty() && write_first(records, room)) urgent_.pop_front();
  if (records.empty() && !urgent_.empty()) return -1;
  if (urgent_.empty()) report_progress(records, room);  // it must not overtake results that did not fit
  last_sent_ = Clock::now();
  const size_t prefix = wire::write_prefix(out.data(), records.size());
  std::memcpy(out.data() + prefix, records.data(), records.size());
  return static_cast<int64_t>(prefix + records.size());
}

/// Writes the first result. Returns false if it does not fit into the room left.
bool CompletionQueue::write_first(std::vector<std::byte>& records, size_t room) {
  const auto& [kind, status, sequence, bytes] = urgent_.front();
  if (records.size() + wire::completion_size(bytes.size) > room) return false;
  const bool here = bytes.position == ResultBytes::kHere;
  wire::append_completion(records, kind, status, 0, sequence,
                          here ? Bytes(bytes.here) : read_(bytes.position, bytes.size));
  if (kind == CompletionKind::result) unsent_ -= bytes.size;
  return true;
}

void CompletionQueue::report_progress(std::vector<std::byte>& records, size_t room) {
  std::vector<StreamProgress> reported;
  while (!progress_.empty() && records.size() + sizeof(CompletionHeader) <= room) {
    const auto first = progress_.begin();
    wire::append_completion(records, CompletionKind::progress, 0, first->first, first->second);
    reported.push_back({first->first, first->second});
    progress_.erase(first);
  }
  if (note_ && !reported.empty()) note_(reported);
}

}  // namespace jitc
