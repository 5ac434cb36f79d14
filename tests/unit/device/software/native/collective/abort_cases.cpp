// Communicators that the program aborts: what waits for other ranks ends, and a replay ends it at the same
// step.
//
// The ranks are sessions of one process.
#include <memory>
#include <thread>

#include "collectives.h"
#include "device/software/segment/ending.h"
#include "harness.h"

namespace jitc::test {
namespace {
using ops::CollectiveItem;
using ops::CollectiveKind;
using software::CollectivePosition;
using software::Cut;
using software::Ending;
using Floats = std::vector<float>;

constexpr uint64_t kComm = 0x500, kOther = 0x501, kStream = 0x10;
constexpr uint64_t kCount = 8;

class Rank : public Session {
 public:
  Rank(Segments& segments, int rank) : Session(segments, static_cast<uint64_t>(rank)), rank_(rank) {
    sink.on_injection = [this](const ops::OpHeader&, std::string_view) { begun_.add(); };
  }
  /// So many collectives have given what they can give without the others.
  void wait_begun(int count = 1) const { begun_.wait_for(count); }

  uint64_t create(uint64_t handle, uint8_t id, int ranks) {
    communicators_.push_back({handle, ranks, rank_, unique_id(id)});
    return create_communicator(*this, id, ranks, rank_, handle);
  }
  uint64_t keep(const Floats& values) {
    const uint64_t address = upload(values);
    allocations_.push_back({address, (values.size() * sizeof(float) + kBlock - 1) / kBlock * kBlock, 0});
    return address;
  }
  uint64_t sum(uint64_t data, uint64_t handle = kComm, uint64_t stream = 0) {
    return give_group(*this, {item(handle, CollectiveKind::all_reduce, 7, kCount, data, data)}, stream);
  }
  uint64_t give_abort(uint64_t handle = kComm) { return give(abort_of(handle)); }
  Cut outcome(uint64_t abort) {
    const Reply reply = sink.wait_result(abort);
    CHECK_EQUAL(reply.status, 0u);
    return Cut::unpack(reply.payload);
  }
  Cut abort(uint64_t handle = kComm) { return outcome(give_abort(handle)); }
  static ops::CommunicatorAbort abort_of(uint64_t handle) {
    ops::CommunicatorAbort op;
    op.handle = handle;
    return op;
  }
  void check_holds(uint64_t data, float value, size_t count = kCount) {
    synchronize();
    CHECK(download<float>(data, count) == Floats(count, value));
    for (const auto& fault : sink.faults()) throw Failure{fault.message};
  }

  /// Back to where the communicators were just made, with that in memory, and what is known of aborts.
  void go_back(uint64_t sequence, uint64_t data, const Floats& values, std::vector<KnownAbort> known) {
    Resources all;
    all.allocations = allocations_;
    all.communicators = communicators_;
    all.streams = {{kStream, 1, 0}};
    std::string error;
    if (!backend->restore(all, error)) throw Failure{error};
    CHECK(backend->write(data, std::as_bytes(std::span(values))));
    sink.forget();
    go_back_to(sequence);
    backend->aborts()->expect_aborts(known, sequence);
    backend->unfence();
  }

 private:
  const int rank_;
  SharedNumber begun_;
  std::vector<Resources::Allocation> allocations_;
  std::vector<Resources::Communicator> communicators_;
};

/// Some ranks in one communicator, each with its number + 1 in every element of its data.
struct Ranks {
  explicit Ranks(int count, size_t elements = kCount) {
    for (uint8_t id = 1; id <= 2; ++id) segments.make(unique_id(id), 2);
    segments.make_spares(4);
    for (int rank = 0; rank < count; ++rank) {
      one.push_back(std::make_unique<Rank>(segments, rank));
      values.emplace_back(elements, static_cast<float>(rank + 1));
    }
    join(kComm, 1);
    for (size_t rank = 0; rank < one.size(); ++rank) {
      data.push_back(one[rank]->keep(values[rank]));
      one[rank]->stream(kStream);
      start.push_back(one[rank]->sequence());
    }
  }
  void join(uint64_t handle, uint8_t id) {
    std::vector<uint64_t> asked;
    for (const auto& each : one) asked.push_back(each->create(handle, id, static_cast<int>(one.size())));
    for (size_t rank = 0; rank < one.size(); ++rank)
      CHECK_EQUAL(one[rank]->sink.wait_result(asked[rank]).status, 0u);
  }
  /// known: by rank.
  void replay(const std::vector<std::vector<KnownAbort>>& known) {
    for (const auto& each : one) each->backend->fence();
    segments.next_epoch();
    for (size_t rank = 0; rank < one.size(); ++rank)
      one[rank]->go_back(start[rank], data[rank], values[rank], known[rank]);
  }
  Rank& operator[](size_t rank) { return *one[rank]; }

