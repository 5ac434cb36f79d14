// Bytes that no bridge would send: refused, or harmless; nothing that is this node's own is touched.
#include <algorithm>
#include <cstring>
#include <random>

#include "device/common/mirror/frames.h"
#include "device/software/segment/segment.h"
#include "harness.h"
#include "jitc/executor_api.h"

namespace jitc::test {
namespace {
using device::FrameKind;
using software::Segment;

constexpr uint32_t kRanks = 4;  // 0 and 2 on node 0, 1 and 3 on node 1

struct Place {
  explicit Place(const Bridges::Communicator& one, size_t node) : segment(kRanks, 0) {
    std::string error;
    if (!segment.map(one.paths[node], one.bytes, error)) throw Failure{error};
  }
  Segment segment;

  /// What the bridge must leave alone on the node of these ranks: their areas without the doorbells, their
  /// boxes, their sides of mailboxes, and what the service says of them.
  Bytes own(const std::vector<uint32_t>& ranks) const {
    Bytes found;
    const auto add = [&](const void* from, size_t size) {
      const auto* const first = static_cast<const uint8_t*>(from);
      found.insert(found.end(), first, first + size);
    };
    const auto is_own = [&](uint32_t rank) { return std::ranges::count(ranks, rank) != 0; };
    for (const uint32_t rank : ranks) {
      const auto* const area = reinterpret_cast<const uint8_t*>(&segment.area(rank));
      add(area + sizeof(Doorbell), sizeof(software::RankArea) - sizeof(Doorbell));
      for (const uint64_t round : {0, 1}) add(segment.box(rank, round), Segment::kBox);
      found.push_back(segment.absent(rank));
    }
    for (uint32_t from = 0; from < kRanks; ++from)
      for (uint32_t to = 0; to < kRanks; ++to) {
        software::Mailbox& mailbox = segment.mailbox(from, to);
        if (is_own(from)) add(&mailbox.written, sizeof mailbox.written);
        if (is_own(from)) add(segment.letters(mailbox), segment.mailbox_size());
        if (is_own(to)) add(&mailbox.read, sizeof mailbox.read);
      }
    add(&segment.head().identity, sizeof segment.head().identity);
    add(segment.head().left.data(), sizeof segment.head().left);
    return found;
  }
};

/// Traffic from node 0 to node 1 of two ranks each, as it would be: one buffer after the other.
std::vector<Bytes> traffic(std::mt19937& random) {
  Bridges bridges(2);
  const auto one = make_segments(bridges, kRanks);
  bridges.board(0).enter(3, 30, 1, {});
  bridges.board(1).enter(70, 30, 1, {});
  CHECK_EQUAL(jitc_bridge_mirror(bridges[0],
                                 R"({"local": [{"slot": 3, "session": 30, "peers": [1]}], "remote": []})"),
              0);
  CHECK_EQUAL(
      jitc_bridge_mirror(bridges[1], R"({"local": [], "remote": [{"peer": 0, "session": 30, "slot": 70}]})"),
      0);
  bridges.link(one);
  const Place here(one, 0), there(one, 1);
  std::vector<Bytes> all;
  const auto carry = [&] {
    for (int again = 0; again < 2; ++again) {
      bridges.apply(1, 0, bridges.collect(1, 0));
      all.push_back(bridges.collect(0, 1));
      bridges.apply(0, 1, all.back());
    }
  };
  carry();
  for (const uint32_t rank : {0, 2}) here.segment.area(rank).joined = 1;
  carry();
  for (uint64_t round = 0; round < 4; ++round) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      const Place& at = rank % 2 == 0 ? here : there;
      software::RankArea& area = at.segment.area(rank);
      const uint64_t size = random() % 3000;
      area.descriptors[software::kCollectives][round % 2] = {.count = size, .used = size};
      area.rounds[software::kCollectives] = round + 1;
      area.rounds[software::kSplits] = round + 1;
      software::Mailbox& mailbox = at.segment.mailbox(rank, rank ^ 1);
      mailbox.written += random() % 5000;
      software::Mailbox& other = at.segment.mailbox(rank ^ 1, rank);
      other.read = other.written.load();
    }
    bridges.board(0).join(3, round + 5);
    RankHistory history;
    history.kept.resize(1 + round * 20);
    bridges.board(0).show(3, history);
    bridges.board(0).slot(3).prepared = round;
    carry();
  }
  CHECK_EQUAL(jitc_segment_absent(one.paths[0].c_str(), 2, "rank 2 has ended"), 0);
  carry();
  CHECK_EQUAL(jitc_bridge_unlink(bridges[0], one.link), 0);
  carry();
  std::erase(all, Bytes());
  CHECK(all.size() > 5);
  return all;
}

uint64_t a_number(std::mt19937& random) {
  const uint64_t some[]{0,         1, 2, 3, 255, 4096, 65535, 1 << 20, UINT32_MAX, UINT64_MAX, UINT64_MAX - 7,
                        1ull << 63};
  return random() % 2 ? some[random() % std::size(some)] : random();
}

