#include "lookout.h"

#include <span>
#include <utility>

#include "executor/checkpoint/checkpoints.h"
#include "executor/core/session_core.h"

namespace jitc {

bool Lookout::is_in_circle() {
  std::vector<Stander> ranks{{checkpoints_.pairing.standing(), core_.slot().reached, false}};
  for (const uint32_t one : core_.board.job.group(core_.request.slot, checkpoints_.peers()))
    if (one != core_.request.slot)
      if (auto other = stander(one)) ranks.push_back(std::move(*other));
  const std::span<const Stander> others = std::span(ranks).subspan(1);
  if (waits_in_circle(ranks.front(), others)) return true;
  const auto now = Clock::now();
  if (ranks == ranks_) return doubtful_ = now - since_ >= doubt_ && may_wait_in_circle(ranks.front(), others);
  if (ranks_.empty() || ranks.front() != ranks_.front()) mine_since_ = now;
  ranks_ = std::move(ranks);
  since_ = now;
  return false;
}

/// Returns the rank of the slot; nothing if it does not stand.
std::optional<Stander> Lookout::stander(uint32_t slot) const {
  auto history = core_.board.job.history(slot);
  if (!history) return std::nullopt;
  const JobSlot& its = core_.board.job.slot(slot);
  Stander found{std::move(history->standing), its.reached, false};
  if (found.standing != Standing{}) return found;
  found.at_step = its.begun < found.reached;
  found.standing.done = std::move(history->at_step);
  return found.at_step ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace jitc
