// Collectives of the software device: each rank is a process of its own; results are compared with plain
// loops and, where rounding matters, with exact expectations.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "collectives.h"
#include "harness.h"

namespace jitc::test {
namespace {
using ops::CollectiveItem;
using ops::CollectiveKind;
using ops::Reduction;

void check_all_kinds(int ranks, const std::vector<uint32_t>& dtypes, const std::vector<uint64_t>& counts) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(ranks, [&](int rank) {
    Session s(segments);
    check_all(s, s.communicator(1, ranks, rank), ranks, rank, dtypes, counts);
  });
}
const std::vector<uint32_t> kAllTypes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
}  // namespace

CASE(collective_kinds_4_ranks) { check_all_kinds(4, kAllTypes, {3, 5000}); }
CASE(collective_larger_than_a_box) { check_all_kinds(3, {6, 7, 0}, {1100003}); }

CASE(collective_in_place_gather_leaves_the_own_part_alone) {
  constexpr uint64_t kCount = 5000;
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Session s(segments);
    const uint64_t comm = s.communicator(1, 2, rank);
    const auto mine = static_cast<float>(rank + 1), others = static_cast<float>(2 - rank);
    const uint64_t data = s.upload(std::vector<float>(2 * kCount, mine));
    const uint64_t own = data + static_cast<uint64_t>(rank) * kCount * sizeof(float);
    const std::vector<float> later(kCount, 9.0f);
    // What the rank gives has been taken; what it gets has not come.
    s.sink.on_injection = [&](const ops::OpHeader&, std::string_view) {
      CHECK(s.backend->write(own, std::as_bytes(std::span(later))));
    };
    give_group(s, {item(comm, CollectiveKind::all_gather, 7, kCount, own, data)});
    s.synchronize();
    CHECK(s.download<float>(own, kCount) == later);
    const uint64_t other = data + static_cast<uint64_t>(1 - rank) * kCount * sizeof(float);
    CHECK(s.download<float>(other, kCount) == std::vector<float>(kCount, others));
  });
}

CASE(collective_ranks_in_one_process) {
  Segments segments;
  segments.make(unique_id(1));
  Session a(segments), b(segments, 1);
  std::thread other([&] {
    const uint64_t comm = b.communicator(1, 2, 1);
    check_one(b, comm, {CollectiveKind::all_reduce, 7, Reduction::sum, 2, 1, -1, 100000});
  });
  const uint64_t comm = a.communicator(1, 2, 0);
  check_one(a, comm, {CollectiveKind::all_reduce, 7, Reduction::sum, 2, 0, -1, 100000});
  other.join();
}

CASE(collective_many_wait_and_none_is_in_the_way) {
  // Every stream has a collective on a communicator of its own, and the ranks give them in opposite order:
  // more wait at once than streams have threads.
  constexpr int kCount = 60;
  Segments segments;
  for (uint8_t id = 1; id <= kCount; ++id) segments.make(unique_id(id));
  run_ranks(2, [&](int rank) {
    Session s(segments);
    const uint64_t data = s.upload(std::vector<float>(kCount, 1.0f));
    std::vector<uint64_t> comms;
    for (int i = 0; i < kCount; ++i) {
      comms.push_back(s.communicator(static_cast<uint8_t>(i + 1), 2, rank, 0x500 + static_cast<uint64_t>(i)));
      s.stream(0x100 + static_cast<uint64_t>(i));
    }
    for (int turn = 0; turn < kCount; ++turn) {
      const auto i = static_cast<uint64_t>(rank ? kCount - 1 - turn : turn);
      const uint64_t at = data + i * 4;
      give_group(s, {item(comms[i], CollectiveKind::all_reduce, 7, 1, at, at)}, 0x100 + i);
    }
    s.synchronize();
    CHECK(s.download<float>(data, kCount) == std::vector<float>(kCount, 2.0f));
  });
}

CASE(collective_sums_in_rank_order_on_every_rank) {
  const int ranks = 3;
  Segments segments;
  segments.make(unique_id(1));
  // Values whose sum depends on the order of additions.
  const auto value = [](int rank, size_t i) {
    return static_cast<float>(std::sin(static_cast<double>(i) * 12.9898 + rank * 78.233) *
                              std::pow(10.0, rank * 3));
  };
  run_ranks(ranks, [&](int rank) {
    Session s(segments);
    const uint64_t comm = s.communicator(1, ranks, rank);
    for (const size_t count : {size_t{1000}, size_t{300001}}) {
      std::vector<float> input(count), wanted(count);
      for (size_t i = 0; i < count; ++i) {
        input[i] = value(rank, i);
        wanted[i] = value(0, i) + value(1, i);
        wanted[i] += value(2, i);
      }
      const uint64_t data = s.upload(input);
      give_group(s, {item(comm, CollectiveKind::all_reduce, 7, count, data, data)});
      s.synchronize();
      CHECK(s.download<float>(data, count) == wanted);
    }
  });
}

CASE(collective_half_sum_is_rounded_once) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(3, [&](int rank) {
    Session s(segments);
    const uint64_t comm = s.communicator(1, 3, rank);
    // 2048 + 1 + 1: with fp16 after each step 2048, in float and rounded once 2050.
    const uint64_t data = s.upload(std::vector<uint16_t>{static_cast<uint16_t>(rank == 0 ? 0x6800 : 0x3c00)});
    give_group(s, {item(comm, CollectiveKind::all_reduce, 6, 1, data, data)});
    s.synchronize();
    CHECK_EQUAL(s.download<uint16_t>(data, 1)[0], 0x6801);
  });
}