/// Changes something in one of the frames, or in their order.
void mutate(std::vector<SomeFrame>& frames, std::mt19937& random) {
  if (frames.empty()) return;
  const auto any = [&] { return static_cast<ptrdiff_t>(random() % frames.size()); };
  SomeFrame& one = frames[static_cast<size_t>(any())];
  const auto word = [&](size_t size) {
    if (one.payload.size() < size) return;
    const uint64_t value = a_number(random);
    const size_t at = random() % std::min<size_t>(40, one.payload.size() - size + 1) / size * size;
    std::memcpy(one.payload.data() + at, &value, size);
  };
  switch (random() % 9) {
    case 0:
      return word(4);
    case 1:
      return word(8);
    case 2:
      return one.payload.resize(random() % (one.payload.size() + 9));
    case 3:
      one.kind = static_cast<uint8_t>(random() % 18);
      return;
    case 4:
      one.subject = random() % 4;
      return;
    case 5:
      frames.insert(frames.begin() + any(), SomeFrame(one));
      return;
    case 6:
      frames.erase(frames.begin() + any());
      return;
    case 7:
      std::swap(one, frames[static_cast<size_t>(any())]);
      return;
    default:
      if (!one.payload.empty())
        one.payload[random() % one.payload.size()] ^= static_cast<uint8_t>(1 << random() % 8);
  }
}

/// Changes bytes wherever they are.
void damage(Bytes& bytes, std::mt19937& random) {
  if (bytes.empty()) return;
  for (uint64_t count = 1 + random() % 4; count; --count)
    bytes[random() % std::min<size_t>(bytes.size(), 200)] = static_cast<uint8_t>(random());
  if (random() % 4 == 0) bytes.resize(random() % bytes.size());
}
}  // namespace

CASE(hostile_bytes_touch_nothing_of_this_node) {
  std::mt19937 random(20261130);
  const std::vector<Bytes> all = traffic(random);
  Bridges bridges(2);
  bridges.board(1).enter(70, 30, 1, {});
  bridges.board(1).enter(5, 40, 1, std::vector<uint64_t>{9});
  CHECK_EQUAL(jitc_bridge_mirror(bridges[1], R"({"local": [{"slot": 5, "session": 40, "peers": [0]}],
                                              "remote": [{"peer": 0, "session": 30, "slot": 70}]})"),
              0);
  RankHistory mine;
  mine.kept.resize(3);
  bridges.board(1).show(5, mine);
  bridges.board(1).slot(5).prepared = 12;
  int refused = 0, taken = 0;
  for (uint64_t trial = 1; trial <= 250; ++trial) {
    const auto one = make_segments(bridges, kRanks, trial);
    bridges.link(one, 1);
    const Place place(one, 1);
    std::vector<uint32_t> own{1, 3};
    for (const uint32_t rank : own) {
      place.segment.area(rank).rounds[software::kCollectives] = 1;
      std::memset(place.segment.box(rank, 0), 0x5a, Segment::kBox);
      place.segment.mailbox(rank, rank ^ 1).written = 20'000;  // more than is read of it
    }
    const Bytes before = place.own(own);
    const size_t spoilt = random() % all.size();
    bool malformed = false;
    for (size_t i = 0; i < all.size() && !malformed; ++i) {
      auto frames = frames_of(all[i]);
      for (SomeFrame& frame : frames)
        if (frame.kind != 3 && (frame.kind < 4 || frame.kind > 6)) frame.subject = trial;
      for (uint64_t left = i == spoilt ? 1 + random() % 3 : 0; left; --left) mutate(frames, random);
      Bytes bytes = bytes_of(frames);
      if (i == spoilt && random() % 3 == 0) damage(bytes, random);
      malformed = jitc_bridge_apply(bridges[1], 0, bytes.data(), bytes.size()) < 0;
      bridges.collect(1, 0);
      CHECK(!malformed || *jitc_bridge_message());
    }
    CHECK(place.own(own) == before);
    CHECK(bridges.board(1).slot(5).prepared == 12 && bridges.board(1).history(5)->kept == mine.kept);
    CHECK(bridges.board(1).names(5) == std::vector<uint64_t>{9});
    CHECK_EQUAL(bridges.board(1).slot(70).session.load(), 30u);
    (malformed ? refused : taken) += 1;
    CHECK_EQUAL(jitc_bridge_cut(bridges[1], 0, "malformed"), 0);
    CHECK_EQUAL(jitc_bridge_unlink(bridges[1], trial), 0);
    drop_segments(one);
  }
  CHECK(refused > 50 && taken > 50);
}

