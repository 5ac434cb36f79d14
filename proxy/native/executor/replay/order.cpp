// The order that the program's waiting made, kept in replay.
//
// A program that has seen a result, or that a stream has got somewhere, may go on with another stream, or use
// memory again, with nothing on the device that says so. In replay nobody waits. So the journal has, between
// the ops, what the client was told before it sent the next ones (results, and records "told" of progress),
// and the dispatcher goes on there only when the same is true again.
//
// This never waits for ever: when the program was told, the device had got there with no more than the ops
// before the record; other ranks likewise with no more than what they had then.
#include <cstring>

#include "executor/session/session.h"

namespace jitc {

/// Called with the outbox's mutex held. Without the record a replay might be out of order.
void Session::note_told(std::span<const StreamProgress> told) {
  if (!journal_.append(RecordKind::told, 0, {std::as_bytes(told)})) shed_wanted_ = true;
}

/// A result that the program has is there again.
void Session::note_again(uint64_t sequence) {
  progress_.give_again(sequence);
  wake_replay();
}

void Session::wake_replay() {
  if (!awaiting_past_) return;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

/// False when the session stops first.
bool Session::await_told(const RecordHeader& record) {
  if (record.kind != RecordKind::result && record.kind != RecordKind::told) return true;
  if (true_again(record)) return true;
  backend_->flush();
  Lock lock(mutex_);
  awaiting_past_ = true;
  changed_.wait(lock, [&] { return !runs() || stop_ || true_again(record); });
  awaiting_past_ = false;
  return runs() && !stop_;
}

bool Session::true_again(const RecordHeader& record) {
  if (record.kind == RecordKind::result) {
    if (results_.status(record.sequence).value_or(1) != 0)
      return true;  // an error, or nobody wants it any more
    return progress_.given_again(record.sequence);
  }
  const auto payload = record.payload();
  std::vector<StreamProgress> told(payload.size() / sizeof(StreamProgress));
  std::memcpy(told.data(), payload.data(), told.size() * sizeof(StreamProgress));
  return progress_.reached(told);
}

}  // namespace jitc
