// Commands that only look at a session, or change how it is kept: tables, validations, faults, counters.
#include <algorithm>

#include "base/error.h"
#include "session.h"

namespace jitc {

BoundaryState Session::boundary_table(uint64_t boundary, bool earlier) const {
  const std::lock_guard lock(shared_.life.mutex);
  return checkpoints_.table(boundary, earlier);
}

/// The service may not know yet that the ranks' steps do not correspond.
void Session::set_policy(Policy policy) {
  if (checkpoints_.pairing.uneven()) policy.copy_all = true, policy.barrier = false;
  checkpoints_.plan.want(std::move(policy));
}

bool Session::validate(uint64_t step) {
  return shared_.runs() && gate_.validations.ask(step, shared_.slot().begun, shared_.at.last_boundary);
}

void Session::stop_after(uint64_t boundary) {
  const std::lock_guard lock(shared_.life.mutex);
  if (boundary <= shared_.at.last_boundary)
    throw Error("boundary " + std::to_string(boundary) + " has been made already");
  boundaries_.stop_after(boundary);
}

/// A fault of the device fires between ops: at once means at the next one.
void Session::arm(const Fault& fault) {
  Injector::check(fault);
  if (!fault.of_device() && fault.at_once())
    return shared_.host.fire(fault, Injector::describe(fault, nullptr, shared_.at.last_boundary));
  Fault armed = fault;
  if (fault.of_device()) {
    const std::string why = shared_.backend->cannot_inject(fault.kind);
    if (!why.empty()) throw Error(why);
    if (fault.at_once()) armed.skip = 0, armed.operations = fault.waits_for_collective() ? 0 : 1;
  }
  issuer_.arm(armed);
}

SessionStats Session::stats() {
  const Counters& at = shared_.at;
  SessionStats stats{};
  stats.session = shared_.request.session;
  stats.ops_executed = at.ops_executed;
  stats.executed = shared_.progress.executed(at.dispatched);
  stats.received = at.received;
  stats.journal_bytes = shared_.journal.bytes();
  stats.memory_used = shared_.backend->memory_used();
  stats.memory_total = shared_.backend->memory_total();
  stats.boundary = at.last_boundary;
  stats.committed = at.committed;
  stats.protected_ = checkpoints_.protects();
  stats.unread_bytes = shared_.completions.unsent();
  stats.held_back = backpressure_.waits();
  stats.phases = shared_.times.seconds();
  stats.phases_of = shared_.times.boundaries;
  stats.hashed_bytes = shared_.times.hashed;
  stats.copied_bytes = shared_.times.copied;
  stats.differences = replay_.tolerance.seen();
  // Not while a command goes back to one of them, which may take long.
  if (const std::unique_lock lock(shared_.life.mutex, std::try_to_lock); lock) {
    stats.reserves = reserves_in(checkpoints_.boundaries(), *checkpoints_.plan.wanted());
    stats.uncommitted = count_after(checkpoints_.boundaries(), at.committed);
  }
  const BoundaryTimes& times = shared_.times;
  stats.reserve_seconds = static_cast<double>(times.reserve) * 1e-9 / std::max<double>(1, times.reserves);
  stats.under_way = shared_.backend->under_way().value_or(UnderWay{});
  stats.turns = shared_.backend->turns_taken();
  stats.will_go_on = drain_.will_go_on() || meeting_.waits();
  stats.uneven = checkpoints_.pairing.uneven();
  stats.steering_reads = at.steering_reads;
  stats.snapshot_bytes = shared_.snapshot.used();
  stats.snapshot_held = shared_.snapshot.budget().held();
  // Before the verdict: a step that is no longer waited for has one.
  stats.validating = gate_.validations.step();
  stats.verdict = gate_.validations.newest();
  stats.state = Lifecycle::name_of(shared_.life.state);
  stats.policy = checkpoints_.plan.wanted()->copy_all ? "copy" : "peer";
  return stats;
}

void Session::break_device(uint32_t status, std::string_view cause, std::string_view message) {
  fault(shared_.at.dispatched + 1, status, cause, message);
}

}  // namespace jitc
