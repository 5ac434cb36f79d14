// When links open and end, and what is sent of a segment in which order.
#include <algorithm>
#include <cstring>
#include <thread>

#include "device/common/mirror/frames.h"
#include "device/software/segment/segment.h"
#include "harness.h"
#include "jitc/executor_api.h"

namespace jitc::test {
namespace {
using device::FrameKind;
using software::Descriptor;
using software::RankArea;
using software::Segment;

uint8_t number(FrameKind kind) { return static_cast<uint8_t>(kind); }

/// A segment on one node, as the ranks there see it.
class View {
 public:
  View(const Bridges::Communicator& one, size_t node, uint32_t rank = 0) : segment_(one.ranks, rank) {
    std::string error;
    if (!segment_.map(one.paths[node], one.bytes, error)) throw Failure{error};
  }
  const Segment* operator->() const { return &segment_; }
  RankArea& operator[](uint32_t rank) const { return segment_.area(rank); }
  /// As a rank publishes its next round.
  void publish(uint32_t rank, const Bytes& box) const {
    RankArea& area = segment_.area(rank);
    const uint64_t round = area.rounds[software::kCollectives];
    std::memcpy(segment_.box(rank, round), box.data(), box.size());
    area.descriptors[software::kCollectives][round % 2] = {.count = box.size(), .used = box.size()};
    area.rounds[software::kCollectives] = round + 1;
  }
  Bytes box(uint32_t rank, uint64_t round, size_t size) const {
    const auto* const first = reinterpret_cast<const uint8_t*>(segment_.box(rank, round));
    return {first, first + size};
  }
  uint64_t rounds(uint32_t rank) const { return segment_.area(rank).rounds[software::kCollectives]; }
  bool is_cut() const { return segment_.head().cut != 0; }
  std::string reason() const { return segment_.head().cut_reason.data(); }

 private:
  Segment segment_;
};

Bytes pattern_of(size_t size, uint8_t seed) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 251 + seed);
  return bytes;
}
}  // namespace

CASE(link_opens_when_both_sides_have_made_it) {
  for (const size_t first : {0, 1}) {
    Bridges bridges(2);
    const auto one = make_segments(bridges, 2);
    const View here(one, 0), there(one, 1);
    here[0].joined = 1;
    here.publish(0, pattern_of(3000, 1));
    bridges.link(one, first);
    bridges.carry_all();  // "linked" comes to a node that has not made it: that is remembered
    CHECK(there[0].joined == 0 && there.rounds(0) == 0);
    here.publish(0, pattern_of(9, 2));
    bridges.link(one, 1 - first);
    bridges.carry_all();
    CHECK(there[0].joined == 1 && there.rounds(0) == 2);
    CHECK(there.box(0, 0, 3000) == pattern_of(3000, 1) && there.box(0, 1, 9) == pattern_of(9, 2));
    CHECK_EQUAL(there[0].descriptors[software::kCollectives][0].count, 3000u);
    CHECK(here[1].joined == 0);
  }
}

CASE(link_says_nothing_before_it_is_open) {
  Bridges bridges(2);
  const auto one = make_segments(bridges, 2);
  const View here(one, 0);
  here[0].joined = 1;
  bridges.link(one, 0);
  const Bytes said = bridges.collect(0, 1);
  CHECK(kinds_of(said) == std::vector<uint8_t>{number(FrameKind::linked)});
  here.publish(0, {1, 2, 3});
  CHECK(bridges.collect(0, 1).empty());
  bridges.link(one, 1);
  bridges.apply(0, 1, said);
  bridges.apply(1, 0, bridges.collect(1, 0));
  CHECK(kinds_of(bridges.collect(0, 1)) ==
        (std::vector<uint8_t>{number(FrameKind::joined), number(FrameKind::box), number(FrameKind::round)}));
}

