// Slots of sessions on the boards of other nodes: what is shown, in which order, and what is dropped.
#include <algorithm>
#include <thread>

#include "base/tally.h"
#include "device/common/mirror/frames.h"
#include "device/software/segment/segment.h"
#include "harness.h"
#include "jitc/executor_api.h"

namespace jitc::test {
namespace {
using device::FrameKind;

constexpr uint32_t kSlot = 3, kMirror = 70;  // on node 0, and of it on node 1
constexpr uint64_t kSession = 30;
constexpr uint8_t kNames = static_cast<uint8_t>(FrameKind::names),
                  kHistory = static_cast<uint8_t>(FrameKind::history),
                  kCounters = static_cast<uint8_t>(FrameKind::counters),
                  kJoined = static_cast<uint8_t>(FrameKind::joined),
                  kRound = static_cast<uint8_t>(FrameKind::round);

/// A history with one boundary, after that many collectives.
RankHistory history(uint64_t newest, size_t memberships = 1, uint64_t name = 77) {
  RankHistory made;
  KeptTally kept;
  kept.number = newest;
  kept.tally.memberships.resize(memberships, {name, 0, 0, newest});
  made.kept.push_back(kept);
  made.now.memberships.push_back({name, 0, 0, newest});
  return made;
}

/// Two nodes; a session of node 0 is mirrored on node 1.
struct Boards {
  Boards()
      : here(bridges.board(0)), there(bridges.board(1)), slot(here.slot(kSlot)), mirror(there.slot(kMirror)) {
    here.enter(kSlot, kSession, 1, {});
    enter();
  }
  /// As the service does: a slot for the session, in its communicators.
  void enter(uint64_t epoch = 1, const std::vector<uint8_t>& ids = {}) const {
    Bytes all;
    for (const uint8_t id : ids) all.insert(all.end(), 128, id);
    CHECK_EQUAL(jitc_board_enter(bridges.board_path(1).c_str(), kMirror, 900, epoch, all.data(), ids.size()),
                0);
  }
  void begin(uint64_t epoch, std::array<uint64_t, 4> counters) const {
    CHECK_EQUAL(jitc_board_begin(bridges.board_path(1).c_str(), kMirror, epoch, counters.data()), 0);
  }
  void show_it() const {
    CHECK_EQUAL(jitc_bridge_mirror(bridges[0],
                                   R"({"local": [{"slot": 3, "session": 30, "peers": [1]}], "remote": []})"),
                0);
  }
  void ask_for_it(uint64_t epoch = 0) const {
    const std::string text =
        R"({"local": [], "remote": [{"peer": 0, "session": 30, "slot": 70}], "epoch": )" +
        std::to_string(epoch) + "}";
    CHECK_EQUAL(jitc_bridge_mirror(bridges[1], text.c_str()), 0);
  }
  void mirrored() const {
    ask_for_it();
    show_it();
    bridges.carry_all();
  }
  void count(uint64_t prepared, uint64_t reached, uint64_t begun) const {
    slot.reached = reached;
    slot.begun = begun;
    slot.prepared = prepared;
    here.ring();
  }
  /// What a worker does at a boundary.
  void make_boundary(uint64_t number) const {
    here.show(kSlot, history(number));
    count(number, number, number);
  }
  std::array<uint64_t, 3> counters() const { return {mirror.prepared, mirror.reached, mirror.begun}; }

