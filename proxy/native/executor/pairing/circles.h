// Circles of ranks that wait for each other, found by what the ranks show of themselves.
//
// A rank that stands (tally.h) waits for another one if that one has not come to a collective, a transfer or
// a join that this one waits to be done; at the begin of a step, for each one that has not reached it. A rank
// that stands as well does not come to it before it continues: in a circle of such ranks none ever does.
// Where the other one has submitted its part, but that is not done, it may be queued behind something in a
// stream that waits for this one; or it takes long. Called by: Drain. Pure.
#pragma once
#include <span>

#include "base/tally.h"

namespace jitc {

struct Stander {
  Standing standing;
  uint64_t reached = 0;  // the newest optimizer step whose begin it has reached
  bool at_step = false;  // it waits there for others
  bool operator==(const Stander&) const = default;
};

/// Returns what a rank waits for that needs all ranks to come to these collectives (counted from 0) first.
Tally awaited_before(const Tally& done, const Tally& next);
/// Returns whether a rank that this one waits for waits, itself or through others, for this one.
bool waits_in_circle(const Stander& mine, std::span<const Stander> others);
/// Returns the same, where work that others have submitted and not done is waited for as well. Applies to
/// ranks none of which makes progress: the device of any other rank may only take long.
bool may_wait_in_circle(const Stander& mine, std::span<const Stander> others);

}  // namespace jitc