CASE(link_sends_a_box_in_parts_and_its_round_last) {
  Bridges bridges(2);
  const auto one = make_segments(bridges, 2);
  const View here(one, 0), there(one, 1);
  bridges.link(one);
  bridges.carry_all();
  const Bytes box = pattern_of(Segment::kBox, 5);
  here.publish(0, box);
  size_t parts = 0;
  for (Bytes bytes; there.rounds(0) == 0; ++parts) {
    bytes = bridges.collect(0, 1, JITC_BRIDGE_LEAST_ROOM);
    CHECK(!bytes.empty() && bytes.size() <= JITC_BRIDGE_LEAST_ROOM);
    bridges.apply(0, 1, bytes);
  }
  CHECK(parts >= Segment::kBox / JITC_BRIDGE_LEAST_ROOM);
  CHECK(there.box(0, 0, box.size()) == box);
  here.publish(0, pattern_of(Segment::kBox, 6));
  for (const SomeFrame& frame : frames_of(bridges.collect(0, 1, 4 << 20)))
    CHECK(frame.payload.size() <= 256 << 10);
}

CASE(link_gives_others_their_turn) {
  Bridges bridges(2);
  const auto large = make_segments(bridges, 2, 1), small = make_segments(bridges, 2, 2);
  const View one(large, 0), other(small, 0);
  bridges.link(large);
  bridges.link(small);
  bridges.carry_all();
  one.publish(0, Bytes(Segment::kBox));
  other.publish(0, {1});
  const auto frames = frames_of(bridges.collect(0, 1, 300 << 10));  // one part of the box fits
  CHECK(std::ranges::count(frames, number(FrameKind::round), &SomeFrame::kind) == 1);
}

CASE(link_carries_letters_and_how_far_they_were_read) {
  Bridges bridges(2);
  const auto one = make_segments(bridges, 2);
  const View here(one, 0), there(one, 1);
  bridges.link(one);
  bridges.carry_all();
  software::Mailbox &mine = here->mailbox(0, 1), &theirs = there->mailbox(0, 1);
  const uint64_t size = here->mailbox_size();
  const Bytes stream = pattern_of(size * 3, 9);
  uint64_t written = 0, read = 0;
  while (read < stream.size()) {  // around the ring's end several times
    for (; written < stream.size() && written - mine.read < size; ++written)
      here->letters(mine)[written % size] = static_cast<std::byte>(stream[written]);
    mine.written = written;
    bridges.carry_all(JITC_BRIDGE_LEAST_ROOM);
    CHECK_EQUAL(theirs.written.load(), written);
    for (const uint64_t upto = read + (written - read + 1) / 2; read < upto; ++read)
      CHECK(there->letters(theirs)[read % size] == static_cast<std::byte>(stream[read]));
    theirs.read = read;
    bridges.carry_all();
    CHECK_EQUAL(mine.read.load(), read);
  }
}

CASE(link_that_is_unlinked_still_sends_what_was_published) {
  Bridges bridges(2);
  const auto one = make_segments(bridges, 2);
  const View here(one, 0), there(one, 1);
  bridges.link(one);
  bridges.carry_all();
  here.publish(0, pattern_of(700000, 3));
  CHECK_EQUAL(jitc_bridge_unlink(bridges[0], one.link), 0);
  CHECK_EQUAL(jitc_bridge_unlink(bridges[0], one.link), 0);  // it is not there any more
  bridges.carry_all(JITC_BRIDGE_LEAST_ROOM);
  CHECK(there.rounds(0) == 1 && there.box(0, 0, 700000) == pattern_of(700000, 3));
  there.publish(1, {1});
  bridges.carry_all();
  CHECK(here.rounds(1) == 0 && bridges.collect(1, 0).empty());  // nobody takes it there
  CHECK_EQUAL(jitc_bridge_unlink(bridges[1], one.link), 0);
  bridges.carry_all();
  CHECK(contains(stats(bridges, 0), R"("links":0)"));
}

