// What the coordinator asks of a session in a recovery: stop, go back to a boundary, or on to the next one.
//
// All of it runs in control threads while the dispatcher is parked (fence makes it so).
#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "executor/journal/wire.h"
#include "executor/session/session.h"
#include "jitc/generated_op_traits.h"

namespace jitc {
namespace {
/// A healthy rank inside an optimizer step finishes what it was given; such a step waits for nobody.
constexpr auto kSettleTime = std::chrono::seconds(10);
}  // namespace

// -- fence -------------------------------------------------------------------------------------------

Position Session::fence(uint64_t epoch) {
  // First: a call of an earlier recovery that is under way holds the session, and ends when it sees this.
  uint64_t newest = *newest_epoch_;
  while (newest < epoch && !newest_epoch_->compare_exchange_weak(newest, epoch)) {
  }
  Lock lock(mutex_);
  stop_if_outdated(epoch);
  changed_.notify_all();
  if (state_ == State::over) throw Error("the session has been given up: " + over_message_);
  reserve_memory();
  if (state_ == State::running) stop_dispatcher(lock);
  if (state_ == State::faulted) {
    quiet_ = false;
    hold(lock);
  }
  epoch_ = epoch;
  stop_after_ = 0;
  BoardSlot& slot = board_.slot(request_.slot);
  slot.epoch.store(epoch);
  Position position{committed_, last_boundary_, slot.reached, slot.begun, 0, received_};
  lock.unlock();
  position.executed = progress_.executed(dispatched_);
  return position;
}

/// running -> fenced. Inside an optimizer step that needs nobody else, what was given runs to its end.
void Session::stop_dispatcher(Lock& lock) {
  state_ = State::fenced;
  board_.ring();
  changed_.notify_all();
  // Only behind the barrier: without it the dispatcher is ahead of streams that may wait for a lost peer.
  drain_ = in_step_ && !step_collectives_ && policy_->peer_mode();
  if (drain_) {
    // The dispatcher may be asleep with work still on the streams: it settles when it is woken.
    work_.notify_one();
    changed_.wait_for(lock, kSettleTime, [this] { return parked_ && !drain_; });
    drain_ = false;
  }
  hold(lock);
}

/// -> fenced: when this returns the dispatcher is parked and nothing runs any more.
void Session::hold(Lock& lock) {
  stop_backend(lock);
  changed_.wait(lock, [this] { return parked_; });
  backend_->remember_graphs(table_.list(*backend_));
  restored_ = quiet_;
}

void Session::stop_backend(Lock& lock) {
  accepting_ = false;
  state_ = State::fenced;
  changed_.notify_all();
  lock.unlock();  // the back end's threads may be about to report a fault
  backend_->fence();
  results_.drop_promises();
  lock.lock();
}

void Session::require_fenced(const char* what) const {
  if (state_ != State::fenced)
    throw Error(std::string(what) + " needs a fenced session, this one is " + name_of(state_));
}

/// A call may come late, when a newer recovery has fenced the session already. With mutex_.
void Session::begin_command(uint64_t epoch) {
  command_epoch_ = epoch;
  stop_if_outdated(epoch);
}

void Session::stop_if_outdated(uint64_t epoch) const {
  if (outdated(epoch) && state_ != State::over) throw Error("a newer recovery has begun");
}

// -- on ------------------------------------------------------------------------------------------------

/// Nothing has run since the boundary was made.
bool Session::stands_at(uint64_t boundary) const {
  return restored_ && quiet_ && !memory_lost_ && !boundaries_.empty() &&
         boundaries_.back().number == boundary && dispatched_ == boundaries_.back().sequence;
}

RecoverReply Session::finish_step(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch) {
  Lock lock(mutex_);
  require_fenced("FinishStep");
  begin_command(epoch);
  if (stands_at(boundary)) return {};
  if (find_boundary(boundary)) {
    lock.unlock();
    return roll_back(boundary, epoch);
  }
  if (const std::string damage = journal_.damage(); !damage.empty()) return {false, damage, 0, {}};
  if (boundary != last_boundary_ + 1)
    return {false, "this rank is at boundary " + std::to_string(last_boundary_), 0, {}};
  if (!quiet_ || board_.slot(request_.slot).reached < boundary)
    return {false, "this rank was stopped in the middle of its work", 0, {}};
  hold_at_ = boundary;
  start();
  const auto done = [&] { return (state_ != State::running && parked_) || outdated(epoch); };
  changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), done);
  if (state_ == State::running || !parked_) stop_dispatcher(lock);
  hold_at_ = 0;
  stop_if_outdated(epoch);
  if (last_boundary_ < boundary) return {false, "the step did not get to its end in time", 0, {}};
  restored_ = true;
  return {};
}