CASE(hostile_frames_are_refused_with_a_text) {
  Bridges bridges(3);
  const auto one = make_segments(bridges, 6);  // ranks 0 and 3 on node 0, 1 and 4 on node 1
  bridges.link(one);
  bridges.carry_all();
  const auto payload = [](std::initializer_list<uint64_t> words, std::initializer_list<uint32_t> first) {
    Bytes bytes;
    for (const uint32_t word : first)
      bytes.insert(bytes.end(), reinterpret_cast<const uint8_t*>(&word),
                   reinterpret_cast<const uint8_t*>(&word) + 4);
    for (const uint64_t word : words)
      bytes.insert(bytes.end(), reinterpret_cast<const uint8_t*>(&word),
                   reinterpret_cast<const uint8_t*>(&word) + 8);
    return bytes;
  };
  const auto refused = [&](FrameKind kind, const Bytes& bytes, const std::string& part) {
    const Bytes frame = bytes_of({{static_cast<uint8_t>(kind), 1, bytes}});
    check_refused(jitc_bridge_apply(bridges[1], 0, frame.data(), frame.size()), part);
  };
  using enum FrameKind;
  const std::string not_its_own = "which is not on its sender's node", not_here = "which is not on this node";
  for (const uint32_t rank : {1u, 2u, 4u, 6u, UINT32_MAX}) {  // this node's, a third one's, nobody's
    refused(joined, payload({}, {rank}), not_its_own);
    refused(box, payload({0, 0}, {rank, 0}), not_its_own);
    refused(round, payload({0, 0, 0, 0, 0, 0, 0, 0}, {rank, 0}), not_its_own);
    refused(absent, payload({}, {1, rank}), not_its_own);
    refused(letters, payload({0, 0}, {rank, 1}), not_its_own);
    refused(read, payload({1}, {1, rank}), not_its_own);
  }
  for (const uint32_t rank : {0u, 2u, 6u}) {
    refused(letters, payload({0, 0}, {0, rank}), not_here);
    refused(read, payload({1}, {rank, 0}), not_here);
  }
  refused(joined, {}, "shorter than its content");
  refused(joined, payload({}, {0, 0}), "longer than its content");
  refused(box, payload({0}, {0, 0}), "out of order, or too large");     // empty
  refused(box, payload({1, 0}, {0, 0}), "out of order, or too large");  // another round
  refused(box, payload({0, 0}, {0, 8}), "out of order, or too large");  // not its begin
  refused(round, payload({1, 0, 0, 0, 0, 0, 0, 0}, {0, 0}), "a round is out of order");
  refused(round, payload({0, 0, 0, 0, 0, 0, 0, 8}, {0, 0}), "without its box");
  refused(round, payload({0, 0, 0, 0, 0, 0, 0, 0}, {0, 2}), "a round is out of order");
  refused(letters, payload({0}, {0, 1}), "out of order, or too many");
  refused(letters, payload({8, 0}, {0, 1}), "out of order, or too many");
  refused(read, payload({1}, {1, 0}), "more has been read");
  refused(absent, payload({}, {7}), "more ranks than the communicator has");
  refused(absent, Bytes(4 + 1024), "too long");
  refused(arrival, payload({1}, {0}), "does not belong to a segment of the software device");
  refused(linked, payload({}, {5}), "do not agree on the ranks");
  refused(wanted, payload({1}, {}), "shorter than its content");
  Bytes many;
  for (uint64_t session = 0; session < 300; ++session) {
    const Bytes words = payload({session, 1}, {});
    many.insert(many.end(), words.begin(), words.end());
  }
  refused(wanted, many, "asks for too many sessions");
  Bytes bytes = bytes_of({{static_cast<uint8_t>(joined), 1, payload({}, {0})}});
  const auto raw = [&](size_t at, uint8_t value, const std::string& part) {
    Bytes changed = bytes;
    changed[at] = value;
    check_refused(jitc_bridge_apply(bridges[1], 0, changed.data(), changed.size()), part);
  };
  raw(0, 7, "the bytes are no frames");
  raw(2, 2, "frames of version 2, and this bridge has version 1: both nodes need the same release of jitc");
  raw(3, 0, "unknown kind 0");
  raw(3, 16, "unknown kind 16");
  raw(7, 1, "too large");
  raw(4, 5, "the bytes end inside of a frame");
  check_refused(jitc_bridge_apply(bridges[1], 0, bytes.data(), 15), "the bytes end inside of a frame");
  CHECK_EQUAL(jitc_bridge_apply(bridges[1], 0, bytes.data(), bytes.size()), 0);
}

CASE(hostile_frames_of_links_that_are_not_open) {
  Bridges bridges(2);
  const auto one = make_segments(bridges, kRanks);
  const Bytes joined = bytes_of({{static_cast<uint8_t>(FrameKind::joined), 1, {0, 0, 0, 0}}});
  CHECK_EQUAL(jitc_bridge_apply(bridges[1], 0, joined.data(), joined.size()), 0);  // dropped
  CHECK(contains(stats(bridges, 1), R"("dropped":1)"));
  bridges.link(one, 1);
  check_refused(jitc_bridge_apply(bridges[1], 0, joined.data(), joined.size()),
                "that its sender has not made");
  bridges.apply(0, 1, bytes_of({{static_cast<uint8_t>(FrameKind::linked), 1, {kRanks, 0, 0, 0}}}));
  bridges.apply(0, 1, joined);
  CHECK_EQUAL(Place(one, 1).segment.area(0).joined.load(), 1u);
}

}  // namespace jitc::test
