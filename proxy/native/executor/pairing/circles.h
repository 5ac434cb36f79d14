// Ranks that wait for each other in a circle, by what they show of themselves.
//
// A rank that stands (tally.h) waits for another one where that one has not come to a collective, a transfer
// or a join that this one waits to be done; at the begin of a step, for each one that has not reached it. One
// that stands as well does not come to it before it goes on: in a circle of such ranks none ever does. Where
// the other one has given its part, but that is not done, it may stand behind something in a stream that
// waits for this one; or it takes long. Called by: Drain. Pure.
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

/// What a rank waits for that goes no further before all have come to these collectives (counted from 0).
Tally awaited_before(const Tally& done, const Tally& next);
/// Whether one that this rank waits for waits, itself or through others, for this one.
bool waits_in_circle(const Stander& mine, std::span<const Stander> others);
/// The same, where what others have given and not done is waited for as well. So it is of ranks none of which
/// gets on: of others the device may only take long.
bool may_wait_in_circle(const Stander& mine, std::span<const Stander> others);

}  // namespace jitc
