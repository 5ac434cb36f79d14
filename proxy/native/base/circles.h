// Ranks that wait for each other in a circle, by what they show of themselves (tally.h).
//
// A rank that stands (RankHistory::waits) waits for another one where that one has not come to a collective, a
// transfer or a join that this one waits to be done. One that stands as well does not come to it before it goes
// on: in a circle of such ranks none ever does. Called by: Drain. Pure.
#pragma once
#include <span>

#include "tally.h"

namespace jitc {

/// Whether one that this rank waits for waits, itself or through others, for this one.
bool waits_in_circle(const RankHistory& mine, std::span<const RankHistory> others);

}  // namespace jitc
