// The order checker: planted races are found, ordered programs are not reported, whatever the timing.
#include <array>

#include "collectives.h"
#include "device/devices.h"
#include "device/software/order/region.h"
#include "harness.h"

namespace jitc::test {
namespace {
using software::order::Region;
constexpr uint64_t kOne = 0x10, kTwo = 0x11, kBlocking = 0x12, kEvent = 0x20;

/// A device that checks, two streams that wait for nothing by themselves, a blocking one, an event, memory.
struct Checked : Session {
  explicit Checked(CommunicatorSegments* segments = nullptr, uint64_t slot = 0)
      : Session({.segments = segments, .slot = slot, .operators = JITC_TEST_OPERATORS, .check_order = true}) {
    stream(kOne);
    stream(kTwo);
    stream(kBlocking, 0);
    event(kEvent);
    data = allocate(1u << 16);
  }
  size_t races() { return sink.races().size(); }
  /// The pair that was found, and nothing else.
  Race only() {
    const auto found = sink.races();
    CHECK_EQUAL(found.size(), 1u);
    return found.front();
  }
  void site(const std::string& text) {
    ops::OrderSite op;
    op.bytes = text.size();
    give(op, 0, text.data(), text.size());
  }
  void known(uint64_t stream, uint64_t until) {
    ops::OrderKnown op;
    op.stream = stream;
    op.until = until;
    give(op);
  }
  uint64_t on_host(uint64_t stream, uint64_t address, bool written) {
    ops::OrderHost op;
    op.address = address;
    op.bytes = 8;
    op.written = written;
    give(op, stream);
    return written ? get(data + 64, 8, stream) : put(data + 128, std::vector<uint8_t>(8), stream);
  }
  void synchronize_stream(uint64_t stream) { ask(ops::StreamSynchronize{}, stream); }

