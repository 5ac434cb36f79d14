#include "drain.h"

#include "executor/checkpoint/checkpoints.h"
#include "executor/core/session_core.h"
#include "executor/replay/replay.h"
#include "executor/state/communications.h"
#include "lookout.h"

namespace jitc {

Drained Drain::await() {
  uint64_t position = core_.at.cursor;
  return await_before(Journal::after(*core_.journal.at(position)));
}

Drained Drain::await_beside() { return await_before(core_.at.cursor); }

Drained Drain::await_patiently() {
  const PhaseTime time(core_.times.drain);
  return core_.backend->idle() ? Drained::done : Drained::stopped;
}

/// Waits until the device is idle. more: begin of the ops that can be submitted if it gives up.
Drained Drain::await_before(uint64_t more) {
  const PhaseTime time(core_.times.drain);
  Lookout look(core_, checkpoints_, limit_.doubt());
  bool circle = false;
  auto found = core_.backend->await_idle(DrainLimit::kMoment);
  while (found == Backend::Idle::not_yet && !circle) {
    stand();
    const bool can_go_on = core_.journal.tail() > more && checkpoints_.pairing.stands();
    circle = can_go_on && look.is_in_circle();
    will_go_on_ = can_go_on && !checkpoints_.plan.current().peer_mode();
    if (!circle && will_go_on_) circle = limit_.is_over(checkpoints_.pairing.standing().waits, look.still());
    if (!circle) found = core_.backend->await_idle(DrainLimit::kMoment);
  }
  will_go_on_ = false;
  go_on();
  if (found == Backend::Idle::never || !core_.runs()) return Drained::stopped;
  if (!circle) limit_.paid_off(look.still());
  if (circle && look.is_doubtful()) limit_.was_doubtful();
  return circle ? Drained::circle : Drained::done;
}

bool Drain::may_be_awaited() const { return standing() != Standing{}; }

void Drain::rest() {
  if (program_waits()) stand();
}

void Drain::stand() { checkpoints_.pairing.stand(standing(), checkpoints_.boundaries()); }

void Drain::go_on() {
  if (checkpoints_.pairing.stands()) checkpoints_.pairing.stand({}, checkpoints_.boundaries());
}

/// Returns what this rank waits for. An op with a result is done once that exists; in a replay, again.
Standing Drain::standing() const {
  auto& communications = core_.issued.table.communications();
  communications.learn_ranks(*core_.backend);
  return communications.standing([this](const Given::Mark& mark) {
    if (!mark.result) {
      const StreamProgress wanted{mark.stream, mark.sequence};
      return core_.progress.reached({&wanted, 1});
    }
    if (core_.results.is_promised(mark.sequence)) return false;
    return replay_.is_over() || !core_.results.known(mark.sequence) ||
           core_.progress.noted_again(mark.sequence);
  });
}

bool Drain::program_waits() const {
  return core_.results.promised() || core_.progress.progress_doorbell().is_awaited();
}

}  // namespace jitc