/// fenced -> running, with mutex_ held.
void Session::start() {
  backend_->unfence();
  accepting_ = true;
  state_ = State::running;
  work_.notify_one();
  changed_.notify_all();
}

RecoverReply Session::skip_step(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch) {
  if (boundary == 0) throw Error("SkipStep needs a boundary");
  {
    const std::lock_guard lock(mutex_);
    require_fenced("SkipStep");
    begin_command(epoch);
  }
  if (find_boundary(boundary)) return roll_back(boundary, epoch);
  if (boundary - 1 != 0 && !find_boundary(boundary - 1))
    return {false, "boundary " + std::to_string(boundary - 1) + " is not kept here", 0, {}};
  uint64_t op_position = 0;
  const ops::Boundary* const op = wait_for_boundary_op(boundary, timeout_ms, epoch, op_position);
  if (!op)
    return {false, "the program did not get to boundary " + std::to_string(boundary) + " in time", 0, {}};

  Lock lock(mutex_);
  require_fenced("SkipStep");
  begin_command(epoch);
  if (const std::string damage = journal_.damage(); !damage.empty()) return {false, damage, 0, {}};
  const std::optional<StepState> step = step_;
  const BoundaryState* const base = find_boundary(boundary - 1);
  RecoverReply reply = restore_to(base);
  if (!reply.complete && reply.missing.empty()) return reply;
  ResourceTable table = table_;
  std::string why;
  if (!skip_ops(cursor_, op_position, table, why)) return {false, why, 0, {}};
  std::string error;
  const Resources resources = table.list(*backend_);
  if (!backend_->restore(resources, error)) return {false, error, 0, {}};
  table_ = table;
  if (const Resources::Variable* const variable = unsettled_variable(resources, base))
    return {false,
            "the device variable " + variable->name +
                " is new or changes: only running the step gives its content",
            0,
            {}};
  reply = {};
  std::vector<LiveRow> copies;
  const auto* const blocks = reinterpret_cast<const ops::LiveBlock*>(op + 1);
  for (uint64_t i = 0; i < op->count; ++i) {
    LiveRow wanted{blocks[i]};
    if (!wanted.block.bytes) continue;
    const LiveRow* const copy = copy_for(wanted, base, step && step->step == boundary ? &*step : nullptr);
    if (copy) {
      wanted.hash = copy->hash;
      wanted.copy = copy->copy;
      copies.push_back(wanted);
    } else if (policy_->has_replica(wanted.block.ordinal)) {
      reply.missing.push_back(wanted);
    } else {
      return {false,
              "a block of " + std::to_string(wanted.block.bytes) +
                  " bytes that no other rank is known to have has no copy from before the step",
              0,
              {}};
    }
  }
  restore_copies(copies, reply);
  cursor_ = Journal::after(
      *reinterpret_cast<const RecordHeader*>(reinterpret_cast<const std::byte*>(op) - sizeof(RecordHeader)));
  settle_progress(op->header);
  progress_.raise_floor(op->header.sequence);
  for (const auto& stream : resources.streams) outbox_.progress(stream.handle, op->header.sequence);
  boundary_to_make_ = op_position;
  reply.complete = reply.missing.empty();
  return reply;
}

/// A variable whose content after the step cannot be told: it was not the same at the last two boundaries.
const Resources::Variable* Session::unsettled_variable(const Resources& resources,
                                                       const BoundaryState* base) {
  for (const auto& one : resources.variables) {
    const auto is_it = [&](const LiveRow& row) {
      return row.block.ordinal == (LiveRow::kVariable | one.address) && row.block.bytes == one.bytes;
    };
    if (!one.bytes) continue;
    if (!base) return &one;
    const auto row = std::find_if(base->rows.begin(), base->rows.end(), is_it);
    if (row == base->rows.end() || !row->settled()) return &one;
  }
  return nullptr;
}

/// The bytes that this rank alone knows: as they were when the step was about to begin.
const LiveRow* Session::copy_for(const LiveRow& wanted, const BoundaryState* base,
                                 const StepState* step) const {
  const auto find = [&](const std::vector<LiveRow>& rows) -> const LiveRow* {
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const LiveRow& row) { return row.same_place(wanted); });
    return found == rows.end() ? nullptr : &*found;
  };
  const LiveRow* const before = step ? find(step->rows) : nullptr;
  if (!before) return nullptr;
  if (before->copied()) return before;
  const LiveRow* const kept = base ? find(base->rows) : nullptr;
  return kept && kept->copied() ? kept : nullptr;
}