CASE(link_that_one_node_gave_up_is_forgotten_by_the_other) {
  Bridges bridges(2);
  for (uint64_t link = 1; link <= 20000; ++link) {  // more than a node may keep
    const Bytes bytes =
        bytes_of({{number(FrameKind::linked), link, {2, 0, 0, 0}}, {number(FrameKind::unlinked), link}});
    bridges.apply(0, 1, bytes);
  }
  const auto one = make_segments(bridges, 2, 30000);
  bridges.link(one, 0);
  CHECK_EQUAL(jitc_bridge_unlink(bridges[0], one.link), 0);
  CHECK(bridges.collect(0, 1).empty());  // it was not even said
}

CASE(link_shows_the_end_of_a_rank_after_what_it_published) {
  Bridges bridges(2);
  const auto one = make_segments(bridges, 4);
  const View here(one, 0), there(one, 1);
  bridges.link(one);
  bridges.carry_all();
  here.publish(2, pattern_of(600000, 1));
  CHECK_EQUAL(jitc_segment_absent(one.paths[0].c_str(), 2, "rank 2 has ended"), 0);
  while (!there->absent(2)) {
    bridges.apply(0, 1, bridges.collect(0, 1, JITC_BRIDGE_LEAST_ROOM));
    CHECK(there->absent(2) == (there.rounds(2) == 1 && there->absent(2)));
  }
  CHECK(there.rounds(2) == 1 && !there->absent(0));
  CHECK_EQUAL(std::string(there->head().reason.data()), "rank 2 has ended");
  CHECK_EQUAL(jitc_segment_absent(one.paths[1].c_str(), 1, "rank 1 as well"), 0);
  bridges.carry_all();
  CHECK(here->absent(1) && !here->absent(3));
  CHECK_EQUAL(std::string(here->head().reason.data()), "rank 2 has ended");  // of the first
}

CASE(link_that_is_cut_ends_on_both_sides) {
  Bridges bridges(3);
  const auto one = make_segments(bridges, 3), other = make_segments(bridges, 3, 2);
  bridges.link(one);
  bridges.carry_all();
  const uint32_t rung = View(one, 0)[0].doorbell.rung();
  bridges.cut(0, 1, "no answer from n1");
  CHECK(View(one, 0).is_cut() && View(one, 1).is_cut() && !View(one, 2).is_cut());
  CHECK_EQUAL(View(one, 0).reason(), "no answer from n1");
  CHECK(View(one, 0)[0].doorbell.rung() != rung);
  View(one, 0).publish(0, {1});
  bridges.carry_all();  // frames from the third node of the same link still come
  CHECK(View(one, 1).rounds(0) == 0 && View(one, 2).rounds(0) == 1);
  bridges.link(other);  // over the next connection
  bridges.carry_all();
  View(other, 0).publish(0, {1});
  bridges.carry_all();
  CHECK(View(other, 1).rounds(0) == 1 && !View(other, 0).is_cut());
  CHECK_EQUAL(jitc_segment_cut(other.paths[0].c_str(), std::string(1000, 'x').c_str()), 0);
  CHECK_EQUAL(View(other, 0).reason(), std::string(255, 'x'));
}

