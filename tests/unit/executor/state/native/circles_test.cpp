// Which ranks wait for each other in a circle; run by tests/unit/executor/checkpoint/test_circles.py. Prints
// what is wrong.
#include "base/circles.h"

#include <cstdio>
#include <initializer_list>

namespace {
using namespace jitc;

constexpr uint64_t kWorld = 1, kSide = 2;

/// In both communicators, with so many collectives of each; it waits for those whose names are given.
RankHistory rank(int32_t number, uint64_t world, uint64_t side, std::initializer_list<uint64_t> waits) {
  RankHistory made;
  made.now.memberships = {{kWorld, number, 0, world}, {kSide, number, 0, side}};
  for (const uint64_t one : waits) made.waits.memberships.push_back(*made.now.find(one));
  return made;
}

bool circle(const RankHistory& mine, std::initializer_list<RankHistory> others) {
  return waits_in_circle(mine, std::vector<RankHistory>(others));
}

#define CHECK(condition)                                         \
  do {                                                           \
    if (!(condition)) return std::printf("%s\n", #condition), 1; \
  } while (false)

int collectives() {
  const RankHistory ahead = rank(0, 3, 2, {kWorld}), beside = rank(1, 2, 3, {kSide});
  CHECK(circle(ahead, {beside}) && circle(beside, {ahead}));
  CHECK(!circle(ahead, {rank(1, 2, 3, {})}));        // it goes on, and will come
  CHECK(!circle(ahead, {rank(1, 3, 3, {kSide})}));   // it has come
  CHECK(!circle(rank(0, 3, 2, {}), {beside}));       // this one goes on
  CHECK(!circle(ahead, {rank(1, 2, 2, {kWorld})}));  // waits for a third one
  return 0;
}

/// The third one keeps up the first, which keeps up the second, which keeps up the third.
int through_others() {
  RankHistory a = rank(0, 2, 2, {kWorld}), b = rank(1, 1, 3, {kSide}), c = rank(2, 2, 2, {kWorld});
  b.now.memberships.pop_back(), c.now.memberships.pop_back();
  b.now.memberships.push_back({3, 1, 0, 4}), c.now.memberships.push_back({3, 2, 0, 3});
  b.waits.memberships = {{3, 1, 0, 4}};
  CHECK(circle(a, {b, c}) && circle(a, {c, b}) && circle(b, {c}) && circle(c, {b}));
  CHECK(!circle(a, {b}) && !circle(a, {c}));
  const RankHistory outside = rank(3, 5, 2, {kWorld});
  CHECK(!circle(outside, {b, c}));  // it waits for a circle, and is none of it
  return 0;
}

int transfers() {
  RankHistory sender = rank(0, 1, 1, {}), receiver = rank(1, 2, 1, {kWorld});
  sender.now.exchanges = sender.waits.exchanges = {{kSide, 1, 0, 2}};
  receiver.now.exchanges = {{kSide, 0, 1, 1}};
  CHECK(circle(sender, {receiver}) && circle(receiver, {sender}));
  receiver.now.exchanges[0].count = 2;
  CHECK(!circle(sender, {receiver}));
  receiver.now.exchanges = {{kSide, 0, 1, 1}};
  receiver.now.memberships[1].rank = 2;  // another rank is the one
  CHECK(!circle(sender, {receiver}));
  return 0;
}

int joins() {
  RankHistory joins = rank(0, 1, 1, {}), other = rank(1, 2, 1, {kWorld});
  joins.waits.memberships = {{9, 0, 0, 1}};
  CHECK(circle(joins, {other}));
  joins.waits.memberships[0].collectives = 2;  // all have joined: the other one has no part in it
  CHECK(!circle(joins, {other}));
  joins.waits.memberships = {{kSide, 0, 0, 4}};
  other.now.memberships[1].left = 1;  // it does not come any more
  CHECK(!circle(joins, {other}));
  return 0;
}
}  // namespace

int main() { return collectives() || through_others() || transfers() || joins(); }