  const Bridges bridges{2};
  const JobBoard &here, &there;
  JobSlot &slot, &mirror;
};
using Three = std::array<uint64_t, 3>;
}  // namespace

CASE(board_shows_what_a_session_shows) {
  const Boards boards;
  boards.mirrored();
  CHECK(boards.counters() == (Three{0, 0, 0}) && !boards.there.history(kMirror));
  CHECK_EQUAL(boards.mirror.session.load(), 900u);
  const uint32_t doorbell = boards.there.doorbell();
  boards.slot.unskippable = 6;
  boards.slot.alone = 2;
  boards.here.show(kSlot, history(5));
  boards.count(5, 6, 5);
  boards.bridges.carry_all();
  CHECK(boards.counters() == (Three{5, 6, 5}));
  CHECK(boards.mirror.unskippable == 6 && boards.mirror.alone == 2 && boards.mirror.epoch == 1);
  CHECK(boards.there.history(kMirror)->kept == history(5).kept);
  CHECK(boards.there.doorbell() != doorbell);
  boards.slot.unskippable = 0;  // these come and go
  boards.slot.alone = 0;
  boards.bridges.carry_all();
  CHECK(boards.mirror.unskippable == 0 && boards.mirror.alone == 0);
  boards.bridges.carry_all();
  CHECK(boards.bridges.collect(0, 1).empty());  // nothing is said twice
  boards.here.show_words(kSlot, {});            // too long to be shown
  boards.bridges.carry_all();
  CHECK(!boards.there.history(kMirror));
}

CASE(board_is_shown_whichever_node_asks_first) {
  for (const bool shown_first : {false, true}) {
    const Boards boards;
    boards.make_boundary(4);
    if (shown_first) boards.show_it();
    if (!shown_first) boards.ask_for_it();
    boards.bridges.carry_all();
    CHECK(boards.counters() == (Three{0, 0, 0}));
    if (shown_first) boards.ask_for_it();
    if (!shown_first) boards.show_it();
    boards.bridges.carry_all();
    CHECK(boards.counters() == (Three{4, 4, 4}));
  }
}

CASE(board_history_comes_before_its_counters) {
  const Boards boards;
  boards.mirrored();
  CHECK(boards.here.join(kSlot, 77));
  boards.make_boundary(5);
  const Bytes bytes = boards.bridges.collect(0, 1);
  CHECK(kinds_of(bytes) == (std::vector<uint8_t>{kNames, kHistory, kCounters}));
  auto frames = frames_of(bytes);
  boards.bridges.apply(0, 1, bytes_of({frames[0], frames[1]}));
  CHECK(boards.counters() == (Three{0, 0, 0}));
  CHECK(boards.there.history(kMirror)->kept.back().number == 5);
  boards.bridges.apply(0, 1, bytes_of({frames[2]}));
  CHECK(boards.counters() == (Three{5, 5, 5}));
}

CASE(board_history_that_is_being_written_waits) {
  const Boards boards;
  boards.mirrored();
  boards.make_boundary(5);
  boards.bridges.carry_all();
  auto& revision = *reinterpret_cast<std::atomic<uint64_t>*>(
      reinterpret_cast<std::byte*>(&boards.here.slot(0)) + JobBoard::kHistories + kSlot * sizeof(JobHistory));
  revision |= 1;  // its worker ended then
  boards.count(6, 6, 6);
  boards.bridges.carry_all();
  CHECK(boards.counters() == (Three{5, 5, 5}));
  boards.make_boundary(6);
  boards.bridges.carry_all();
  CHECK(boards.counters() == (Three{6, 6, 6}));
}

CASE(board_history_of_many_words_comes_in_parts) {
  const Boards boards;
  boards.mirrored();
  boards.make_boundary(5);
  boards.bridges.carry_all();
  const RankHistory large = history(6, 43000);
  CHECK(large.pack().size() > JobHistory::kWords - 3000);
  CHECK(boards.here.show(kSlot, large));
  boards.count(6, 6, 6);
  const Bytes first = boards.bridges.collect(0, 1, JITC_BRIDGE_LEAST_ROOM);
  CHECK(first.size() > JITC_BRIDGE_LEAST_ROOM - 4096);
  boards.bridges.apply(0, 1, first);
  CHECK(boards.there.history(kMirror)->kept.back().number == 5 && boards.mirror.prepared == 5);
  boards.bridges.carry_all(JITC_BRIDGE_LEAST_ROOM);
  CHECK(boards.there.history(kMirror)->kept == large.kept && boards.mirror.prepared == 6);
}

CASE(board_counters_only_grow_in_an_epoch) {
  const Boards boards;
  boards.mirrored();
  boards.make_boundary(7);
  boards.bridges.carry_all();
  boards.count(5, 5, 5);  // rolls back, before its Resume
  boards.bridges.carry_all();
  CHECK(boards.counters() == (Three{7, 7, 7}));
  boards.slot.epoch = 2;  // Resume
  boards.bridges.carry_all();
  CHECK(boards.counters() == (Three{5, 5, 5}) && boards.mirror.epoch == 2);
}

CASE(board_of_an_epoch_that_is_over_is_dropped) {
  const Boards boards;
  boards.mirrored();
  boards.make_boundary(6);
  boards.bridges.carry_all();
  boards.make_boundary(7);
  const Bytes late = boards.bridges.collect(0, 1);
  boards.ask_for_it(2);
  boards.begin(2, {5, 5, 5, 0});  // lower than before
  CHECK(boards.counters() == (Three{5, 5, 5}) && boards.mirror.epoch == 2);
  CHECK(!boards.there.history(kMirror));
  boards.bridges.apply(0, 1, late);
  boards.bridges.carry_all();  // asked again, the session still says what it said in epoch 1
  CHECK(boards.counters() == (Three{5, 5, 5}) && !boards.there.history(kMirror));
  boards.here.show(kSlot, history(5));
  boards.count(5, 5, 5);
  boards.slot.epoch = 2;
  boards.bridges.carry_all();
  CHECK(boards.there.history(kMirror)->kept.back().number == 5);
  boards.make_boundary(6);
  boards.bridges.carry_all();
  CHECK(boards.counters() == (Three{6, 6, 6}));
}

CASE(board_epochs_of_the_slot_and_of_the_document_both_count) {
  const Boards boards;
  boards.mirrored();
  boards.make_boundary(6);
  boards.ask_for_it(2);  // the slot is still at epoch 1
  boards.bridges.carry_all();
  CHECK(boards.counters() == (Three{0, 0, 0}));
  boards.ask_for_it(0);
  boards.begin(2, {3, 3, 3, 0});  // the document says nothing of it
  boards.bridges.carry_all();
  CHECK(boards.counters() == (Three{3, 3, 3}) && !boards.there.history(kMirror));
  boards.slot.epoch = 2;
  boards.bridges.carry_all();
  CHECK(boards.counters() == (Three{6, 6, 6}) && boards.there.history(kMirror));
}

CASE(board_answers_to_earlier_requests_are_dropped) {
  const Boards boards;
  boards.mirrored();
  boards.make_boundary(6);
  const Bytes late = boards.bridges.collect(0, 1);
  boards.there.enter(71, 901, 1, {});
  CHECK_EQUAL(jitc_bridge_mirror(boards.bridges[1],
                                 R"({"local": [], "remote": [{"peer": 0, "session": 30, "slot": 71}]})"),
              0);
  boards.bridges.apply(0, 1, late);
  CHECK(boards.there.slot(71).prepared == 0 && !boards.there.history(71));
  boards.bridges.carry_all();
  CHECK(boards.there.slot(71).prepared == 6 && boards.there.history(71));
  CHECK(boards.counters() == (Three{0, 0, 0}));
}

CASE(board_names_are_added_and_go_when_they_were_shown) {
  const Boards boards;
  const auto names = [&] {
    auto found = boards.there.names(kMirror);
    std::ranges::sort(found);
    return found;
  };
  boards.enter(1, {1});
  const uint64_t entered = names().at(0);
  boards.there.enter(5, 905, 1, std::vector<uint64_t>{entered});  // a session there
  CHECK(boards.there.group(5, {}).size() == 2);                   // counted before anything has come
  boards.mirrored();
  CHECK(names() == std::vector<uint64_t>{entered});
  for (const uint64_t name : {uint64_t{41}, uint64_t{42}}) CHECK(boards.here.join(kSlot, name));
  boards.bridges.carry_all();
  CHECK(names() == (std::vector<uint64_t>{41, 42, entered}));
  boards.here.part(kSlot, 41);
  boards.bridges.carry_all();
  CHECK(names() == (std::vector<uint64_t>{42, entered}));  // that one has not been shown, so it stays
  CHECK(boards.here.join(kSlot, entered));
  boards.bridges.carry_all();
  boards.enter(9, {1, 2});  // one more, of the same session: all else stays
  CHECK(names().size() == 3 && boards.mirror.epoch == 1);
  boards.here.part(kSlot, entered);
  boards.bridges.carry_all();
  CHECK(names().size() == 2 && boards.there.group(5, {}).size() == 1);
}

CASE(board_is_shown_again_after_a_cut) {
  const Boards boards;
  boards.mirrored();
  CHECK(boards.here.join(kSlot, 41) && boards.here.join(kSlot, 42));
  boards.make_boundary(5);
  boards.bridges.carry_all();
  boards.make_boundary(6);
  CHECK(!boards.bridges.collect(0, 1).empty());  // lost
  for (const size_t node : {0, 1})
    CHECK_EQUAL(jitc_bridge_cut(boards.bridges[node], 1 - static_cast<uint32_t>(node), "gone"), 0);
  boards.here.part(kSlot, 41);
  CHECK(boards.counters() == (Three{5, 5, 5}));
  boards.bridges.carry_all();
  CHECK(boards.counters() == (Three{6, 6, 6}));
  CHECK(boards.there.names(kMirror) == std::vector<uint64_t>{42});
}

CASE(board_slots_that_are_left_or_another_session_s_are_not_touched) {
  const Boards boards;
  boards.mirrored();
  boards.make_boundary(5);
  boards.bridges.carry_all();
  boards.here.enter(kSlot, 31, 1, {});  // another program has the slot now
  boards.make_boundary(9);
  boards.bridges.carry_all();
  CHECK(boards.counters() == (Three{5, 5, 5}));
  boards.here.enter(kSlot, kSession, 1, {});
  boards.make_boundary(6);
  const Bytes late = boards.bridges.collect(0, 1);
  CHECK_EQUAL(jitc_board_leave(boards.bridges.board_path(1).c_str(), kMirror), 0);
  boards.bridges.apply(0, 1, late);
  CHECK(boards.counters() == (Three{0, 0, 0}) && boards.mirror.session == 0);
  boards.enter(1);
  CHECK_EQUAL(jitc_bridge_mirror(boards.bridges[1], R"({"local": [], "remote": []})"), 0);
  boards.bridges.apply(0, 1, late);
  CHECK(boards.counters() == (Three{0, 0, 0}));
}

CASE(board_is_newer_than_a_rank_that_has_come) {
  const Boards boards;
  boards.mirrored();
  const auto one = make_segments(boards.bridges, 2);
  auto& bridges = const_cast<Bridges&>(boards.bridges);
  bridges.link(one);
  boards.bridges.carry_all();
  software::Segment segment(2, 0);
  std::string error;
  CHECK(segment.map(one.paths[0], one.bytes, error));
  CHECK(boards.here.join(kSlot, 77));
  boards.here.show(kSlot, history(0));
  segment.own().joined = 1;
  const auto kinds = kinds_of(boards.bridges.collect(0, 1));
  CHECK(kinds == (std::vector<uint8_t>{kNames, kHistory, kCounters, kJoined}));
  // A history that cannot be read now keeps back those who come, and nothing else.
  auto& revision = *reinterpret_cast<std::atomic<uint64_t>*>(
      reinterpret_cast<std::byte*>(&boards.here.slot(0)) + JobBoard::kHistories + kSlot * sizeof(JobHistory));
  const auto another = make_segments(boards.bridges, 2, 2);
  bridges.link(another);
  boards.bridges.carry_all();
  software::Segment second(2, 0);
  CHECK(second.map(another.paths[0], another.bytes, error));
  revision |= 1;
  second.own().joined = 1;
  second.own().rounds[software::kSplits] = 1;
  CHECK(kinds_of(boards.bridges.collect(0, 1)) == std::vector<uint8_t>{kRound});
  boards.here.show(kSlot, history(1));
  CHECK(kinds_of(boards.bridges.collect(0, 1)) == (std::vector<uint8_t>{kHistory, kCounters, kJoined}));
}

CASE(board_rings_the_bridge) {
  const Boards boards;
  boards.mirrored();
  const auto one = make_segments(boards.bridges, 2);
  const_cast<Bridges&>(boards.bridges).link(one);
  boards.bridges.carry_all();
  const auto wakes = [&](const std::function<void()>& act) {
    SharedNumber back;
    std::thread waits([&] {
      Bytes bytes(1 << 20);
      CHECK(jitc_bridge_collect(boards.bridges[0], 1, bytes.data(), bytes.size(), 1'000'000) > 0);
      back.add();
    });
    act();
    back.wait_for(1);
    waits.join();
  };
  const uint32_t before = boards.here.bridge().rung();
  wakes([&] { boards.make_boundary(3); });
  wakes([&] { CHECK(boards.here.join(kSlot, 5)); });
  wakes([&] { boards.here.show(kSlot, history(4)); });
  CHECK(boards.here.bridge().rung() - before >= 4);
  wakes([&] { CHECK_EQUAL(jitc_bridge_unlink(boards.bridges[0], one.link), 0); });
}

CASE(board_functions_refuse_what_cannot_be) {
  const Bridges bridges(1);
  const char* const path = bridges.board_path(0).c_str();
  const uint64_t counters[4]{};
  const auto refused = [](int code, const std::string& part) {
    CHECK_EQUAL(code, -1);
    CHECK(contains(jitc_executor_message(), part));
  };
  refused(jitc_board_enter(path, 256, 1, 1, nullptr, 0), "no slot 256");
  refused(jitc_board_enter(path, 70, 0, 1, nullptr, 0), "a session has a number");
  refused(jitc_board_begin(path, 256, 1, counters), "no slot 256");
  refused(jitc_board_leave(path, 256), "no slot 256");
  Bytes ids;
  for (uint32_t i = 0; i <= std::tuple_size_v<JobNames>; ++i) {
    ids.resize(ids.size() + 128);
    std::memcpy(ids.data() + ids.size() - 128, &i, sizeof i);
  }
  refused(jitc_board_enter(path, 70, 1, 1, ids.data(), ids.size() / 128), "no place for more communicators");
}

}  // namespace jitc::test
