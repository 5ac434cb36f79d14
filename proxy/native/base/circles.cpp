#include "circles.h"

#include <algorithm>
#include <vector>

namespace jitc {
namespace {

int32_t rank_in(const RankHistory& rank, uint64_t communicator) {
  const Membership* const one = rank.now.find(communicator);
  return one ? one->rank : Membership::kUnknown;
}

/// A communicator that ranks have made collectives of has been joined by all of them: who is not in it has no
/// part in it. Of one that is being joined that is not known.
bool waits_for(const RankHistory& rank, const RankHistory& other) {
  const auto is_awaited = [&](const Membership& one) {
    const Membership* const its = other.now.find(one.communicator);
    if (!its) return one.collectives == 1;
    return !its->left && its->collectives < one.collectives;
  };
  const auto is_owed = [&](const Exchange& one) {
    const Membership* const its = other.now.find(one.communicator);
    if (!its || its->left || its->rank != one.peer) return false;
    const int32_t own = rank_in(rank, one.communicator);
    return other.now.exchanged(one.communicator, own, !one.received) < one.count;
  };
  return std::ranges::any_of(rank.waits.memberships, is_awaited) ||
         std::ranges::any_of(rank.waits.exchanges, is_owed);
}

}  // namespace

bool waits_in_circle(const RankHistory& mine, std::span<const RankHistory> others) {
  std::vector<const RankHistory*> reached{&mine};
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
