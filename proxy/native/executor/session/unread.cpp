// What a client has not read: where its bytes are, how much it may be, and holding the dispatcher back.
//
// Results lie in the journal, so they cost no memory here. This never waits for ever for a client that reads:
// what was given to the device comes to its end without more ops, and becomes results that can be read.
#include <algorithm>

#include "executor/journal/wire.h"
#include "jitc/generated_op_traits.h"
#include "jitc/limits.h"
#include "session.h"

namespace jitc {

/// Ops whose result is as large as the program likes.
void Session::promise_result(const ops::OpHeader& op, const ops::OpInfo& info) {
  constexpr uint64_t kSmall = 256;  // with what a result costs beside its bytes
  if (!info.waits || results_.known(op.sequence)) return;
  uint64_t bytes = kSmall;
  switch (ops::traits(info).result_size) {
    case ops::ResultSize::any:
      bytes = Outbox::kMaximumPayload;
      break;
    case ops::ResultSize::copied:
      bytes += std::min(as<ops::CopyD2h>(op).bytes, wire::kMaximumCopy);
      break;
    case ops::ResultSize::small:
      break;
  }
  results_.promise(op.sequence, bytes);
}

/// Of a result record in the journal, which may be gone when the client says what is not true: then the bytes
/// are any of this session.
std::span<const std::byte> Session::result_bytes(uint64_t position, size_t size) const {
  const RecordHeader* const record = journal_.at(position);
  if (!record) return {};
  return {record->payload().data() + sizeof(Results::Record), size};
}

/// Results that are on the way to the client, and those that the device will give without more ops.
bool Session::too_much_unread() const {
  const uint64_t unsent = outbox_.unsent();
  return unsent > limits::kUnreadResults || unsent + results_.promised() > limits::kPendingResults;
}

/// A client that does not read is given nothing more to read. False when the session stops first.
bool Session::wait_until_read() {
  if (!too_much_unread()) return true;
  backend_->flush();
  Lock lock(mutex_);
  held_back_ = true;
  changed_.wait(lock, [this] { return !runs() || stop_ || !too_much_unread(); });
  held_back_ = false;
  return runs() && !stop_;
}

void Session::wake_held_back() {
  if (!held_back_) return;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

int64_t Session::poll(std::span<std::byte> out, int timeout_ms) {
  const int64_t size = outbox_.poll(out, timeout_ms);
  wake_held_back();
  return size;
}

}  // namespace jitc
