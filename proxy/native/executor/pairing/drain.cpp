#include "drain.h"

#include <utility>
#include <vector>

#include "executor/checkpoint/checkpoints.h"
#include "executor/replay/replay.h"
#include "executor/session/shared.h"
#include "executor/state/communications.h"

namespace jitc {
namespace {
using Clock = std::chrono::steady_clock;
/// Most waits are shorter. Afterwards also how often the rank looks for a circle.
constexpr std::chrono::milliseconds kMoment{20};
/// Until ranks that do not get on, and may be in a circle, are taken to be in one.
constexpr std::chrono::milliseconds kStill{200};
}  // namespace

Drained Drain::await() {
  uint64_t position = shared_.at.cursor;
  return await_before(Journal::after(*shared_.journal.at(position)));
}

Drained Drain::await_beside() { return await_before(shared_.at.cursor); }

Drained Drain::await_patiently() {
  const PhaseTime time(shared_.times.drain);
  return shared_.backend->idle() ? Drained::done : Drained::stopped;
}

/// more: where ops begin that can be given when it gives up.
Drained Drain::await_before(uint64_t more) {
  const PhaseTime time(shared_.times.drain);
  Look last;
  bool circle = false;
  auto found = shared_.backend->await_idle(kMoment);
  while (found == Backend::Idle::not_yet && !circle) {
    stand();
    const bool can_go_on = shared_.journal.tail() > more && checkpoints_.pairing.stands();
    circle = can_go_on && is_in_circle(last);
    will_go_on_ = can_go_on && !checkpoints_.plan.current().peer_mode();
    if (!circle && will_go_on_) circle = limit_.is_over(Clock::now() - last.mine_since);
    if (!circle) found = shared_.backend->await_idle(kMoment);
  }
  will_go_on_ = false;
  go_on();
  if (found == Backend::Idle::never || !shared_.runs()) return Drained::stopped;
  if (!circle) limit_.paid_off(Clock::now() - last.mine_since);
  return circle ? Drained::circle : Drained::done;
}

bool Drain::may_be_awaited() const { return unfinished() != Tally{}; }

void Drain::rest() {
  if (program_waits()) stand();
}

void Drain::stand() { checkpoints_.pairing.stand(unfinished(), checkpoints_.boundaries()); }

void Drain::go_on() {
  if (checkpoints_.pairing.stands()) checkpoints_.pairing.stand({}, checkpoints_.boundaries());
}

/// What has a result is done when that is there; of what a replay comes to again, when it has come again.
Tally Drain::unfinished() const {
  auto& communications = shared_.issued.table.communications();
  communications.learn_ranks(*shared_.backend);
  return communications.unfinished([this](const Communications::Mark& mark) {
    if (!mark.result) {
      const StreamProgress wanted{mark.stream, mark.sequence};
      return shared_.progress.reached({&wanted, 1});
    }
    if (shared_.results.is_promised(mark.sequence)) return false;
    return replay_.is_over() || !shared_.results.known(mark.sequence) ||
           shared_.progress.noted_again(mark.sequence);
  });
}

bool Drain::program_waits() const {
  return shared_.results.promised() || shared_.progress.progress_doorbell().is_awaited();
}

/// Nothing: it goes on.
std::optional<Stander> Drain::stander(uint32_t slot) const {
  auto history = shared_.board.history(slot);
  if (!history) return std::nullopt;
  const BoardSlot& its = shared_.board.slot(slot);
  Stander found{std::move(history->standing), its.reached, false};
  if (found.standing != Standing{}) return found;
  found.at_step = its.begun < found.reached;
  found.standing.done = std::move(history->at_step);
  return found.at_step ? std::optional(std::move(found)) : std::nullopt;
}

bool Drain::is_in_circle(Look& last) const {
  std::vector<Stander> ranks{{checkpoints_.pairing.standing(), shared_.slot().reached, false}};
  for (const uint32_t one : shared_.board.group(shared_.request.slot, checkpoints_.peers()))
    if (one != shared_.request.slot)
      if (auto other = stander(one)) ranks.push_back(std::move(*other));
  const std::span<const Stander> others = std::span(ranks).subspan(1);
  if (waits_in_circle(ranks.front(), others)) return true;
  const Time now = Clock::now();
  if (ranks == last.ranks) return now - last.since > kStill && may_wait_in_circle(ranks.front(), others);
  if (last.ranks.empty() || ranks.front() != last.ranks.front()) last.mine_since = now;
  last.ranks = std::move(ranks);
  last.since = now;
  return false;
}

}  // namespace jitc
