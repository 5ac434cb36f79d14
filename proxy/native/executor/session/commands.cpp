// Commands that only read a session, or change how it is kept: tables, validations, faults, counters.
#include <algorithm>

#include "base/error.h"
#include "session.h"

namespace jitc {

BoundaryState Session::boundary_table(uint64_t boundary, bool earlier) const {
  const std::lock_guard lock(core_.life.mutex);
  return checkpoints_.table(boundary, earlier);
}

/// Sets the policy. The service may not know yet that the ranks' steps do not correspond.
void Session::set_policy(Policy policy) {
  if (checkpoints_.pairing.uneven()) policy.copy_all = true, policy.barrier = false;
  checkpoints_.plan.want(std::move(policy));
}

bool Session::validate(uint64_t step) {
  return core_.runs() && gate_.validations.ask(step, core_.slot().begun, core_.at.last_boundary);
}

void Session::stop_after(uint64_t boundary) {
  const std::lock_guard lock(core_.life.mutex);
  if (boundary <= core_.at.last_boundary)
    throw Error("boundary " + std::to_string(boundary) + " has been made already");
  boundaries_.stop_after(boundary);
}

/// Arms a fault. A fault of the device fires between ops: "at once" means at the next one.
void Session::arm(const Fault& fault) {
  Injector::check(fault);
  if (!fault.of_device() && fault.at_once())
    return core_.host.fire(fault, Injector::describe(fault, nullptr, core_.at.last_boundary));
  Fault armed = fault;
  if (fault.of_device()) {
    const DeviceFaults* const faults = core_.backend->faults();
    const std::string why = faults ? faults->cannot_inject(fault.kind) : "this device makes no faults";
    if (!why.empty()) throw Error(why);
    if (fault.at_once()) armed.skip = 0, armed.operations = fault.waits_for_collective() ? 0 : 1;
  }
  issuer_.arm(armed);
}

SessionStats Session::stats() {
  const Counters& at = core_.at;
  SessionStats stats{};
  stats.session = core_.request.session;
  stats.ops_executed = at.ops_executed;
  stats.executed = core_.progress.executed(at.dispatched);
  stats.received = at.received;
  stats.journal_bytes = core_.journal.bytes();
  stats.memory_used = core_.backend->memory_used();
  stats.memory_total = core_.backend->memory_total();
  stats.boundary = at.last_boundary;
  stats.committed = at.committed;
  stats.protected_ = checkpoints_.protects();
  stats.unread_bytes = core_.completions.unsent();
  stats.held_back = backpressure_.waits();
  stats.phases = core_.times.seconds();
  stats.phases_of = core_.times.boundaries;
  stats.hashed_bytes = core_.times.hashed;
  stats.copied_bytes = core_.times.copied;
  stats.differences = replay_.tolerance.seen();
  // Not while a command rolls back to one of them, which may take long.
  if (const std::unique_lock lock(core_.life.mutex, std::try_to_lock); lock) {
    stats.reserves = reserves_in(checkpoints_.boundaries(), *checkpoints_.plan.wanted());
    stats.uncommitted = count_after(checkpoints_.boundaries(), at.committed);
  }
  const BoundaryTimes& times = core_.times;
  stats.reserve_seconds = static_cast<double>(times.reserve) * 1e-9 / std::max<double>(1, times.reserves);
  if (Activity* const activity = core_.backend->activity()) {
    stats.under_way = activity->under_way().value_or(UnderWay{});
    stats.turns = activity->turns_taken();
  }
  stats.will_go_on = drain_.will_go_on() || meeting_.waits();
  stats.uneven = checkpoints_.pairing.uneven();
  stats.steering_reads = at.steering_reads;
  stats.snapshot_bytes = core_.snapshot.used();
  stats.snapshot_held = core_.snapshot.budget().held();
  // Before the verdict: a step that is no longer waited for has one.
  stats.validating = gate_.validations.step();
  stats.verdict = gate_.validations.newest();
  stats.state = Lifecycle::name_of(core_.life.state);
  stats.policy = checkpoints_.plan.wanted()->copy_all ? "copy" : "peer";
  return stats;
}

void Session::break_device(uint32_t status, std::string_view cause, std::string_view message) {
  fault(core_.at.dispatched + 1, status, cause, message);
}

}  // namespace jitc
