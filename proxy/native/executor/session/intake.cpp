#include "intake.h"

#include <chrono>

#include "base/error.h"
#include "executor/checkpoint/checkpoints.h"
#include "executor/core/session_core.h"
#include "executor/replay/replay.h"

namespace jitc {
namespace {
/// Farthest that a client may run ahead of execution: about what a launch queue holds, and then some.
constexpr uint64_t kMostOpsAhead = 65536;
constexpr uint64_t kMostBytesAhead = 64u << 20;
/// Longest wait for a boundary in progress, which may free the journal, before giving protection up.
constexpr auto kPatience = std::chrono::seconds(10);

bool is_pinned_copy(const wire::OpView& op) {
  return op.header.op == static_cast<uint16_t>(ops::OpId::copy_h2d_pinned);
}
}  // namespace

bool Intake::submit(std::span<const std::byte> message, Wait wait) {
  const wire::Batch batch = wire::parse_batch(message);
  const std::lock_guard lock(mutex_);
  if (!core_.completions.attached()) throw Error("no stream is attached to this session");
  check_order(batch);
  for (const wire::OpView& op : batch.ops) check_pinned(op);
  if (batch.results_received) {
    core_.results.received(*batch.results_received);
    checkpoints_.truncate();
  }
  if (core_.life.state == Lifecycle::State::over) return true;  // the client learns from its FAULT
  const bool all = store_all(batch, wait);
  core_.completions.ack(core_.at.received);
  return all;
}

bool Intake::store_all(const wire::Batch& batch, Wait wait) {
  for (const wire::OpView& op : batch.ops) {
    if (op.header.sequence <= core_.at.received) continue;
    if (!store(op, wait)) return false;
    // The bytes of the next one can be taken meanwhile.
    if (is_pinned_copy(op)) core_.life.wake_dispatcher();
  }
  return true;
}

void Intake::check_order(const wire::Batch& batch) const {
  if (batch.ops.empty()) return;
  const uint64_t first = batch.ops.front().header.sequence;
  if (first > core_.at.received + 1)
    throw Error("op " + std::to_string(core_.at.received + 1) + " is missing: the stream goes on with op " +
                std::to_string(first));
  if (first == 0) throw Error("an op has sequence 0");
}

/// Refuses an op that names pinned memory which the session does not have.
void Intake::check_pinned(const wire::OpView& op) const {
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
  if (!core_.pinned.range().find(address, bytes))
    wire::refuse(op, "is not inside the session's pinned memory");
}

/// Appends the op to the journal as it came. A copy from pinned memory is kept with its current bytes,
/// because the program may change them once the copy is done: from here on it is a copy like any other.
bool Intake::append(const wire::OpView& op) {
  if (!is_pinned_copy(op)) return core_.journal.append(RecordKind::op, op.header.sequence, {op.record});
  static constexpr std::array<std::byte, 8> kPadding{};
  const auto from = wire::operands<ops::CopyH2dPinned>(op);
  const uint64_t padding = -from.bytes % 8;
  ops::CopyH2d copy{op.header, from.address, from.bytes};
  copy.header.op = static_cast<uint16_t>(ops::OpId::copy_h2d);
  copy.header.size = static_cast<uint32_t>(sizeof(copy) + from.bytes + padding);
  const std::span content(core_.pinned.range().find(from.source, from.bytes), from.bytes);
  return core_.journal.append(
      RecordKind::op, op.header.sequence,
      {std::as_bytes(std::span(&copy, 1)), content, std::span(kPadding).first(padding)});
}

/// Waits for a change. give_up: the dispatcher is to make room at any price. Returns false if the session is
/// given up. Throws Error when the client disconnects.
bool Intake::wait_for_change(bool give_up, std::chrono::microseconds longest) {
  Lifecycle& life = core_.life;
  Lifecycle::Lock lock(life.mutex);
  if (!core_.completions.attached() || life.stop) throw Error("the stream was detached");
  if (life.state == Lifecycle::State::over) return false;
  if (give_up && life.runs()) {
    core_.journal_full = true;
    life.work.notify_one();
  }
  life.changed.wait_for(lock, longest);
  return true;
}

/// Delays an op for --shuffle: ops come in bursts, also those of one message. Earlier ones are acknowledged
/// and can run meanwhile.
bool Intake::linger(const wire::OpView& op) {
  using Clock = std::chrono::steady_clock;
  const auto delay =
      core_.options.shuffle.draw(Shuffle::Choice::reading, op.header.stream, op.header.sequence);
  if (delay == Shuffle::Delay(0)) return true;
  core_.completions.ack(core_.at.received);
  core_.life.wake_dispatcher();
  const auto until = Clock::now() + delay;
  for (auto now = Clock::now(); now < until; now = Clock::now())
    if (!wait_for_change(false, std::chrono::ceil<std::chrono::microseconds>(until - now))) return false;
  return true;
}

/// Stores the op. Returns true also if the session is given up meanwhile: then the op is not needed.
bool Intake::store(const wire::OpView& op, Wait wait) {
  if (wait == Wait::no && (core_.options.shuffle.on() || is_far_ahead() || !has_room(op))) return false;
  if (core_.options.shuffle.on() && !linger(op)) return true;
  if (wait == Wait::yes && !wait_for_room()) return true;
  const auto asked = std::chrono::steady_clock::now();
  Counters& at = core_.at;
  while (!append(op)) {
    if (wait == Wait::no) return false;
    core_.life.wake_dispatcher();
    const bool may_commit =
        at.boundary_received > at.committed && std::chrono::steady_clock::now() - asked < kPatience;
    if (!wait_for_change(!may_commit)) return true;
  }
  at.received = op.header.sequence;
  announce(op);
  return true;
}

/// Announces ops that matter before the dispatcher comes to them. It may wait for the end of a collective,
/// which a boundary has to see, so that an abort behind that takes effect now. Not in a replay: what the
/// program knows to be done has to be done again first.
void Intake::announce(const wire::OpView& op) {
  if (op.header.op == static_cast<uint16_t>(ops::OpId::boundary)) {
    core_.at.boundary_received = wire::operands<ops::Boundary>(op).boundary;
    core_.life.notify();
  } else if (op.header.op == static_cast<uint16_t>(ops::OpId::communicator_abort)) {
    const Lifecycle::Lock lock(core_.life.mutex);
    Aborts* const aborts = core_.backend->aborts();
    if (aborts && core_.runs() && replay_.is_over())
      aborts->abort_coming(wire::operands<ops::CommunicatorAbort>(op));
  }
}

/// Returns whether there is room. Other threads may take it meanwhile: then append fails.
bool Intake::has_room(const wire::OpView& op) const {
  uint64_t bytes = op.record.size();
  if (is_pinned_copy(op)) bytes += wire::operands<ops::CopyH2dPinned>(op).bytes;
  return core_.journal.bytes() + bytes + 2 * Journal::kChunkBytes <= core_.journal.capacity();
}

/// Returns whether the client is far ahead, checked only now and then.
bool Intake::is_far_ahead() const {
  const Counters& at = core_.at;
  if (core_.journal.tail() - at.cursor > kMostBytesAhead) return true;
  return at.received % 64 == 0 && (at.received - at.dispatched > kMostOpsAhead ||
                                   at.received - core_.progress.executed(at.dispatched) > 2 * kMostOpsAhead);
}

/// Waits for room. Returns false if the session is given up.
bool Intake::wait_for_room() {
  while (is_far_ahead()) {
    core_.life.wake_dispatcher();
    if (!wait_for_change()) return false;
  }
  return true;
}

}  // namespace jitc
