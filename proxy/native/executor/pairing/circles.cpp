#include "circles.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace jitc {
namespace {

int32_t rank_in(const Tally& done, uint64_t communicator) {
  const Membership* const one = done.find(communicator);
  return one ? one->rank : Membership::kUnknown;
}

/// Returns whether a rank has not come to a collective. Once ranks have made one, all have joined the
/// communicator: a rank that is not in it has no part in it. While it is being joined that is unknown.
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

/// Returns whether the other rank has submitted its part, and that is not done: it then needs no further op
/// of that rank.
bool has_open(const Standing& there, const Membership& awaited) {
  if (!there.waits.find(awaited.communicator)) return false;
  const Membership* const finished = there.finished.find(awaited.communicator);
  return !finished || finished->collectives < awaited.collectives;
}

bool has_open(const Standing& there, const Exchange& awaited, int32_t whom) {
  if (!there.waits.exchanged(awaited.communicator, whom, !awaited.received)) return false;
  return there.finished.exchanged(awaited.communicator, whom, !awaited.received) < awaited.count;
}

enum class Waits { no, perhaps, surely };

Waits waits_for(const Stander& rank, const Stander& other) {
  if (rank.at_step && other.reached < rank.reached) return Waits::surely;
  const Standing &here = rank.standing, &there = other.standing;
  Waits found = Waits::no;
  for (const Membership& one : here.waits.memberships) {
    if (is_behind(there.done, one)) return Waits::surely;
    if (has_open(there, one)) found = Waits::perhaps;
  }
  for (const Exchange& one : here.waits.exchanges) {
    const int32_t mine = rank_in(here.done, one.communicator);
    if (owes(there.done, one, mine)) return Waits::surely;
    if (has_open(there, one, mine)) found = Waits::perhaps;
  }
  return found;
}

/// All ranks, this one first, and which of them waits for which; looked up on demand.
class Graph {
 public:
  Graph(const Stander& mine, std::span<const Stander> others)
      : mine_(mine), others_(others), size_(others.size() + 1), edges_(size_ * size_) {}

  /// Returns whether a circle leads through this rank in which one waits surely for the next; least: of each.
  bool has_circle(Waits least) {
    const auto ahead = reached([&](size_t from, size_t to) { return edge(from, to) >= least; });
    if (ahead.size() == 1) return false;  // this one waits for no rank
    const auto behind = reached([&](size_t from, size_t to) { return edge(to, from) >= least; });
    return std::ranges::any_of(ahead, [&](size_t from) {
      return std::ranges::any_of(behind, [&](size_t to) { return edge(from, to) == Waits::surely; });
    });
  }

 private:
  const Stander& at(size_t i) const { return i ? others_[i - 1] : mine_; }
  Waits edge(size_t from, size_t to) {
    auto& known = edges_[from * size_ + to];
    if (!known) known = from == to ? Waits::no : waits_for(at(from), at(to));
    return *known;
  }
  /// Returns the ranks reached from this one, itself included.
  template <class Next>
  std::vector<size_t> reached(Next next) const {
    std::vector<char> known(size_);
    std::vector<size_t> found{0};
    known[0] = true;
    for (size_t at = 0; at < found.size(); ++at)
      for (size_t to = 0; to < size_; ++to)
        if (!known[to] && next(found[at], to)) {
          known[to] = true;
          found.push_back(to);
        }
    return found;
  }

  const Stander& mine_;
  std::span<const Stander> others_;
  size_t size_;
  std::vector<std::optional<Waits>> edges_;
};

}  // namespace

Tally awaited_before(const Tally& done, const Tally& next) {
  Tally awaited;
  for (Membership one : next.memberships) {
    if (!one.collectives) continue;  // messages alone
    if (const Membership* const mine = done.find(one.communicator)) one.collectives += mine->collectives;
    awaited.memberships.push_back(one);
  }
  for (Exchange one : next.exchanges) {
    one.count += done.exchanged(one.communicator, one.peer, one.received != 0);
    awaited.exchanges.push_back(one);
  }
  return awaited;
}

bool waits_in_circle(const Stander& mine, std::span<const Stander> others) {
  return Graph(mine, others).has_circle(Waits::surely);
}

bool may_wait_in_circle(const Stander& mine, std::span<const Stander> others) {
  return Graph(mine, others).has_circle(Waits::perhaps);
}

}  // namespace jitc
