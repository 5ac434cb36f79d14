#include "recovery.h"

#include <chrono>

#include "executor/checkpoint/checkpoints.h"
#include "executor/core/session_core.h"
#include "executor/journal/wire.h"
#include "executor/replay/replay.h"
#include "executor/step/boundary_maker.h"
#include "executor/step/late_boundary.h"
#include "restorer.h"

namespace jitc {
namespace {
/// Time for a healthy rank to finish the submitted ops of an optimizer step. It waits for no other rank.
constexpr auto kDrainTime = std::chrono::seconds(10);
}  // namespace

// -- fence -------------------------------------------------------------------------------------------

Position Recovery::fence(uint64_t epoch) {
  Lifecycle& life = core_.life;
  // First: a call of an earlier recovery that is in flight holds the session, and ends when it sees this.
  uint64_t newest = *life.newest_epoch;
  while (newest < epoch && !life.newest_epoch->compare_exchange_weak(newest, epoch)) {
  }
  Lifecycle::Lock lock(life.mutex);
  life.stop_if_outdated(epoch);
  life.changed.notify_all();
  if (life.state == Lifecycle::State::over)
    throw Error("the session has been given up: " + life.over_message);
  parts_.replay.reserve_memory();
  if (life.state == Lifecycle::State::running) stop_dispatcher(lock);
  if (life.state == Lifecycle::State::faulted) {
    core_.issued.quiet = false;
    park_dispatcher(lock);
  }
  life.epoch = epoch;
  parts_.boundaries.stop_after(0);
  const JobSlot& slot = core_.slot();  // whose epoch begins with Resume: a roll-back lowers its counters
  const Counters& at = core_.at;
  Position position{at.committed,
                    at.prepared,
                    slot.reached,
                    slot.begun,
                    0,
                    at.received,
                    reserves_in(parts_.checkpoints.boundaries(), *parts_.checkpoints.plan.wanted()),
                    parts_.checkpoints.pairing.history(parts_.checkpoints.boundaries())};
  lock.unlock();
  position.executed = core_.progress.executed(at.dispatched);
  return position;
}

/// Takes the session from running to fenced. If the optimizer step in progress needs no other rank, ops
/// already issued run to their end.
void Recovery::stop_dispatcher(Lifecycle::Lock& lock) {
  Lifecycle& life = core_.life;
  life.state = Lifecycle::State::fenced;
  core_.board.job.ring();
  life.changed.notify_all();
  // Only behind the barrier: without it the dispatcher is ahead of streams that may wait for a lost peer. The
  // current policy says nothing of the step in progress.
  const Issued& issued = core_.issued;
  life.drain = issued.in_step && !issued.step_collectives && issued.behind_barrier;
  if (life.drain) {
    // The dispatcher may be asleep with work still on the streams: it waits for them when it is woken.
    life.work.notify_one();
    life.changed.wait_for(lock, kDrainTime, [&] { return life.parked && !life.drain; });
    life.drain = false;
  }
  park_dispatcher(lock);
}

/// Fences the session: when this returns the dispatcher is parked and nothing runs any more.
void Recovery::park_dispatcher(Lifecycle::Lock& lock) {
  core_.stop_backend(lock);
  core_.life.changed.wait(lock, [&] { return core_.life.parked; });
  lock.unlock();  // a copy that failed may be about to report it
  parts_.late.give_up();
  lock.lock();
  if (GraphContents* const graphs = core_.backend->graph_contents())
    graphs->remember_graphs(core_.issued.table.list(*core_.backend));
  core_.life.restored = core_.issued.quiet;
}

// -- advancing -----------------------------------------------------------------------------------------

/// Returns whether nothing has run since the boundary was made.
bool Recovery::is_at(uint64_t boundary) const {
  const Checkpoints& checkpoints = parts_.checkpoints;
  return core_.life.restored && core_.issued.quiet && parts_.restorer.memory_is_whole() &&
         !checkpoints.empty() && checkpoints.newest().number == boundary &&
         core_.at.dispatched == checkpoints.newest().sequence;
}

/// Finishes the step. A step in which other threads take part may do something else on another rank.
RecoverReply Recovery::finish_step(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch) {
  RecoverReply reply = go_to(boundary, timeout_ms, epoch);
  const std::lock_guard lock(core_.life.mutex);
  if (reply.complete && parts_.checkpoints.pairing.uneven()) return {false, wire::kSharedStep, 0, {}};
  return reply;
}

RecoverReply Recovery::go_to(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch) {
  Lifecycle::Lock lock(core_.life.mutex);
  core_.life.require_fenced("FinishStep");
  core_.life.begin_command(epoch);
  if (is_at(boundary)) return {};
  if (parts_.checkpoints.find(boundary)) {
    lock.unlock();
    return parts_.restorer.roll_back(boundary, epoch);
  }
  if (const std::string damage = core_.journal.damage(); !damage.empty()) return {false, damage, 0, {}};
  if (boundary != core_.at.last_boundary + 1)
    return {false, "this rank is at boundary " + std::to_string(core_.at.last_boundary), 0, {}};
  // Skipped to, and not made before the next fault came: this may be the only rank that has the state.
  const bool taken_over = parts_.boundaries.imports(boundary);
  if (!core_.issued.quiet || (!taken_over && core_.slot().reached < boundary))
    return {false, "this rank was stopped in the middle of its work", 0, {}};
  return run_to(boundary, timeout_ms, epoch, lock);
}

RecoverReply Recovery::run_to(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch, Lifecycle::Lock& lock) {
  Lifecycle& life = core_.life;
  const auto running = [&] { return life.state == Lifecycle::State::running || !life.parked; };
  parts_.restorer.resumed();
  parts_.boundaries.park_after(boundary);
  core_.start();
  life.changed.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                        [&] { return !running() || life.outdated(epoch); });
  if (running()) stop_dispatcher(lock);
  parts_.boundaries.park_after(0);
  life.stop_if_outdated(epoch);
  if (core_.at.last_boundary < boundary) return {false, "the step did not get to its end in time", 0, {}};
  life.restored = true;
  return {};
}

void Recovery::resume(uint64_t epoch, const std::vector<uint32_t>& slots, double bound) {
  Lifecycle& life = core_.life;
  const Lifecycle::Lock lock(life.mutex);
  life.require_fenced("Resume");
  life.begin_command(epoch);
  if (!life.restored)
    throw Error("Resume needs Rollback, FinishStep or SkipStep first: this session stopped in the middle");
  parts_.restorer.resumed();
  parts_.replay.tolerance.begin(bound);
  life.epoch = epoch;
  parts_.checkpoints.set_peers(slots);
  core_.slot().epoch.store(epoch);
  core_.start();
}

void Recovery::abandon(uint32_t status, const std::string& message) {
  Lifecycle& life = core_.life;
  *life.newest_epoch = UINT64_MAX;
  Lifecycle::Lock lock(life.mutex);
  if (life.state == Lifecycle::State::running) stop_dispatcher(lock);
  if (life.state == Lifecycle::State::faulted) park_dispatcher(lock);
  life.state = Lifecycle::State::over;
  life.over_status = status;
  life.over_message = message;
  life.changed.notify_all();
  lock.unlock();
  core_.board.leave(core_.request.slot);
  core_.completions.completion(CompletionKind::fault, status, 0, std::as_bytes(std::span(message)));
}

}  // namespace jitc
