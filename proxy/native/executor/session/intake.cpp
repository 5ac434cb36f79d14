// Taking a client's ops into the journal: checked, in order, once, and never more than there is room for.
#include <chrono>

#include "base/error.h"
#include "executor/journal/wire.h"
#include "session.h"

namespace jitc {
namespace {
/// How far a client may run ahead of execution: about what a launch queue holds, and then some.
constexpr uint64_t kMostOpsAhead = 65536;
constexpr uint64_t kMostBytesAhead = 64u << 20;
constexpr auto kLookAgain = std::chrono::milliseconds(50);
/// A boundary that is under way may free the journal; how long to wait for it before giving protection up.
constexpr auto kPatience = std::chrono::seconds(10);

bool is_pinned_copy(const wire::OpView& op) {
  return op.header.op == static_cast<uint16_t>(ops::OpId::copy_h2d_pinned);
}
}  // namespace

void Session::submit(std::span<const std::byte> message) {
  const wire::Batch batch = wire::parse_batch(message);
  const std::lock_guard lock(submit_mutex_);
  if (!outbox_.attached()) throw Error("no stream is attached to this session");
  if (!batch.ops.empty() && batch.ops.front().header.sequence > received_ + 1)
    throw Error("op " + std::to_string(received_ + 1) + " is missing: the stream goes on with op " +
                std::to_string(batch.ops.front().header.sequence));
  if (!batch.ops.empty() && batch.ops.front().header.sequence == 0) throw Error("an op has sequence 0");
  for (const wire::OpView& op : batch.ops) check_pinned(op);
  if (batch.results_received) {
    results_.received(*batch.results_received);
    truncate();
  }
  if (state_ == State::over) return;  // the client learns from its FAULT
  for (const wire::OpView& op : batch.ops)
    if (op.header.sequence > received_) {
      store(op);
      if (is_pinned_copy(op)) wake_dispatcher();  // the bytes of the next one can be taken meanwhile
    }
  outbox_.ack(received_);
  wake_dispatcher();
}

/// What an op says of pinned memory, before anything reads or writes there.
void Session::check_pinned(const wire::OpView& op) const {
  uint64_t address = 0, bytes = 0;
  if (is_pinned_copy(op)) {
    const auto copy = wire::operands<ops::CopyH2dPinned>(op);
    address = copy.source, bytes = copy.bytes;
  } else if (op.header.op == static_cast<uint16_t>(ops::OpId::copy_d2h_pinned)) {
    const auto copy = wire::operands<ops::CopyD2hPinned>(op);
    address = copy.destination, bytes = copy.bytes;
  } else {
    return;
  }
  if (!pinned_.range().find(address, bytes)) wire::refuse(op, "is not inside the session's pinned memory");
}

/// As it came. A copy from pinned memory is kept with its bytes as they are now, for the program may change
/// them once the copy is done: from here on it is a copy like any other.
bool Session::append(const wire::OpView& op) {
  if (!is_pinned_copy(op)) return journal_.append(RecordKind::op, op.header.sequence, {op.record});
  static constexpr std::array<std::byte, 8> kPadding{};
  const auto from = wire::operands<ops::CopyH2dPinned>(op);
  const uint64_t padding = -from.bytes % 8;
  ops::CopyH2d copy{op.header, from.address, from.bytes};
  copy.header.op = static_cast<uint16_t>(ops::OpId::copy_h2d);
  copy.header.size = static_cast<uint32_t>(sizeof(copy) + from.bytes + padding);
  const std::span content(pinned_.range().find(from.source, from.bytes), from.bytes);
  return journal_.append(RecordKind::op, op.header.sequence,
                         {std::as_bytes(std::span(&copy, 1)), content, std::span(kPadding).first(padding)});
}

void Session::store(const wire::OpView& op) {
  wait_for_room();
  const auto asked = std::chrono::steady_clock::now();
  while (!append(op)) {
    wake_dispatcher();
    Lock lock(mutex_);
    if (!outbox_.attached() || stop_) throw Error("the stream was detached");
    if (state_ == State::over) return;
    const bool may_commit =
        boundary_received_ > committed_ && std::chrono::steady_clock::now() - asked < kPatience;
    if (runs() && !may_commit) {
      shed_wanted_ = true;
      work_.notify_one();
    }
    changed_.wait_for(lock, kLookAgain);
  }
  received_ = op.header.sequence;
  if (op.header.op == static_cast<uint16_t>(ops::OpId::boundary))
    boundary_received_ = wire::operands<ops::Boundary>(op).boundary;
  if (waiting_for_ops_) {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
}

void Session::wait_for_room() {
  const auto ahead = [this] {
    return received_ - dispatched_ > kMostOpsAhead || journal_.tail() - cursor_ > kMostBytesAhead ||
           received_ - progress_.executed(dispatched_) > 2 * kMostOpsAhead;
  };
  if (received_ % 64 && journal_.tail() - cursor_ <= kMostBytesAhead) return;  // looked at now and then
  while (ahead()) {
    wake_dispatcher();
    Lock lock(mutex_);
    if (!outbox_.attached() || stop_) throw Error("the stream was detached");
    if (state_ == State::over) return;
    changed_.wait_for(lock, kLookAgain);
  }
}

}  // namespace jitc