  Segments segments;
  std::vector<std::unique_ptr<Rank>> one;
  std::vector<Floats> values;
  std::vector<uint64_t> data, start;  // sequence up to which all is there
};

KnownAbort known(const Cut& cut, uint64_t sequence, uint64_t handle = kComm) {
  return {handle, sequence, cut.pack()};
}
}  // namespace

CASE(abort_releases_a_collective_that_waits_for_a_living_rank) {
  Ranks ranks(2);
  const uint64_t stuck = ranks[0].sum(ranks.data[0]);
  ranks[0].wait_begun();
  const Cut cut = ranks[0].abort();
  CHECK(cut.first == (CollectivePosition{stuck, 0}));
  CHECK(cut.steps == std::vector<uint64_t>{1});  // it had given its part
  ranks[0].check_holds(ranks.data[0], 1.0f);
  // The other one has what it needs for this one, and waits in the next until it aborts too.
  ranks[1].sum(ranks.data[1]);
  ranks[1].check_holds(ranks.data[1], 3.0f);
  const uint64_t next = ranks[1].sum(ranks.data[1]);
  CHECK(ranks[1].abort().first == (CollectivePosition{next, 0}));
  ranks[1].check_holds(ranks.data[1], 3.0f);
}

CASE(abort_without_anything_under_way) {
  Ranks ranks(2);
  for (size_t rank : {0, 1}) ranks[rank].sum(ranks.data[rank]);
  for (size_t rank : {0, 1}) ranks[rank].check_holds(ranks.data[rank], 3.0f);
  const Cut cut = ranks[0].abort();
  CHECK(cut.steps.empty());
  CHECK(cut.first.sequence > ranks.start[0] && cut.first.index == 1);          // behind the only one
  CHECK_EQUAL(ranks[0].sink.wait_result(ranks[0].give_abort()).status, 400u);  // it is gone
}

CASE(abort_replays_to_the_same_outcome_although_all_ranks_are_there) {
  // Rank 0 gives up when it waits for rank 2; rank 1 and 2 go on with what it has given.
  Ranks ranks(3);
  ranks[0].sum(ranks.data[0]);
  ranks[1].sum(ranks.data[1]);
  ranks[0].wait_begun();
  const uint64_t abort = ranks[0].give_abort();
  const Cut cut = ranks[0].outcome(abort);
  ranks[2].sum(ranks.data[2]);
  const auto check = [&] {
    ranks[0].check_holds(ranks.data[0], 1.0f);
    ranks[1].check_holds(ranks.data[1], 6.0f);
    ranks[2].check_holds(ranks.data[2], 6.0f);
  };
  check();
  ranks.replay({{known(cut, abort)}, {}, {}});
  ranks[2].sum(ranks.data[2]);
  ranks[1].sum(ranks.data[1]);
  ranks[0].sum(ranks.data[0]);  // could be whole now
  const Cut again = ranks[0].outcome(ranks[0].give_abort());
  CHECK(again.first == cut.first && again.steps == cut.steps);
  check();
}

CASE(abort_waits_in_a_replay_for_what_was_done) {
  // Live the sum is done before the abort; in the replay the abort comes while it waits.
  Ranks ranks(2);
  for (size_t rank : {0, 1}) ranks[rank].sum(ranks.data[rank]);
  for (size_t rank : {0, 1}) ranks[rank].check_holds(ranks.data[rank], 3.0f);
  const uint64_t abort = ranks[0].give_abort();
  const Cut cut = ranks[0].outcome(abort);
  ranks.replay({{known(cut, abort)}, {}});
  ranks[0].sum(ranks.data[0]);
  const uint64_t again = ranks[0].give_abort();
  ranks[1].sum(ranks.data[1]);
  CHECK(ranks[0].outcome(again).first == cut.first);
  ranks[0].check_holds(ranks.data[0], 3.0f);
  ranks[1].check_holds(ranks.data[1], 3.0f);
}

CASE(abort_of_what_has_not_begun_replays_so) {
  Ranks ranks(2);
  ranks[0].sum(ranks.data[0]);
  const uint64_t queued = ranks[0].sum(ranks.data[0], kComm, kStream);  // its turn never comes
  ranks[0].wait_begun();
  const uint64_t abort = ranks[0].give_abort();
  const Cut cut = ranks[0].outcome(abort);
  CHECK(cut.first.sequence < queued && cut.steps == std::vector<uint64_t>{1});
  ranks[0].check_holds(ranks.data[0], 1.0f);
  ranks.replay({{known(cut, abort)}, {}});
  ranks[1].sum(ranks.data[1]);
  ranks[1].sum(ranks.data[1]);  // waits: rank 0 has given nothing to it
  ranks[0].sum(ranks.data[0]);
  ranks[0].sum(ranks.data[0], kComm, kStream);
  CHECK(ranks[0].abort().first == cut.first);
  ranks[0].check_holds(ranks.data[0], 1.0f);
  ranks[1].wait_begun(2);
  CHECK(ranks[1].abort().steps == std::vector<uint64_t>{1});
  ranks[1].check_holds(ranks.data[1], 3.0f);
}

CASE(abort_takes_effect_before_its_turn) {
  // The dispatcher waits for the device, as at a boundary, and the op is behind that.
  Ranks ranks(2);
  ranks[0].sum(ranks.data[0]);
  ranks[0].wait_begun();
  ops::CommunicatorAbort op = Rank::abort_of(kComm);
  op.header.sequence = ranks[0].sequence() + 1;
  ranks[0].backend->aborts()->abort_coming(op);
  CHECK(ranks[0].backend->idle());
  const Cut cut = ranks[0].outcome(op.header.sequence);
  CHECK(cut.steps == std::vector<uint64_t>{1});
  ranks[0].sum(ranks.data[0]);  // had been on its way before the abort
  const auto results = ranks[0].sink.results().size();
  ranks[0].give_abort();
  ranks[0].check_holds(ranks.data[0], 1.0f);
  CHECK_EQUAL(ranks[0].sink.results().size(), results + 1);  // that of the synchronization alone
}

CASE(abort_in_the_middle_of_a_message_replays_to_the_same_byte) {
  constexpr uint64_t kLarge = 1u << 20;  // does not fit between the ranks
  Ranks ranks(2, kLarge);
  const auto give = [&] {
    give_group(ranks[0], {item(kComm, CollectiveKind::send, 7, kLarge, ranks.data[0], 0, 1)});
    give_group(ranks[1], {item(kComm, CollectiveKind::receive, 7, kLarge, 0, ranks.data[1], 0)});
  };
  give_group(ranks[0], {item(kComm, CollectiveKind::send, 7, kLarge, ranks.data[0], 0, 1)});
  ranks[0].wait_begun();
  const uint64_t first = ranks[0].give_abort();
  const Cut sent = ranks[0].outcome(first);
  CHECK(sent.steps.size() == 1 && sent.steps[0] > 4096 && sent.steps[0] < kLarge * 4);
  give_group(ranks[1], {item(kComm, CollectiveKind::receive, 7, kLarge, 0, ranks.data[1], 0)});
  // Until all that was sent is there.
  for (float last = 0; last != 1.0f; std::this_thread::yield())
    last = ranks[1].download<float>(ranks.data[1] + (sent.steps[0] - 1) / 4 * 4 - 4, 1)[0];
  const uint64_t second = ranks[1].give_abort();
  const Cut received = ranks[1].outcome(second);
  CHECK(received.steps == sent.steps);
  ranks[1].synchronize();
  const auto got = ranks[1].download<float>(ranks.data[1], kLarge);
  CHECK(got.front() == 1.0f && got.back() == 2.0f);
  ranks.replay({{known(sent, first)}, {known(received, second)}});
  give();
  CHECK(ranks[0].abort().steps == sent.steps);
  CHECK(ranks[1].abort().steps == sent.steps);
  ranks[1].synchronize();
  CHECK(ranks[1].download<float>(ranks.data[1], kLarge) == got);
}

CASE(abort_of_one_communicator_of_a_group_leaves_the_other_one) {
  Ranks ranks(2);
  ranks.join(kOther, 2);
  const uint64_t more = ranks[0].keep(Floats(kCount, 5.0f)), others = ranks[1].keep(Floats(kCount, 7.0f));
  give_group(ranks[0], {item(kComm, CollectiveKind::all_reduce, 7, kCount, ranks.data[0], ranks.data[0]),
                        item(kOther, CollectiveKind::all_reduce, 7, kCount, more, more)});
  ranks[0].wait_begun();
  CHECK(ranks[0].abort().steps == (std::vector<uint64_t>{1, 0}));
  ranks[1].sum(others, kOther);
  ranks[0].check_holds(ranks.data[0], 1.0f);
  ranks[0].check_holds(more, 12.0f);
  ranks[1].check_holds(others, 12.0f);
}

CASE(abort_ends_a_split_that_waits) {
  Ranks ranks(2);
  ops::CommunicatorSplit split;
  split.parent = kComm;
  split.handle = 0x600;
  const uint64_t waits = ranks[0].give(split);
  CHECK(ranks[0].abort().steps.empty());
  const Reply reply = ranks[0].sink.wait_result(waits);
  CHECK_EQUAL(reply.status, 999u);
  CHECK_EQUAL(reply.text(), "the communicator was aborted");
  ranks[0].check_holds(ranks.data[0], 1.0f);
}

CASE(abort_is_released_by_a_fence) {
  Ranks ranks(2);
  ranks[0].sum(ranks.data[0]);
  ranks[0].give_abort();
  ranks[0].backend->fence();
  CHECK(!ranks[0].backend->idle());
}

CASE(abort_outcomes_by_position) {
  const auto position = [](uint64_t sequence, uint64_t index) { return CollectivePosition{sequence, index}; };
  Ending live;
  const auto a = live.given(7), b = live.given(7), c = live.given(9);
  CHECK(a == position(7, 0) && b == position(7, 1) && c == position(9, 0));
  CHECK(live.begin(a));
  live.done(a);
  CHECK(live.begin(b));
  live.end(3);
  CHECK(live.ends() && !live.settled() && !live.recorded());
  live.stopped(b, {4, 0});
  CHECK(!live.begin(c));
  const Cut cut = Cut::unpack(live.outcome().pack());
  CHECK(live.settled() && cut.first == b && cut.steps == (std::vector<uint64_t>{4, 0}));
  CHECK(live.given(11) == position(11, 0) && live.excluded(position(11, 0)));

  Ending replay;
  replay.expect(cut);
  CHECK(replay.recorded());
  for (const auto& one : {replay.given(7), replay.given(7)}) CHECK(!replay.excluded(one));
  CHECK(replay.excluded(replay.given(9)));
  replay.end(11);
  CHECK(!replay.ends() && !replay.settled());  // what was done comes first
  CHECK(replay.begin(a) && !replay.limits(a));
  replay.done(a);
  CHECK(replay.begin(b) && *replay.limits(b) == cut.steps);
  replay.stopped(b, cut.steps);
  CHECK(replay.settled() && replay.outcome().first == b);

  Ending unused;  // after a roll-back to op 20
  unused.end(20);
  CHECK(unused.settled() && unused.outcome().first == position(21, 0));
}

}  // namespace jitc::test
