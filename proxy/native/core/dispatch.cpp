// The dispatcher: reads ops at the cursor in the journal and gives them to the back end.
#include <utility>

#include "error.h"
#include "session.h"
#include "wire.h"

namespace jitc {

void Session::dispatch_loop() {
  Lock lock(mutex_);
  for (;;) {
    parked_ = true;
    changed_.notify_all();
    asleep_.store(true);
    std::atomic_thread_fence(
        std::memory_order_seq_cst);  // with wake_dispatcher: one of the two sees the other
    work_.wait(lock, [this] { return stop_ || drain_ || (runs() && has_work()); });
    asleep_.store(false);
    if (stop_) return;
    parked_ = false;
    if (runs()) {
      lock.unlock();
      run_ops();
      lock.lock();
    }
    if (!drain_) continue;
    lock.unlock();
    settle();
    lock.lock();
    drain_ = false;
  }
}

bool Session::has_work() const { return cursor_ < journal_.tail() || shed_wanted_ || boundary_to_make_; }

void Session::run_ops() {
  if (boundary_to_make_ && !make_imported_boundary()) return;
  while (runs()) {
    if (shed_wanted_) shed();
    uint64_t position = cursor_;
    const RecordHeader* const record = journal_.at(position);
    if (!record) return;
    if (record->kind == RecordKind::op) {
      try {
        if (!dispatch(*record)) return;  // not done: it comes again when the session goes on
      } catch (const std::exception& error) {
        return fault(record->sequence, 999, "worker-error", error.what());
      }
    }
    cursor_ = Journal::after(*record);
    if (hold_reached_) return hold_here();
  }
}

/// FinishStep: the boundary is made, nothing after it may run.
void Session::hold_here() {
  Lock lock(mutex_);
  hold_reached_ = false;
  if (runs()) stop_backend(lock);
}

bool Session::dispatch(const RecordHeader& record) {
  using ops::OpId;
  const auto& op = *reinterpret_cast<const ops::OpHeader*>(record.payload().data());
  inject(injector_.at_op(op, last_boundary_), op);
  if (!runs()) return false;
  switch (static_cast<OpId>(op.op)) {
    case OpId::live_set:
      return at_live_set(wire::as<ops::LiveSet>(op));
    case OpId::step_begin:
      return at_step_begin(wire::as<ops::StepBegin>(op));
    case OpId::boundary:
      return at_boundary(wire::as<ops::Boundary>(op), record.position);
    default:
      enqueue(op);
      return true;
  }
}

void Session::enqueue(const ops::OpHeader& op) {
  using ops::OpId;
  if (in_step_) note_window(op);
  uint64_t given_before;
  {
    const std::lock_guard lock(progress_mutex_);
    given_before = std::exchange(streams_[op.stream].given, op.sequence);
  }
  dispatched_ = op.sequence;
  ++ops_executed_;
  quiet_ = false;
  const auto id = static_cast<OpId>(op.op);
  // An allocation that failed was answered as failed: in replay there must be no memory either.
  const bool failed_before = id == OpId::allocate && results_.status(op.sequence).value_or(0) != 0;
  if (failed_before) return progress(op.stream, op.sequence);
  backend_->enqueue(op);
  const ops::OpInfo* const info = ops::find(op.op);
  if (info->waits && results_.status(op.sequence).value_or(0) != 0) {
    // Refused where it was placed, so it is on no stream: no progress will tell of it.
    const std::lock_guard lock(progress_mutex_);
    streams_[op.stream].given = given_before;
  }
  if (!info->resource) return;
  // Allocations are answered in place; other resource ops cannot fail without a fault.
  table_.apply(op, id == OpId::allocate ? results_.status(op.sequence).value_or(0) : 0);
  if (id == OpId::communicator_create) {
    const auto& made = wire::as<ops::CommunicatorCreate>(op);
    if (made.ranks > 1) board_.join(request_.slot, made.unique_id);
  }
}

void Session::note_window(const ops::OpHeader& op) {
  using ops::OpId;
  switch (static_cast<OpId>(op.op)) {
    case OpId::collective:
    case OpId::communicator_create:
    case OpId::communicator_split:
      ++step_collectives_;
      return;
    case OpId::allocate:
    case OpId::free:
      ++step_allocations_;
      return;
    case OpId::copy_d2h:
    case OpId::operator_query:
    case OpId::memory_info:
    case OpId::event_elapsed:
      ++step_waits_;
      return;
    default:
      return;  // synchronizations return nothing but a status
  }
}

void Session::inject(const std::optional<Fault>& fault, const ops::OpHeader& op) {
  if (fault) host_.fire(*fault, Injector::describe(*fault, &op, last_boundary_));
}

void Session::injection_point(const ops::OpHeader& op, std::string_view phase) {
  inject(injector_.at_point(op, phase, last_boundary_), op);
}

/// Runs what was given to the back end, so that a step can be finished later from exactly here.
void Session::settle() { quiet_ = backend_->idle(); }

/// The journal is full and no boundary will free it: it becomes a mere queue, and the job goes on without
/// anything to go back to. Loudly, and until the next boundary.
void Session::shed() {
  if (!backend_->idle()) return;
  if (protected_.exchange(false))
    notice("the journal of this GPU is full (" + std::to_string(journal_.capacity() >> 20) +
           " MiB with its spill file): until the next boundary a fault cannot be recovered. "
           "Give the service more with jitc-proxyd --journal-limit");
  Lock lock(mutex_);
  journal_.set_first_boundary(last_boundary_ + 1);
  for (const BoundaryState& state : boundaries_) drop_boundary(state);
  boundaries_.clear();
  drop_step();
  journal_.truncate(cursor_);
  shed_wanted_ = false;
  changed_.notify_all();
}

}  // namespace jitc
