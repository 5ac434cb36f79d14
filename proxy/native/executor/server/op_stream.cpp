#include "op_stream.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace jitc {
namespace {
constexpr size_t kMessageBytes = size_t{4} << 20;  // CompletionQueue::kMaximumPayload, and its overhead
}

/// Submits; a session to which no client is attached any more refuses everything: no fault of the message.
template <class Submit>
bool OpStream::guarded(Submit submit, jitc_ending& why) {
  try {
    submit();
    return true;
  } catch (const std::exception& error) {
    if (!session_->client().attached()) return true;
    why.status = JITC_STATUS_INVALID_ARGUMENT;
    std::strncpy(why.text, error.what(), sizeof why.text - 1);
    return false;
  }
}

bool OpStream::message(Bytes message, jitc_ending& why) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return true;
    if (!held_.empty()) return hold(message), true;
  }
  bool taken = true;
  if (!guarded([&] { taken = session_->client().try_submit(message); }, why)) return false;
  if (taken) return true;
  const std::lock_guard lock(mutex_);
  if (!ended_) hold(message);
  return true;
}

/// Holds a message. Requires the mutex.
void OpStream::hold(Bytes message) {
  held_.emplace_back(message.begin(), message.end());
  held_bytes_ += message.size();
  changed_.notify_all();
  if (!submitter_.joinable()) submitter_ = std::thread([this] { submit_held(); });
  if (held_bytes_ <= kHeld || paused_) return;
  paused_ = true;
  sender_->pause(true);
}

/// Submits held messages. The one in progress stays in the list, so that none overtakes it.
void OpStream::submit_held() {
  pthread_setname_np(pthread_self(), "jitc-held-ops");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ended_ || !held_.empty(); });
    if (ended_) return;
    lock.unlock();
    jitc_ending why{};
    if (!guarded([&] { session_->client().submit(held_.front()); }, why)) return sender_->finish(why);
    lock.lock();
    if (ended_) return;
    held_bytes_ -= held_.front().size();
    held_.pop_front();
    if (!paused_ || held_bytes_ > kHeld / 2) continue;
    paused_ = false;
    lock.unlock();
    sender_->pause(false);
    lock.lock();
  }
}

size_t OpStream::next(jitc_bytes* parts) {
  if (!out_) out_ = std::make_unique_for_overwrite<std::byte[]>(kMessageBytes);
  const int64_t size = session_->client().take({out_.get(), kMessageBytes});
  if (size < 0) return JITC_CALL_ENDS;
  *parts = {reinterpret_cast<uint8_t*>(out_.get()), static_cast<size_t>(size)};
  return size > 0 ? 1 : 0;
}

void OpStream::end() {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = true;
    changed_.notify_all();
  }
  session_->client().detach();
  if (submitter_.joinable()) submitter_.join();
}

}  // namespace jitc