  uint64_t data;
};

Region view(uint64_t address, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  return {address, 4, sizes, strides};
}
}  // namespace

CASE(order_regions) {
  const Region even = view(0x1000, {8}, {2}), odd = view(0x1004, {8}, {2});
  CHECK(!even.overlaps(odd) && !odd.overlaps(even));
  CHECK(even.overlaps(Region(0x1000, 4)) && !even.overlaps(Region(0x1004, 4)));
  CHECK(!even.dense() && even.end() == 0x1000 + 15 * 4);
  CHECK(view(0x1000, {4, 5, 6}, {30, 6, 1}).dense());
  CHECK(view(0x1000, {6, 5, 4}, {1, 6, 30}).dense());
  CHECK(view(0x1000, {1000, 4}, {0, 1}) == Region(0x1000, 16));
  CHECK(view(0x1000, {0, 4}, {4, 1}).empty());
  CHECK(view(0x1000, {INT64_MAX, 4}, {INT64_MAX, 1}).empty());
  CHECK(Region(UINT64_MAX - 4, 8).empty());
  const Region left = view(0x1000, {16, 3}, {8, 1}), right = view(0x1000 + 3 * 4, {16, 5}, {8, 1});
  CHECK(!left.overlaps(right) && left.overlaps(view(0x1000 + 2 * 4, {16, 5}, {8, 1})));
  const Region column = view(0x1000 + 7 * 4, {2, 16}, {128, 8});
  CHECK(!column.overlaps(left) && column.overlaps(right));
  CHECK(view(0x1000, {3, 2}, {4, 3}).overlaps(view(0x1000 + 7 * 4, {1}, {1})));
}

CASE(order_a_missing_wait_is_found) {
  Checked s;
  s.site("aten::zeros\ntrain.py:1");
  const uint64_t first = s.fill(s.data, 64, 1, kOne);
  s.site("aten::clone\ntrain.py:2");
  const uint64_t second = s.copy(s.data + 4096, s.data + 32, 64, kTwo);
  const Race race = s.only();
  CHECK_EQUAL(race.first.sequence, first);
  CHECK_EQUAL(race.second.sequence, second);
  CHECK_EQUAL(race.first.name, "a fill");
  CHECK_EQUAL(race.first.operator_name, "aten::zeros");
  CHECK_EQUAL(race.first.place, "train.py:1");
  CHECK_EQUAL(race.second.place, "train.py:2");
  CHECK(race.first.writes && !race.second.writes && race.second.stream == kTwo);
  CHECK_EQUAL(race.address, s.data + 32);
  CHECK_EQUAL(race.bytes, 32u);
  s.copy(s.data + 4096, s.data + 32, 64, kTwo);  // the same pair of places again
  s.fill(s.data, 64, 1, kOne);  // the other way round: the write is not ordered behind the read
  CHECK_EQUAL(s.races(), 2u);
}

CASE(order_an_event_orders) {
  Checked s;
  s.fill(s.data, 64, 1, kOne);
  s.record(kEvent, kOne);
  s.wait(kEvent, kTwo);
  s.copy(s.data + 4096, s.data, 64, kTwo);
  CHECK_EQUAL(s.races(), 0u);
}

CASE(order_an_event_on_the_wrong_stream_is_found) {
  Checked s;
  s.fill(s.data, 64, 1, kOne);
  s.record(kEvent, kTwo);
  s.wait(kEvent, kTwo);
  s.copy(s.data + 4096, s.data, 64, kTwo);
  s.only();
}

CASE(order_an_event_of_an_earlier_op_is_found) {
  Checked s;
  s.record(kEvent, kOne);
  s.fill(s.data, 64, 1, kOne);
  s.wait(kEvent, kTwo);
  s.copy(s.data + 4096, s.data, 64, kTwo);
  s.only();
}

CASE(order_goes_through_a_third_stream) {
  Checked s;
  s.fill(s.data, 64, 1, kOne);
  s.record(kEvent, kOne);
  s.stream(0x13);
  s.event(0x21);
  s.wait(kEvent, 0x13);
  s.record(0x21, 0x13);
  s.wait(0x21, kTwo);
  s.fill(s.data, 64, 2, kTwo);
  CHECK_EQUAL(s.races(), 0u);
}

CASE(order_a_block_given_back_too_early_is_found) {
  Checked s;
  s.fill(s.data, 64, 1, 0);  // a tensor of the default stream
  s.record(kEvent, 0);
  s.wait(kEvent, kOne);
  s.copy(s.data + 4096, s.data, 64, kOne);  // used by another one, without record_stream
  s.fill(s.data, 64, 2, 0);                 // and given to the next tensor
  const Race race = s.only();
  CHECK(!race.first.writes && race.second.writes);
}

CASE(order_reads_do_not_conflict) {
  Checked s;
  s.copy(s.data + 4096, s.data, 64, kOne);
  s.copy(s.data + 8192, s.data, 64, kTwo);
  CHECK_EQUAL(s.races(), 0u);
  s.fill(s.data, 8, 0, kOne);  // behind its own read, not behind the other one
  CHECK_EQUAL(s.only().first.stream, kTwo);
}

CASE(order_default_stream_and_blocking_streams) {
  Checked s;
  s.fill(s.data, 64, 1, kBlocking);
  s.copy(s.data + 4096, s.data, 64, 0);
  s.fill(s.data, 64, 1, kBlocking);
  CHECK_EQUAL(s.races(), 0u);
  s.copy(s.data + 8192, s.data, 64, kOne);  // of a stream that does not wait for the default stream
  CHECK_EQUAL(s.only().first.stream, kBlocking);
}

CASE(order_the_host_waits) {
  Checked s;
  s.fill(s.data, 64, 1, kOne);
  s.synchronize_stream(kOne);
  s.copy(s.data + 4096, s.data, 64, kTwo);
  s.fill(s.data, 64, 2, kOne);
  CHECK_EQUAL(s.races(), 1u);  // not behind the copy
  s.synchronize();
  s.fill(s.data, 64, 3, kBlocking);
  s.record(kEvent, kBlocking);
  s.synchronize_event(kEvent);
  s.fill(s.data, 64, 3, kTwo);
  CHECK_EQUAL(s.races(), 1u);
}

CASE(order_what_the_host_has_found_out) {
  Checked s;
  const uint64_t first = s.fill(s.data, 64, 1, kOne);
  const uint64_t second = s.fill(s.data + 64, 64, 1, kOne);
  s.known(kOne, first);
  s.copy(s.data + 4096, s.data, 64, kTwo);
  CHECK_EQUAL(s.races(), 0u);
  s.copy(s.data + 8192, s.data + 64, 64, kTwo);
  CHECK_EQUAL(s.only().first.sequence, second);
  s.known(0, 0);
  s.fill(s.data, 4096, 1, kTwo);
  CHECK_EQUAL(s.races(), 1u);
}

CASE(order_what_the_host_has_found_out_includes_what_came_before) {
  Checked s;
  s.fill(s.data, 64, 1, kOne);
  s.record(kEvent, kOne);
  const uint64_t wait = s.wait(kEvent, kTwo);
  s.fill(s.data + 4096, 64, 1, kTwo);
  s.known(kTwo, wait);
  s.fill(s.data, 64, 2, kBlocking);  // not known of any stream but through the other one
  CHECK_EQUAL(s.races(), 0u);
  s.fill(s.data + 4096, 64, 2, kBlocking);
  s.only();
}

CASE(order_pinned_memory) {
  Checked s;
  s.on_host(kOne, 0x7000, true);
  s.on_host(kOne, 0x7000, false);
  CHECK_EQUAL(s.races(), 0u);
  s.on_host(kTwo, 0x7000 + 4, true);
  CHECK(s.races() >= 1);
}

CASE(order_interleaved_views) {
  Checked s;
  ops::Copy2d rows;
  rows.destination_pitch = rows.source_pitch = 64;
  rows.width = 32;
  rows.height = 8;
  rows.source = s.data + 8192;
  rows.destination = s.data;
  s.give(rows, kOne);
  rows.destination = s.data + 32;
  s.give(rows, kTwo);
  CHECK_EQUAL(s.races(), 0u);
  rows.destination = s.data + 16;
  s.give(rows, kTwo);
  CHECK_EQUAL(s.only().first.stream, kOne);
}

CASE(order_interleaved_slices) {
  Checked s;
  ops::Copy3d slices;
  slices.destination_pitch = slices.source_pitch = 16;
  slices.destination_slice = slices.source_slice = 128;
  slices.width = 16;
  slices.height = 4;
  slices.depth = 8;
  slices.source = s.data + 8192;
  slices.destination = s.data;
  s.give(slices, kOne);
  slices.destination = s.data + 64;
  s.give(slices, kTwo);
  CHECK_EQUAL(s.races(), 0u);
  slices.destination = s.data + 48;
  s.give(slices, kTwo);
  CHECK_EQUAL(s.only().first.stream, kOne);
}

CASE(order_operators_read_and_write) {
  Checked s;
  uint64_t call[2] = {0, s.data};
  const auto run = [&](uint64_t stream) { s.give(ops::OperatorCall{}, stream, call, sizeof call); };
  run(kOne);
  run(kOne);
  CHECK_EQUAL(s.races(), 0u);
  s.give(ops::OperatorQuery{}, kTwo, call, sizeof call);  // a read, in the stand-in
  CHECK(s.only().first.writes);
}

CASE(order_fresh_memory) {
  Checked s;
  const uint64_t block = s.allocate(kBlock);
  s.fill(block, 64, 1, kOne);
  s.release(block);
  CHECK_EQUAL(s.try_allocate(block, kBlock), 0u);
  s.fill(block, 64, 1, kTwo);
  CHECK_EQUAL(s.races(), 0u);
}

CASE(order_a_replay_is_not_reported_again) {
  Checked s;
  s.synchronize();
  const uint64_t before = s.sequence();
  const auto race = [&] {
    s.fill(s.data, 64, 1, kOne);
    s.fill(s.data, 64, 1, kTwo);
  };
  race();
  s.only();
  s.backend->fence();
  s.backend->unfence();
  s.go_back_to(before);
  race();
  s.fill(s.data, 64, 1, kTwo);
  s.only();
}

CASE(order_streams_are_made_again_in_another_worker) {
  Checked s;
  s.restore({.allocations = {{s.data, 1u << 16}}, .streams = {{0x30, 0, 0}, {0x31, 1, 0}}});
  s.fill(s.data, 64, 1, 0x30);
  s.fill(s.data, 64, 1, 0);
  CHECK_EQUAL(s.races(), 0u);
  s.fill(s.data, 64, 1, 0x31);
  s.only();
}

CASE(order_forgets_what_is_over) {
  Checked s;
  for (int i = 0; i < 20000; ++i) {
    s.fill(s.data + static_cast<uint64_t>(i % 4096) * 16, 8, 1, kOne);
    if (i % 1000 == 0) s.synchronize_stream(kOne);
  }
  s.synchronize();
  s.fill(s.data, 1u << 16, 1, kTwo);
  CHECK_EQUAL(s.races(), 0u);
}

CASE(order_collectives) {
  Segments segments;
  segments.make(unique_id(3));
  run_ranks(2, [&](int rank) {
    Checked s(&segments, static_cast<uint64_t>(rank));
    const uint64_t comm = join_communicator(s, 3, 2, rank);
    const uint64_t own = s.data + static_cast<uint64_t>(rank) * 64, other = s.data + (rank ? 0u : 64u);
    const auto kind = ops::CollectiveKind::all_gather;
    give_group(s, {item(comm, kind, 1, 64, own, s.data)}, kOne);  // in place: the own part is read only
    s.copy(s.data + 4096, own, 64, kTwo);
    CHECK_EQUAL(s.races(), 0u);
    s.copy(s.data + 8192, other, 64, kTwo);
    CHECK_EQUAL(s.only().first.name, "ncclAllGather");
    s.synchronize();
  });
}

}  // namespace jitc::test
