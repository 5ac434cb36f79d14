#include "circles.h"

#include <algorithm>
#include <vector>

namespace jitc {
namespace {

int32_t rank_in(const Tally& done, uint64_t communicator) {
  const Membership* const one = done.find(communicator);
  return one ? one->rank : Membership::kUnknown;
}

/// A communicator that ranks have made collectives of has been joined by all of them: who is not in it has no
/// part in it. Of one that is being joined that is not known.
bool is_behind(const Tally& done, const Membership& awaited) {
  const Membership* const its = done.find(awaited.communicator);
  if (!its) return awaited.collectives == 1;
  return !its->left && its->collectives < awaited.collectives;
}

bool owes(const Tally& done, const Exchange& awaited, int32_t whom) {
  const Membership* const its = done.find(awaited.communicator);
  if (!its || its->left || its->rank != awaited.peer) return false;
  return done.exchanged(awaited.communicator, whom, !awaited.received) < awaited.count;
}

bool waits_for(const Stander& rank, const Stander& other) {
  if (rank.at_step && other.reached < rank.reached) return true;
  const auto& [done, waits] = rank.standing;
  const Tally& there = other.standing.done;
  return std::ranges::any_of(waits.memberships,
                             [&](const Membership& one) { return is_behind(there, one); }) ||
         std::ranges::any_of(waits.exchanges, [&](const Exchange& one) {
           return owes(there, one, rank_in(done, one.communicator));
         });
}

}  // namespace

bool waits_in_circle(const Stander& mine, std::span<const Stander> others) {
  std::vector<const Stander*> reached{&mine};
  std::vector<char> known(others.size());
  for (size_t at = 0; at < reached.size(); ++at) {
    if (at && waits_for(*reached[at], mine)) return true;
    for (size_t i = 0; i < others.size(); ++i) {
      if (known[i] || !waits_for(*reached[at], others[i])) continue;
      known[i] = true;
      reached.push_back(&others[i]);
    }
  }
  return false;
}

}  // namespace jitc
