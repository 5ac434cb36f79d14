#include "meeting.h"

#include <algorithm>
#include <vector>

#include "boundary_maker.h"
#include "executor/checkpoint/checkpoints.h"
#include "executor/core/session_core.h"
#include "executor/drain/lookout.h"
#include "executor/journal/wire.h"
#include "executor/replay/replay.h"
#include "executor/results/lookup.h"
#include "executor/state/communications.h"

namespace jitc {

bool Meeting::before(const RecordHeader& record) {
  if (failures_ >= kTries || !is_called() || core_.issued.in_step || !replay_.is_over()) return true;
  if (checkpoints_.pairing.at_end_of_step()) return true;  // its own boundary is here
  if (passes_) return --passes_, true;
  const auto& op = as<ops::Collective>(op_of(record));
  checkpoints_.pairing.show(checkpoints_.boundaries());
  core_.board.job.ring();
  const Encounter found = await(op);
  if (waits_.exchange(false)) checkpoints_.pairing.stand({}, checkpoints_.boundaries());
  if (!core_.runs()) return false;
  if (found != Encounter::meets) return true;
  failures_ = in_vain_ = 0;
  // From now on its boundaries have other numbers than its program gives them, whether or not others' have.
  checkpoints_.pairing.find_uneven(checkpoints_.boundaries());
  return boundaries_.make_between(op.header, record.position);
}

/// Waits for others to come to the collective, as long as it pays and they do not wait for this one.
Encounter Meeting::await(const ops::Collective& op) {
  Lookout lookout(core_, checkpoints_);
  const auto end = Lookout::Clock::now() + patience_;
  for (;;) {
    const uint32_t seen = core_.board.job.doorbell();
    const Encounter found = look(op);
    if (found != Encounter::waits || !core_.runs()) return found;
    stand_before(op);
    const bool in_circle = lookout.is_in_circle();
    if (in_circle || Lookout::Clock::now() > end) return in_vain(in_circle), Encounter::none;
    core_.board.job.wait(seen, kLookMilliseconds);
  }
}

/// Shows others what this rank waits for: that they come to the collective.
void Meeting::stand_before(const ops::Collective& op) {
  waits_ = true;
  const auto& communications = core_.issued.table.communications();
  Standing standing{communications.tally(), {}, {}};
  standing.waits = awaited_before(standing.done, communications.counts_of(op));
  if (standing.waits == Tally{}) standing = {};  // messages to ranks with which it shares nothing else
  checkpoints_.pairing.stand(std::move(standing), checkpoints_.boundaries());
}

/// Returns whether any rank of the node calls: which of them belong to this job is looked up later.
bool Meeting::is_called() const {
  for (uint32_t slot = 0; slot < JobBoard::kSlots; ++slot)
    if (slot != core_.request.slot && core_.board.job.slot(slot).alone.load(std::memory_order_relaxed))
      return true;
  return false;
}

Encounter Meeting::look(const ops::Collective& op) const {
  RankHistory mine = checkpoints_.pairing.history(checkpoints_.boundaries());
  const Tally next = core_.issued.table.communications().counts_of(op);
  mine.kept.push_back({core_.at.last_boundary + 1, mine.now});
  std::vector<RankHistory> calling, others;
  for (const uint32_t one : core_.board.job.group(core_.request.slot, checkpoints_.peers())) {
    if (one == core_.request.slot) continue;
    auto history = core_.board.job.history(one);
    if (!history) continue;
    (core_.board.job.slot(one).alone.load() ? calling : others).push_back(std::move(*history));
  }
  return encounter(mine, next, calling, others);
}

/// Notes a wait in vain. A circle costs no time, so it may come again.
void Meeting::in_vain(bool in_circle) {
  in_vain_ = std::min(in_vain_ + 1, kTries);
  passes_ = uint64_t{1} << in_vain_;
  if (in_circle) return;
  ++failures_;
  patience_ = std::min(2 * patience_, kLongest);
}

}  // namespace jitc