const ops::Boundary* Session::wait_for_boundary_op(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch,
                                                   uint64_t& position) {
  {
    Lock lock(mutex_);
    const auto there = [&] { return boundary_received_ >= boundary || stop_ || outdated(epoch); };
    waiting_for_ops_ = true;
    changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), there);
    waiting_for_ops_ = false;
  }
  position = journal_.head();
  while (const RecordHeader* const record = journal_.at(position)) {
    if (record->kind == RecordKind::op) {
      const auto& op = *reinterpret_cast<const ops::OpHeader*>(record->payload().data());
      const bool is_boundary = op.op == static_cast<uint16_t>(ops::OpId::boundary);
      if (is_boundary && as<ops::Boundary>(op).boundary == boundary) return &as<ops::Boundary>(op);
    }
    position = Journal::after(*record);
  }
  return nullptr;
}

bool Session::skip_ops(uint64_t from, uint64_t to, ResourceTable& table, std::string& why) {
  for (uint64_t position = from; const RecordHeader* const record = journal_.at(position);) {
    if (position >= to) return true;
    position = Journal::after(*record);
    if (record->kind != RecordKind::op) continue;
    const auto& op = *reinterpret_cast<const ops::OpHeader*>(record->payload().data());
    const ops::OpInfo& info = *ops::find(op.op);
    if (info.waits && !skip_result(op)) {
      why = wire::op_name(op.op) + " (sequence " + std::to_string(op.sequence) +
            ") waits for a result that only running it gives";
      return false;
    }
    if (ops::traits(info).taker == ops::Taker::images && !info.waits && !serve_image(op))
      return why = "a module image did not come whole", false;
    table.apply(op, results_.status(op.sequence).value_or(0),
                ops::traits(info).result_is_state ? known_payload(op.sequence) : std::vector<std::byte>{});
  }
  return true;
}

/// False when the op's result is not known and cannot be told without running it.
bool Session::skip_result(const ops::OpHeader& op) {
  if (results_.known(op.sequence)) return true;
  switch (ops::traits(static_cast<ops::OpId>(op.op)).skipped) {
    case ops::Skipped::asks_images: {
      const uint32_t present = has_image(as<ops::ImageQuery>(op));
      give_result(op.sequence, 0, std::as_bytes(std::span(&present, 1)));
      return true;
    }
    case ops::Skipped::succeeds:
      give_result(op.sequence, 0, {});
      return true;
    case ops::Skipped::must_run:
      return false;
  }
  return false;
}

/// The result of an op that is in the journal with it: in memory it goes when the client has it.
std::vector<std::byte> Session::known_payload(uint64_t sequence) const {
  const RecordHeader* const record = find_record(RecordKind::result, sequence);
  if (!record) return {};
  const auto payload = record->payload().subspan(sizeof(Results::Record));
  return {payload.begin(), payload.end()};
}

/// The first of its kind for the op; nullptr: it is not in the journal.
const RecordHeader* Session::find_record(RecordKind kind, uint64_t sequence) const {
  uint64_t position = journal_.head();
  while (const RecordHeader* const record = journal_.at(position)) {
    if (record->kind == kind && record->sequence == sequence) return record;
    position = Journal::after(*record);
  }
  return nullptr;
}

void Session::resume(uint64_t epoch, const std::vector<uint32_t>& slots, double bound) {
  Lock lock(mutex_);
  require_fenced("Resume");
  begin_command(epoch);
  if (!restored_)
    throw Error("Resume needs Rollback, FinishStep or SkipStep first: this session stopped in the middle");
  memory_lost_ = false;
  tolerance_.begin(bound);
  epoch_ = epoch;
  peers_ = slots;
  board_.slot(request_.slot).epoch.store(epoch);
  start();
}

void Session::abandon(uint32_t status, const std::string& message) {
  *newest_epoch_ = UINT64_MAX;
  Lock lock(mutex_);
  if (state_ == State::running) stop_dispatcher(lock);
  if (state_ == State::faulted) hold(lock);
  state_ = State::over;
  over_status_ = status;
  over_message_ = message;
  changed_.notify_all();
  lock.unlock();
  board_.leave(request_.slot);
  outbox_.completion(CompletionKind::fault, status, 0, std::as_bytes(std::span(message)));
}

}  // namespace jitc