CASE(collective_mismatch_names_both) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Session s(segments);
    const uint64_t comm = s.communicator(1, 2, rank);
    const uint64_t data = s.upload(std::vector<float>(8, 1.0f));
    const auto kind = rank ? CollectiveKind::broadcast : CollectiveKind::all_reduce;
    CollectiveItem op = item(comm, kind, 7, rank ? 4 : 8, data, data);
    op.peer = 0;
    give_group(s, {op});
    const auto fault = s.sink.wait_fault();
    CHECK_EQUAL(fault.cause, "collective-mismatch");
    for (const char* part : {"all_reduce of 8 float32", "broadcast of 4 float32", "rank 0", "rank 1"})
      CHECK(contains(fault.message, part));
  });
}

CASE(collective_receive_of_another_size) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Session s(segments);
    const uint64_t comm = s.communicator(1, 2, rank);
    const uint64_t data = s.upload(std::vector<float>(8, 1.0f));
    CollectiveItem op =
        item(comm, rank ? CollectiveKind::receive : CollectiveKind::send, 7, rank ? 4 : 8, data, data);
    op.peer = 1 - rank;
    give_group(s, {op});
    if (rank == 0) return s.synchronize();
    const auto fault = s.sink.wait_fault();
    CHECK_EQUAL(fault.cause, "collective-mismatch");
    CHECK(contains(fault.message, "receives 4 float32 from rank 0, which sends 8"));
  });
}

CASE(collective_fence_gives_up_a_missing_peer) {
  Segments segments;
  segments.make(unique_id(1));
  segments.make(unique_id(2));
  Session s(segments);
  const uint64_t created = create_communicator(s, 1, 2, 0, 5);  // nobody else comes
  const uint64_t data = s.upload(std::vector<float>(8, 1.0f));
  Gate posted;
  s.sink.on_injection = [&](const ops::OpHeader&, std::string_view phase) {
    if (phase == "collective") posted.open();
  };
  give_group(s, {item(5, CollectiveKind::all_reduce, 7, 8, data, data)});
  const uint64_t waiting = s.give(ops::StreamSynchronize{});
  posted.pass();
  s.backend->fence();
  CHECK(!s.backend->idle());
  CHECK(!s.sink.has_result(created) && !s.sink.has_result(waiting));
  s.restore({.allocations = {{data, 4096}}, .communicators = {{5, 2, 0, unique_id(2)}}});
  // The peer is there in the next epoch.
  Session peer(segments, 1);
  const uint64_t other = peer.upload(std::vector<float>(8, 2.0f));
  give_group(s, {item(5, CollectiveKind::all_reduce, 7, 8, data, data)});
  peer.restore({.allocations = {{other, 4096}}, .communicators = {{6, 2, 1, unique_id(2)}}});
  give_group(peer, {item(6, CollectiveKind::all_reduce, 7, 8, other, other)});
  CHECK(s.backend->idle() && peer.backend->idle());
  CHECK(s.download<float>(data, 8) == std::vector<float>(8, 3.0f));
  CHECK(peer.download<float>(other, 8) == std::vector<float>(8, 3.0f));
  CHECK(s.sink.faults().empty());
}

CASE(collective_group_on_two_communicators_in_any_order) {
  Segments segments;
  segments.make(unique_id(1));
  segments.make(unique_id(2));
  run_ranks(2, [&](int rank) {
    Session s(segments);
    const uint64_t count = 500000, a = s.upload(std::vector<float>(count, 1.0f));
    std::vector items{item(s.communicator(1, 2, rank, 5), CollectiveKind::all_reduce, 7, count, a, a)};
    const uint64_t b = s.upload(std::vector<float>(count, 2.0f));
    items.push_back(item(s.communicator(2, 2, 1 - rank, 6), CollectiveKind::all_reduce, 7, count, b, b));
    if (rank == 1) std::swap(items[0], items[1]);
    give_group(s, items);
    s.synchronize();
    CHECK(s.download<float>(a, count) == std::vector<float>(count, 2.0f));
    CHECK(s.download<float>(b, count) == std::vector<float>(count, 4.0f));
  });
}

CASE(collective_of_a_type_without_arithmetic_is_refused) {
  Session s;
  const uint64_t comm = s.communicator(1, 1, 0), data = s.allocate(4096);
  give_group(s, {item(comm, CollectiveKind::all_reduce, 10, 8, data, data)});
  CHECK_EQUAL(s.sink.wait_fault().status, 801u);
}

CASE(collective_is_released_by_a_fault_elsewhere) {
  Segments segments;
  segments.make(unique_id(1));
  Session s(segments);
  create_communicator(s, 1, 2, 0, 5);  // the peer never comes
  const uint64_t data = s.upload(std::vector<float>(8, 1.0f));
  s.stream(0x10);
  give_group(s, {item(5, CollectiveKind::all_reduce, 7, 8, data, data)}, 0x10);
  s.copy(0, 0, 8);
  CHECK_EQUAL(s.sink.wait_fault().status, 700u);
  CHECK(!s.backend->idle());
  CHECK_EQUAL(s.sink.faults().size(), 1u);
}

CASE(collective_on_a_communicator_that_cannot_be_joined) {
  Segments segments;  // knows nothing
  Session s(segments);
  const uint64_t data = s.upload(std::vector<float>(8, 1.0f));
  s.restore({.allocations = {{data, 4096}}, .communicators = {{5, 2, 0, unique_id(1)}}});
  give_group(s, {item(5, CollectiveKind::all_reduce, 7, 8, data, data)});
  const auto fault = s.sink.wait_fault();
  CHECK_EQUAL(fault.status, 999u);
  CHECK(contains(fault.message, "nobody knows this communicator"));
}

}  // namespace jitc::test