CASE(link_of_a_rank_that_breaks_the_rules_is_cut_and_no_other) {
  Bridges bridges(2);
  uint64_t link = 0;
  const auto breaks = [&](const std::function<void(const View&)>& act) {
    const auto one = make_segments(bridges, 2, ++link);
    const View here(one, 0), there(one, 1);
    bridges.link(one);
    here.publish(0, {1});
    bridges.carry_all();
    CHECK(there.rounds(0) == 1 && !here.is_cut());
    act(here);
    bridges.carry_all();
    CHECK(here.is_cut() && contains(here.reason(), "does not publish as the others expect"));
    CHECK_EQUAL(there.rounds(0), uint64_t{1});
  };
  breaks([](const View& here) { here[0].rounds[software::kCollectives] = 4; });
  breaks([](const View& here) { here[0].rounds[software::kCollectives] = 0; });
  breaks([](const View& here) {
    here[0].descriptors[software::kCollectives][1].used = Segment::kBox + 1;
    here[0].rounds[software::kCollectives] = 2;
  });
  breaks([](const View& here) {
    here[0].descriptors[software::kSplits][0].used = 1;
    here[0].rounds[software::kSplits] = 1;
  });
  breaks([&](const View& here) {  // less of its box than was sent of it already
    here[0].descriptors[software::kCollectives][1].used = Segment::kBox;
    here[0].rounds[software::kCollectives] = 2;
    bridges.apply(0, 1, bridges.collect(0, 1, JITC_BRIDGE_LEAST_ROOM));
    here[0].descriptors[software::kCollectives][1].used = 1;
  });
  breaks([](const View& here) { here->mailbox(0, 1).written = here->mailbox_size() + 1; });
  breaks([](const View& here) { here->mailbox(1, 0).read = 1; });
}

CASE(link_descriptions_that_are_wrong) {
  Bridges bridges(2);
  const auto right = make_segments(bridges, 3);  // ranks 0 and 2 here
  const auto refused = [&](const std::function<void(Bridges::Communicator&)>& change,
                           const std::string& part) {
    auto one = right;
    change(one);
    try {
      bridges.link(one, 0);
    } catch (const Failure& failure) {
      if (!contains(failure.message, part)) throw;
      return;
    }
    throw Failure{"not refused: " + part};
  };
  using One = Bridges::Communicator;
  refused([](One& one) { one.device = "abacus"; }, "there is no device \"abacus\"");
  refused([](One& one) { one.paths[0] = "/nowhere"; }, "cannot open the communicator's segment");
  refused([](One& one) { one.bytes = 4096; }, "too small");
  refused([](One& one) { one.paths[0] = memory_file(4096); }, "too small");
  refused([](One& one) { one.identity = 7; }, "another one");
  refused([](One& one) { one.nodes = {0, 0, 0}; }, "on one alone");
  refused([](One& one) { one.nodes = {1, 1, 1}; }, "on one alone");
  const auto text = [&](const std::string& json, const std::string& part) {
    check_refused(jitc_bridge_link(bridges[0], json.c_str()), part);
  };
  const std::string begin = R"({"link": 1, "kind": "software", "path": ")" + right.paths[0] +
                            R"(", "bytes": )" + std::to_string(right.bytes) +
                            R"(, "identity": 1001, "ranks": )";
  text("", "no JSON object");
  text("[1]", "no JSON object");
  text("{}", "the description has no \"kind\"");
  text(R"({"kind": 3})", "\"kind\" of the description is no text");
  text(begin + R"(-3, "here": [0], "elsewhere": []})",
       "\"ranks\" of the description is no number in its range");
  text(begin + R"(3, "here": 0, "elsewhere": []})", "\"here\" of the description is no list");
  text(begin + R"(3, "here": [0, 0], "elsewhere": [{"peer": 1, "ranks": [1, 2]}]})", "rank 0 has no place");
  text(begin + R"(3, "here": [0, 3], "elsewhere": [{"peer": 1, "ranks": [1, 2]}]})", "rank 3 has no place");
  text(begin + R"(3, "here": [0], "elsewhere": [{"peer": 1, "ranks": [1]}]})", "not all ranks");
  text(begin + R"(3, "here": [0], "elsewhere": [{"peer": 1, "ranks": [1]}, {"peer": 1, "ranks": [2]}]})",
       "named twice");
  text(begin + R"(1, "here": [0], "elsewhere": []})", "is on no two nodes");
  text(begin + R"(2000, "here": [0], "elsewhere": []})", "is on no two nodes");
  bridges.link(right, 0);
  bridges.link(right, 0);  // once more: it stays
  refused(
      [&](One& one) {
        const auto other = make_segments(bridges, 3, 2);
        one.paths = other.paths;
        one.identity = other.identity;
      },
      "link 1 is another communicator's");
  View(right, 0).publish(0, {1});
  bridges.link(right, 1);
  bridges.carry_all();
  CHECK_EQUAL(View(right, 1).rounds(0), uint64_t{1});  // nothing of that has done harm
}

