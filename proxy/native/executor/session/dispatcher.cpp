#include "dispatcher.h"

#include "executor/checkpoint/boundary_maker.h"
#include "executor/checkpoint/checkpoints.h"
#include "executor/checkpoint/step_gate.h"
#include "executor/journal/lookup.h"
#include "executor/journal/wire.h"
#include "executor/replay/replay.h"
#include "executor/stream/backpressure.h"
#include "jitc/generated_op_traits.h"
#include "op_issuer.h"

namespace jitc {

void Dispatcher::start() {
  thread_ = std::thread([this] { loop(); });
}

void Dispatcher::join() {
  if (thread_.joinable()) thread_.join();
}

void Dispatcher::loop() {
  Lifecycle& life = shared_.life;
  Lifecycle::Lock lock(life.mutex);
  for (;;) {
    life.parked = true;
    life.changed.notify_all();
    life.asleep.store(true);
    // With Lifecycle::wake_dispatcher: one of the two sees the other.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    life.work.wait(lock, [&] { return life.stop || life.drain || (life.runs() && has_work()); });
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
    // So that a step can be finished later from exactly here.
    shared_.issued.quiet = shared_.backend->idle();
    lock.lock();
    life.drain = false;
  }
}

bool Dispatcher::has_work() const {
  return shared_.at.cursor < shared_.journal.tail() || shared_.journal_full || to_.boundaries.has_imported();
}

void Dispatcher::run_ops() {
  if (to_.boundaries.has_imported() && !to_.boundaries.make_imported()) return;
  while (shared_.runs()) {
    if (!to_.backpressure.wait_until_read()) return;
    if (shared_.journal_full) to_.checkpoints.drop_journal();
    if (!to_.boundaries.will_park()) to_.replay.release_memory_after_replay();
    uint64_t position = shared_.at.cursor;
    const RecordHeader* const record = shared_.journal.at(position);
    if (!record) return shared_.backend->flush();
    if (!take(*record)) return;  // not done: it comes again when the session goes on
    shared_.at.cursor = Journal::after(*record);
    if (to_.boundaries.take_park_due()) return park();
  }
}

bool Dispatcher::take(const RecordHeader& record) {
  if (record.kind != RecordKind::op) return to_.replay.await(record);
  try {
    return dispatch(record);
  } catch (const std::exception& error) {
    shared_.fault(record.sequence, 999, "worker-error", error.what());
    return false;
  }
}

/// FinishStep: the boundary is made, nothing after it may run.
void Dispatcher::park() {
  Lifecycle::Lock lock(shared_.life.mutex);
  if (shared_.runs()) shared_.stop_backend(lock);
}

bool Dispatcher::dispatch(const RecordHeader& record) {
  const ops::OpHeader& op = op_of(record);
  to_.issuer.at_op(op);
  if (!shared_.runs()) return false;
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
      if (!to_.replay.await_known(as<ops::Known>(op))) return false;
      to_.issuer.pass(op);
      return true;
    case ops::Taker::device:
      break;
  }
  to_.issuer.issue(op);
  return true;
}

}  // namespace jitc
