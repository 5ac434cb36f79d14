#include "dispatcher.h"

#include <pthread.h>

#include <chrono>

#include "executor/checkpoint/checkpoints.h"
#include "executor/drain/drain.h"
#include "executor/issue/backpressure.h"
#include "executor/issue/op_issuer.h"
#include "executor/journal/wire.h"
#include "executor/replay/replay.h"
#include "executor/results/lookup.h"
#include "executor/step/boundary_maker.h"
#include "executor/step/late_boundary.h"
#include "executor/step/meeting.h"
#include "executor/step/step_gate.h"
#include "jitc/generated_op_traits.h"

namespace jitc {
namespace {
/// Most ops that the stream's reader dispatches: more are better left to a thread that runs beside it.
constexpr int kFewOps = 16;
/// Longest time without work before the rank shows others that it stands.
constexpr std::chrono::milliseconds kRest{200};
constexpr uint32_t kSmallOp = 64 << 10;

/// Returns whether the op may wait for other ranks, or for a stream that does.
bool may_stand(const ops::OpHeader& op) {
  const auto id = static_cast<ops::OpId>(op.op);
  return id == ops::OpId::event_wait || ops::traits(id).window == ops::Window::collective ||
         ops::traits(id).window == ops::Window::launched_collective;
}

/// Returns whether the op goes to the device without any wait, and does not otherwise concern the session.
bool is_quick(const RecordHeader& record) {
  if (record.kind != RecordKind::op) return true;  // only a replay reads it
  const ops::OpHeader& op = op_of(record);
  const ops::OpTraits& traits = ops::traits(static_cast<ops::OpId>(op.op));
  if (traits.taker == ops::Taker::replay) return true;
  const bool alone = traits.window == ops::Window::none || traits.window == ops::Window::answer;
  const bool known =
      traits.on_stream || traits.shows == ops::Shows::stream || traits.shows == ops::Shows::event;
  return traits.taker == ops::Taker::device && alone && known && op.size <= kSmallOp;
}
}  // namespace

void Dispatcher::start() {
  thread_ = std::thread([this] { loop(); });
}

void Dispatcher::join() {
  if (thread_.joinable()) thread_.join();
}

void Dispatcher::loop() {
  pthread_setname_np(pthread_self(), "jitc-dispatch");
  Lifecycle& life = core_.life;
  Lifecycle::Lock lock(life.mutex);
  runner_ = std::this_thread::get_id();
  for (;;) {
    life.parked = true;
    life.changed.notify_all();
    life.asleep.store(true);
    // With Lifecycle::wake_dispatcher: one of the two sees the other.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    sleep(lock);
    life.asleep.store(false);
    if (life.stop) return;
    life.parked = false;
    if (life.runs()) {
      lock.unlock();
      run_ops();
      lock.lock();
    }
    if (!life.drain) continue;
    lock.unlock();
    // Recorded so that a step can be finished later from exactly here.
    core_.issued.quiet = core_.backend->idle();
    lock.lock();
    life.drain = false;
  }
}

/// Sleeps until there is work. Other ranks are shown that it waits, in case they wait for this one.
void Dispatcher::sleep(Lifecycle::Lock& lock) {
  Lifecycle& life = core_.life;
  const auto needed = [this] { return is_needed(); };
  while (!life.work.wait_for(lock, kRest, needed)) {
    if (life.lent) continue;
    if (!life.runs() || !to_.drain.may_be_awaited()) return life.work.wait(lock, needed);
    life.lent = true;  // as the reader has it: no other thread touches anything meanwhile
    life.parked = false;
    lock.unlock();
    to_.drain.rest();
    lock.lock();
    life.lent = false;
    life.parked = true;
    life.changed.notify_all();
  }
}

/// Returns whether there is work. Requires Lifecycle::mutex.
bool Dispatcher::is_needed() const {
  const Lifecycle& life = core_.life;
  return !life.lent && (life.stop || life.drain || (life.runs() && has_work()));
}

bool Dispatcher::has_work() const {
  return core_.at.cursor < core_.journal.tail() || core_.journal_full || to_.boundaries.has_imported() ||
         to_.late.is_ready();
}

void Dispatcher::run_ops() {
  to_.drain.go_on();
  if (to_.boundaries.has_imported()) {
    if (!to_.boundaries.make_imported()) return;
    if (to_.boundaries.take_park_due()) return park();
  }
  while (core_.runs()) {
    if (!to_.backpressure.wait_until_read()) return;
    if ((to_.late.is_ready() || core_.journal_full) && !to_.late.finish()) return;
    if (core_.journal_full) to_.checkpoints.drop_journal();
    if (!to_.boundaries.will_park()) to_.replay.release_memory_after_replay();
    uint64_t position = core_.at.cursor;
    const RecordHeader* const record = core_.journal.at(position);
    if (!record) return core_.backend->flush();
    if (!take(*record)) return;  // not done: it comes again when the session continues
    core_.at.cursor = Journal::after(*record);
    if (to_.boundaries.take_park_due()) return park();
  }
}

// -- in the stream's reader ----------------------------------------------------------------------------

void Dispatcher::ops_came() {
  if (!run_here()) core_.life.wake_dispatcher();
}

/// Dispatches in the stream's reader. Returns false if the dispatcher's thread is awake or must be woken.
bool Dispatcher::run_here() {
  Lifecycle& life = core_.life;
  if (!life.asleep.load()) return false;
  {
    const Lifecycle::Lock lock(life.mutex, std::try_to_lock);
    if (!lock.owns_lock() || !life.parked || life.lent || life.stop || life.drain || !life.runs())
      return false;
    if (!to_.replay.is_over() || to_.boundaries.has_imported() || to_.boundaries.will_park()) return false;
    if (!comes_to_a_wait()) return false;
    life.parked = false;
    life.lent = true;
    runner_ = std::this_thread::get_id();
  }
  run_quick_ops();
  const Lifecycle::Lock lock(life.mutex);
  runner_ = thread_.get_id();
  life.lent = false;
  life.parked = true;
  life.changed.notify_all();
  if (life.stop || life.drain || has_work()) life.work.notify_one();
  return true;
}

/// Returns whether a few quick ops follow that the program waits for, by the last of them or in the progress
/// page: a hop to another thread and back would cost it more than they do.
bool Dispatcher::comes_to_a_wait() const {
  uint64_t position = core_.at.cursor;
  bool waits = false;
  for (int count = 0; count <= kFewOps; ++count) {
    const RecordHeader* const record = core_.journal.at(position);
    if (!record) return count > 0 && (waits || core_.progress.progress_doorbell().is_awaited());
    if (!is_quick(*record)) return false;
    waits = record->kind == RecordKind::op && ops::find(op_of(*record).op)->waits;
    position = Journal::after(*record);
  }
  return false;
}

/// Runs quick ops. Stops where the dispatcher's thread would have to wait, or finds work of its own. An
/// unexpected failure ends the process, as it would in that thread.
void Dispatcher::run_quick_ops() noexcept {
  to_.drain.go_on();
  while (core_.runs() && !core_.journal_full && !to_.backpressure.too_much_unread()) {
    uint64_t position = core_.at.cursor;
    const RecordHeader* const record = core_.journal.at(position);
    if (!record) return core_.backend->flush();
    if (!is_quick(*record) || has_to_wait(*record) || !take(*record)) return;
    core_.at.cursor = Journal::after(*record);
  }
}

/// Returns whether the record has to wait: a client may falsely claim to know something.
bool Dispatcher::has_to_wait(const RecordHeader& record) const {
  if (record.kind != RecordKind::op) return false;
  const ops::OpHeader& op = op_of(record);
  return ops::traits(static_cast<ops::OpId>(op.op)).taker == ops::Taker::replay &&
         !to_.replay.is_known(as<ops::Known>(op));
}

// -- one op ----------------------------------------------------------------------------------------------

bool Dispatcher::take(const RecordHeader& record) {
  if (record.kind != RecordKind::op)
    return to_.replay.is_there(record) || stand([&] { return to_.replay.await(record); });
  try {
    return dispatch(record);
  } catch (const std::exception& error) {
    core_.fault(record.sequence, 999, "worker-error", error.what());
    return false;
  }
}

template <class Wait>
bool Dispatcher::stand(Wait&& wait) {
  to_.drain.stand();
  const bool goes_on = wait();
  to_.drain.go_on();
  return goes_on;
}

/// Parks for FinishStep: the boundary is made, nothing after it may run.
void Dispatcher::park() {
  Lifecycle::Lock lock(core_.life.mutex);
  if (core_.runs()) core_.stop_backend(lock);
}

bool Dispatcher::dispatch(const RecordHeader& record) {
  const ops::OpHeader& op = op_of(record);
  to_.issuer.at_op(op);
  if (!core_.runs()) return false;
  switch (ops::traits(static_cast<ops::OpId>(op.op)).taker) {
    case ops::Taker::live_set:
      return to_.gate.at_live_set(as<ops::LiveSet>(op));
    case ops::Taker::step_begin:
      return to_.gate.at_step_begin(as<ops::StepBegin>(op), !to_.boundaries.will_park());
    case ops::Taker::boundary:
      return to_.boundaries.at_boundary(as<ops::Boundary>(op), record.position);
    case ops::Taker::images:
      if (!to_.issuer.serve_image(op)) return false;
      break;
    case ops::Taker::replay:
      if (const auto& known = as<ops::Known>(op);
          !to_.replay.is_known(known) && !stand([&] { return to_.replay.await_known(known); }))
        return false;
      to_.issuer.pass(op);
      return true;
    case ops::Taker::device:
      break;
  }
  if (op.op == static_cast<uint16_t>(ops::OpId::collective) && !to_.meeting.before(record)) return false;
  // Work before an op that may stand must become known by itself, as it was when the program waited for it.
  if (!to_.replay.is_over() && may_stand(op)) core_.backend->flush();
  issue(op);
  return true;
}

/// Issues an op. Other ranks see a communicator before it can be joined; those that wait for this one before
/// a step, or are to meet it, also see its collectives, and know by these that it will not come.
void Dispatcher::issue(const ops::OpHeader& op) {
  Checkpoints& checkpoints = to_.checkpoints;
  const auto id = static_cast<ops::OpId>(op.op);
  if (id == ops::OpId::communicator_create)
    checkpoints.pairing.will_join(as<ops::CommunicatorCreate>(op), checkpoints.boundaries());
  to_.issuer.issue(op);
  const ops::Window window = ops::traits(id).window;
  const bool collective = window == ops::Window::collective || window == ops::Window::launched_collective;
  if (!collective || !(checkpoints.plan.current().barrier || core_.slot().alone)) return;
  checkpoints.pairing.show_counts(checkpoints.boundaries());
  core_.board.job.ring();
}

}  // namespace jitc
