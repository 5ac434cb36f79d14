// Which ranks wait for each other in a circle; run by tests/unit/executor/checkpoint/test_circles.py. Prints
// what is wrong.
#include "executor/pairing/circles.h"

#include <chrono>
#include <cstdio>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/given.h"
#include "executor/drain/drain_limit.h"

namespace {
using namespace jitc;

constexpr uint64_t kWorld = 1, kSide = 2;

/// In both communicators, with so many collectives of each; it waits for those whose names are given.
Stander rank(int32_t number, uint64_t world, uint64_t side, std::initializer_list<uint64_t> waits) {
  Stander made;
  made.standing.done.memberships = {{kWorld, number, 0, world}, {kSide, number, 0, side}};
  for (const uint64_t one : waits) made.standing.waits.memberships.push_back(*made.standing.done.find(one));
  return made;
}

bool circle(const Stander& mine, std::initializer_list<Stander> others) {
  return waits_in_circle(mine, std::vector<Stander>(others));
}

bool perhaps(const Stander& mine, std::initializer_list<Stander> others) {
  return may_wait_in_circle(mine, std::vector<Stander>(others));
}

#define CHECK(condition)                                         \
  do {                                                           \
    if (!(condition)) return std::printf("%s\n", #condition), 1; \
  } while (false)

int collectives() {
  const Stander ahead = rank(0, 3, 2, {kWorld}), beside = rank(1, 2, 3, {kSide});
  CHECK(circle(ahead, {beside}) && circle(beside, {ahead}));
  CHECK(!circle(ahead, {rank(1, 2, 3, {})}));        // it goes on, and will come
  CHECK(!circle(ahead, {rank(1, 3, 3, {kSide})}));   // it has come
  CHECK(!circle(rank(0, 3, 2, {}), {beside}));       // this one goes on
  CHECK(!circle(ahead, {rank(1, 2, 2, {kWorld})}));  // waits for a third one
  return 0;
}

/// The first one waits for the second, that for the third, and that for the first.
int through_others() {
  const auto in = [](int32_t number, uint64_t one, uint64_t count, uint64_t other, uint64_t least) {
    Stander made;
    made.standing.done.memberships = {{one, number, 0, count}, {other, number, 0, least}};
    made.standing.waits.memberships = {made.standing.done.memberships[0]};
    if (one > other) std::swap(made.standing.done.memberships[0], made.standing.done.memberships[1]);
    return made;
  };
  const Stander a = in(0, 1, 2, 3, 1), b = in(1, 2, 2, 1, 1), c = in(2, 3, 2, 2, 1);
  CHECK(circle(a, {b, c}) && circle(a, {c, b}) && circle(b, {a, c}) && circle(c, {b, a}));
  CHECK(!circle(a, {b}) && !circle(a, {c}) && !circle(b, {c}));
  CHECK(!circle(in(3, 1, 5, 4, 1), {a, b, c}));  // it waits for the circle, and is none of it
  return 0;
}

int transfers() {
  Stander sender = rank(0, 1, 1, {}), receiver = rank(1, 2, 1, {kWorld});
  sender.standing.done.exchanges = sender.standing.waits.exchanges = {{kSide, 1, 0, 2}};
  receiver.standing.done.exchanges = {{kSide, 0, 1, 1}};
  CHECK(circle(sender, {receiver}) && circle(receiver, {sender}));
  receiver.standing.done.exchanges[0].count = 2;
  CHECK(!circle(sender, {receiver}));
  receiver.standing.done.exchanges = {{kSide, 0, 1, 1}};
  receiver.standing.done.memberships[1].rank = 2;  // another rank is the one
  CHECK(!circle(sender, {receiver}));
  return 0;
}

/// One waits for the other to begin the step, which waits for what comes after the step.
int steps() {
  Stander gathers = rank(0, 2, 1, {}), other = rank(1, 2, 2, {kSide});
  gathers.reached = 4, gathers.at_step = true, other.reached = 3;
  CHECK(circle(other, {gathers}) && circle(gathers, {other}));
  other.reached = 4;
  CHECK(!circle(other, {gathers}));
  return 0;
}

/// The other one has given what this one waits for, behind something that waits for this one.
int streams() {
  Stander mine = rank(0, 3, 2, {kSide}), other = rank(1, 4, 2, {kWorld, kSide});
  CHECK(!circle(mine, {other}) && perhaps(mine, {other}) && perhaps(other, {mine}));
  CHECK(!perhaps(mine, {rank(1, 4, 2, {kWorld})}));  // it is done
  CHECK(!perhaps(mine, {rank(1, 3, 2, {kSide})}));   // both have given it: it takes long
  CHECK(!perhaps(mine, {rank(1, 3, 2, {kWorld, kSide})}));
  mine = rank(0, 3, 1, {}), other = rank(1, 4, 1, {kWorld});
  mine.standing.done.exchanges = mine.standing.waits.exchanges = {{kSide, 1, 1, 2}};
  other.standing.done.exchanges = other.standing.waits.exchanges = {{kSide, 0, 0, 2}};
  CHECK(!circle(mine, {other}) && perhaps(mine, {other}));
  other.standing.waits.exchanges[0].peer = 2;  // that is for another one
  CHECK(!perhaps(mine, {other}));
  return 0;
}

/// Of what the other one has not done yet, only what this one waits for itself may be what it waits for.
int finished() {
  const auto has_done = [](Stander rank, uint64_t name, uint64_t count) {
    rank.standing.finished.memberships = {*rank.standing.waits.find(name)};
    rank.standing.finished.memberships[0].collectives = count;
    return rank;
  };
  const Stander mine = rank(0, 3, 2, {kSide}), other = rank(1, 4, 5, {kWorld, kSide});
  CHECK(perhaps(mine, {other}) && perhaps(mine, {has_done(other, kSide, 1)}));
  CHECK(!perhaps(mine, {has_done(other, kSide, 2)}) && !perhaps(has_done(other, kSide, 2), {mine}));
  Stander receives = rank(0, 3, 1, {}), sends = rank(1, 4, 1, {kWorld});
  receives.standing.done.exchanges = receives.standing.waits.exchanges = {{kSide, 1, 1, 2}};
  sends.standing.done.exchanges = sends.standing.waits.exchanges = {{kSide, 0, 0, 4}};
  sends.standing.finished.exchanges = {{kSide, 0, 0, 1}};
  CHECK(perhaps(receives, {sends}));
  sends.standing.finished.exchanges[0].count = 2;
  CHECK(!perhaps(receives, {sends}));
  return 0;
}

/// Each by its mark; when they were many, of the older ones some are known only with the next.
int given() {
  Given given(3);
  const auto done = [&](uint64_t reached) {
    return given.done([&](const Given::Mark& mark) { return mark.sequence <= reached; });
  };
  CHECK(given.count() == 3 && done(0) == 3);
  given.add({false, 1, 10});
  given.add({false, 1, 20}), given.add({false, 1, 20});  // two of one op
  CHECK(given.count() == 6 && done(9) == 3 && done(10) == 4 && done(19) == 4 && done(20) == 6);
  for (uint64_t i = 3; i <= 1000; ++i) given.add({false, 1, 10 * i});
  const uint64_t all = 6 + 998;
  CHECK(given.count() == all && done(10'000) == all && done(9'990) == all - 1 && done(9'900) == all - 10);
  uint64_t last = 3;
  for (uint64_t i = 1; i <= 1000; ++i) {
    const uint64_t known = done(10 * i);
    CHECK(last <= known && known <= 4 + i);
    last = known;
  }
  given.add({});  // done already; what is not known of one is known when the next one is done
  CHECK(done(9'990) == all - 1 && done(10'000) == all + 1);
  CHECK(done(0) == 3);
  Given apart;  // on two streams: what is done behind one that is open does not count
  for (const uint64_t stream : {1, 2, 2}) apart.add({false, stream, 10 + apart.count()});
  CHECK(apart.done([](const Given::Mark& mark) { return mark.sequence == 11; }) == 0);
  CHECK(apart.done([](const Given::Mark& mark) { return mark.sequence == 10; }) == 1);
  return 0;
}

int joins() {
  Stander joins = rank(0, 1, 1, {}), other = rank(1, 2, 1, {kWorld});
  joins.standing.waits.memberships = {{9, 0, 0, 1}};
  CHECK(circle(joins, {other}));
  joins.standing.waits.memberships[0].collectives = 2;  // all have joined: the other one has no part in it
  CHECK(!circle(joins, {other}));
  joins.standing.waits.memberships = {{kSide, 0, 0, 4}};
  other.standing.done.memberships[1].left = 1;  // it does not come any more
  CHECK(!circle(joins, {other}));
  return 0;
}

/// One has not given what it waits for the others to come to.
int meetings() {
  const auto comes_to = [](Stander rank, uint64_t name) {
    Tally next;
    next.memberships = {{name, rank.standing.done.memberships[0].rank, 0, 1}};
    rank.standing.waits = awaited_before(rank.standing.done, next);
    return rank;
  };
  const Stander meets = comes_to(rank(0, 3, 2, {}), kWorld);
  CHECK(meets.standing.waits.memberships[0].collectives == 4);
  CHECK(circle(meets, {comes_to(rank(1, 3, 2, {}), kSide)}));
  CHECK(!circle(meets, {rank(1, 4, 2, {kWorld})}));  // it has come
  CHECK(!circle(meets, {rank(1, 3, 2, {})}));        // it goes on
  CHECK(circle(meets, {rank(1, 3, 3, {kSide})}));    // comes when this one has given that
  CHECK(!circle(comes_to(rank(0, 3, 2, {}), 9), {rank(1, 3, 2, {kSide})}));  // they share nothing there
  Tally done = rank(0, 3, 2, {}).standing.done, next;
  done.exchanges = {{kSide, 1, 1, 2}};
  next.memberships = {{kSide, 0, 0, 0}};
  next.exchanges = {{kSide, 1, 0, 1}, {kSide, 1, 1, 1}};
  const Tally awaited = awaited_before(done, next);
  CHECK(awaited.memberships.empty() && awaited.exchanges[0].count == 1 && awaited.exchanges[1].count == 3);
  return 0;
}

/// Waits in vain are followed by short ones, more of them each time; those that pay off are not.
int limits() {
  using namespace std::chrono_literals;
  DrainLimit limit;
  uint64_t count = 0;
  const auto gives_up = [&](std::chrono::milliseconds waited) {  // each time for something else
    return limit.is_over(rank(0, ++count, 1, {kWorld}).standing.waits, waited);
  };
  const auto gives_up_soon = [&](uint32_t times) {
    for (uint32_t i = 0; i < times; ++i)
      if (gives_up(150ms) || !gives_up(250ms)) return false;
    return !gives_up(250ms);
  };
  CHECK(!gives_up(900ms) && gives_up(1100ms) && gives_up_soon(4));
  CHECK(!gives_up(2900ms) && gives_up(3100ms) && gives_up_soon(16));
  CHECK(gives_up(9100ms) && gives_up_soon(64));
  CHECK(!gives_up(9900ms));
  limit.paid_off(100ms);  // at once: nobody had to wait
  CHECK(gives_up(11s) && gives_up_soon(256));
  limit.paid_off(5s);
  CHECK(!gives_up(9900ms) && gives_up(11s) && gives_up_soon(4));
  gives_up(11s);
  limit.paid_off(5s);  // one that is given up soon says nothing of those at length
  CHECK(gives_up_soon(16) && gives_up(11s) && gives_up_soon(64));
  return 0;
}

/// What has been given up on is given up on at once, until all is done.
int limits_of_the_same() {
  using namespace std::chrono_literals;
  DrainLimit limit;
  const Tally one = rank(0, 3, 1, {kWorld}).standing.waits, two = rank(0, 4, 1, {kWorld}).standing.waits;
  CHECK(!limit.is_over(one, 900ms) && limit.is_over(one, 1100ms) && limit.is_over(one, 20ms));
  CHECK(!limit.is_over(two, 20ms) && limit.is_over(two, 250ms) && limit.is_over(two, 20ms));
  limit.paid_off(0ms);
  CHECK(!limit.is_over(two, 20ms));
  return 0;
}

int doubts() {
  using namespace std::chrono_literals;
  DrainLimit limit;
  CHECK(limit.doubt() == 200ms);
  limit.was_doubtful();
  limit.paid_off(10ms);
  CHECK(limit.doubt() == 20ms);
  limit.paid_off(50ms);  // the device took long: what stands still for a moment is no circle here
  CHECK(limit.doubt() == 200ms);
  return 0;
}
}  // namespace

int main() {
  return collectives() || through_others() || transfers() || steps() || streams() || finished() || given() ||
         joins() || meetings() || limits() || limits_of_the_same() || doubts();
}