CASE(link_documents_of_slots_that_are_wrong) {
  const Bridges bridges(1);
  const auto refused = [&](const std::string& local, const std::string& remote, const std::string& part) {
    const std::string json = R"({"local": )" + local + R"(, "remote": )" + remote + "}";
    check_refused(jitc_bridge_mirror(bridges[0], json.c_str()), part);
  };
  refused("3", "[]", "\"local\" of the description is no list");
  refused(R"([{"slot": 256, "session": 1, "peers": []}])", "[]", "no slot 256");
  refused(R"([{"slot": 1, "session": 1, "peers": [2, 2]}])", "[]", "named twice");
  refused(R"([{"slot": 1, "session": "x", "peers": []}])", "[]",
          "\"session\" of the description is no number");
  refused(R"([{"slot": 1, "session": 1, "peers": [2]}])", R"([{"peer": 2, "session": 1, "slot": 1}])",
          "slot 1 is named twice");
  refused("[]", R"([{"peer": 2, "session": 1, "slot": 8}, {"peer": 2, "session": 1, "slot": 9}])",
          "named twice");
  refused("[]", R"([{"peer": 2, "slot": 8}])", "the description has no \"session\"");
}

CASE(link_with_more_nodes_than_there_can_be) {
  const Bridges bridges(1);
  Bytes bytes(JITC_BRIDGE_LEAST_ROOM);
  for (uint32_t peer = 0; peer < 3000; ++peer)  // there is nothing to remember of them
    CHECK_EQUAL(jitc_bridge_collect(bridges[0], peer, bytes.data(), bytes.size(), 0), int64_t{0});
  std::string peers = "0";
  for (uint32_t peer = 1; peer <= 1024; ++peer) peers += ", " + std::to_string(peer);
  const std::string json =
      R"({"local": [{"slot": 1, "session": 1, "peers": [)" + peers + R"(]}], "remote": []})";
  check_refused(jitc_bridge_mirror(bridges[0], json.c_str()), "1024 other nodes, and cannot with more");
}

CASE(link_after_link_until_there_are_too_many) {
  constexpr uint64_t kMost = 8192;
  Bridges bridges(2);
  const auto one = make_segments(bridges, 2);
  for (uint64_t link = 1; link <= kMost; ++link) {
    auto next = one;
    next.link = link;
    bridges.link(next, 0);
  }
  auto last = one;
  last.link = kMost + 1;
  try {
    bridges.link(last, 0);
    throw Failure{"one too many was made"};
  } catch (const Failure& failure) {
    CHECK(contains(failure.message, "8192 communicators with ranks on other nodes, and can have no more"));
  }
  bridges.carry_all();  // all are remembered on the other node
  const Bytes more = bytes_of({{number(FrameKind::linked), kMost + 1, {2, 0, 0, 0}}});
  check_refused(jitc_bridge_apply(bridges[1], 0, more.data(), more.size()), "too many communicators");
}

CASE(link_counts_frames_and_bytes) {
  Bridges bridges(2);
  const auto one = make_segments(bridges, 2);
  const View here(one, 0);
  bridges.link(one);
  here.publish(0, {1, 2, 3});
  bridges.carry_all();
  CHECK(contains(stats(bridges, 0), R"("box":{"bytes":35,"frames":1})"));
  CHECK(contains(stats(bridges, 1), R"("links":1,"peers":[{"dropped":0,"peer":0,"received":{)"));
  Bytes small(JITC_BRIDGE_LEAST_ROOM - 1);
  check_refused(jitc_bridge_collect(bridges[0], 1, small.data(), small.size(), 0), "the buffer is too small");
  CHECK(!jitc_bridge_create("/nowhere/board"));
}

}  // namespace jitc::test
