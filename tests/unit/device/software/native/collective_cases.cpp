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
    Session s(&segments);
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
    Session s(&segments);
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
  Session a(&segments, 0), b(&segments, 1);
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
    Session s(&segments);
    const uint64_t data = s.upload(std::vector<float>(kCount, 1.0f));
    std::vector<uint64_t> comms;
    for (int i = 0; i < kCount; ++i) {
      comms.push_back(s.communicator(static_cast<uint8_t>(i + 1), 2, rank, 0x500 + static_cast<uint64_t>(i)));
      ops::StreamCreate stream;
      stream.handle = 0x100 + static_cast<uint64_t>(i);
      stream.flags = 1;
      s.give(stream);
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

CASE(collective_in_place) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Session s(&segments);
    const uint64_t comm = s.communicator(1, 2, rank);
    const uint64_t count = 400000;
    const uint64_t data = s.upload(std::vector<float>(2 * count, static_cast<float>(rank + 1)));
    give_group(s, {item(comm, CollectiveKind::all_reduce, 7, 2 * count, data, data)});
    s.synchronize();
    CHECK(s.download<float>(data, 2 * count) == std::vector<float>(2 * count, 3.0f));
    const uint64_t own = data + static_cast<uint64_t>(rank) * count * 4;
    give_group(s, {item(comm, CollectiveKind::reduce_scatter, 7, count, data, own)});
    s.synchronize();
    CHECK(s.download<float>(own, count) == std::vector<float>(count, 6.0f));
    give_group(s, {item(comm, CollectiveKind::all_gather, 7, count, own, data)});
    s.synchronize();
    CHECK(s.download<float>(data, 2 * count) == std::vector<float>(2 * count, 6.0f));
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
    Session s(&segments);
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
    Session s(&segments);
    const uint64_t comm = s.communicator(1, 3, rank);
    // 2048 + 1 + 1: with fp16 after each step 2048, in float and rounded once 2050.
    const uint64_t data = s.upload(std::vector<uint16_t>{static_cast<uint16_t>(rank == 0 ? 0x6800 : 0x3c00)});
    give_group(s, {item(comm, CollectiveKind::all_reduce, 6, 1, data, data)});
    s.synchronize();
    CHECK_EQUAL(s.download<uint16_t>(data, 1)[0], 0x6801);
  });
}

CASE(collective_group_of_crossing_sends) {
  const int ranks = 3;
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(ranks, [&](int rank) {
    Session s(&segments);
    const uint64_t comm = s.communicator(1, ranks, rank);
    for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{65536}, uint64_t{700001}}) {
      std::vector<CollectiveItem> items;
      std::vector<std::pair<uint64_t, int>> received;
      for (int peer = 0; peer < ranks; ++peer) {  // to itself, too
        const int32_t value = rank * 10 + peer;
        items.push_back(
            item(comm, CollectiveKind::send, 2, count, s.upload(std::vector<int32_t>(count, value)), 0));
        items.back().peer = peer;
        received.push_back({s.allocate(count * 4 + 1), peer});
        items.push_back(item(comm, CollectiveKind::receive, 2, count, 0, received.back().first));
        items.back().peer = peer;
      }
      const uint64_t sum = s.upload(std::vector<int32_t>{rank});
      items.push_back(item(comm, CollectiveKind::all_reduce, 2, 1, sum, sum));
      give_group(s, items);
      s.synchronize();
      for (const auto& [address, peer] : received)
        CHECK(s.download<int32_t>(address, count) == std::vector<int32_t>(count, peer * 10 + rank));
      CHECK_EQUAL(s.download<int32_t>(sum, 1)[0], 3);
    }
  });
}

CASE(collective_mismatch_names_both) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Session s(&segments);
    const uint64_t comm = s.communicator(1, 2, rank);
    const uint64_t data = s.upload(std::vector<float>(8, 1.0f));
    const auto kind = rank ? CollectiveKind::broadcast : CollectiveKind::all_reduce;
    CollectiveItem op = item(comm, kind, 7, rank ? 4 : 8, data, data);
    op.peer = 0;
    give_group(s, {op});
    const auto fault = s.sink.wait_fault();
    CHECK_EQUAL(fault.cause, "collective-mismatch");
    for (const char* part : {"all_reduce of 8 float32", "broadcast of 4 float32", "rank 0", "rank 1"})
      CHECK(fault.message.find(part) != std::string::npos);
  });
}

CASE(collective_receive_of_another_size) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Session s(&segments);
    const uint64_t comm = s.communicator(1, 2, rank);
    const uint64_t data = s.upload(std::vector<float>(8, 1.0f));
    CollectiveItem op =
        item(comm, rank ? CollectiveKind::receive : CollectiveKind::send, 7, rank ? 4 : 8, data, data);
    op.peer = 1 - rank;
    give_group(s, {op});
    if (rank == 0) return s.synchronize();
    const auto fault = s.sink.wait_fault();
    CHECK_EQUAL(fault.cause, "collective-mismatch");
    CHECK(fault.message.find("receives 4 float32 from rank 0, which sends 8") != std::string::npos);
  });
}

CASE(collective_fence_gives_up_a_missing_peer) {
  Segments segments;
  segments.make(unique_id(1));
  segments.make(unique_id(2));
  Session s(&segments);
  ops::CommunicatorCreate create;
  create.handle = 5;
  create.ranks = 2;
  create.unique_id = unique_id(1);
  const uint64_t created = s.give(create);  // nobody else comes
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
  std::string error;
  CHECK(
      s.backend->restore({.allocations = {{data, 4096}}, .communicators = {{5, 2, 0, unique_id(2)}}}, error));
  s.backend->unfence();
  // The peer is there in the next epoch.
  Session peer(&segments, 1);
  const uint64_t other = peer.upload(std::vector<float>(8, 2.0f));
  give_group(s, {item(5, CollectiveKind::all_reduce, 7, 8, data, data)});
  std::string none;
  peer.backend->fence();
  CHECK(peer.backend->restore({.allocations = {{other, 4096}}, .communicators = {{6, 2, 1, unique_id(2)}}},
                              none));
  peer.backend->unfence();
  give_group(peer, {item(6, CollectiveKind::all_reduce, 7, 8, other, other)});
  CHECK(s.backend->idle() && peer.backend->idle());
  CHECK(s.download<float>(data, 8) == std::vector<float>(8, 3.0f));
  CHECK(peer.download<float>(other, 8) == std::vector<float>(8, 3.0f));
  CHECK(s.sink.faults().empty());
}

CASE(collective_group_on_two_communicators) {
  Segments segments;
  segments.make(unique_id(1));
  segments.make(unique_id(2));
  run_ranks(2, [&](int rank) {
    Session s(&segments);
    const uint64_t first = s.communicator(1, 2, rank, 5), second = s.communicator(2, 2, 1 - rank, 6);
    const uint64_t count = 500000;
    const uint64_t a = s.upload(std::vector<float>(count, 1.0f)),
                   b = s.upload(std::vector<float>(count, 2.0f));
    auto items = std::vector{item(first, CollectiveKind::all_reduce, 7, count, a, a),
                             item(second, CollectiveKind::all_reduce, 7, count, b, b)};
    if (rank == 1)
      std::swap(items[0], items[1]);  // the order between communicators does not matter in a group
    give_group(s, items);
    s.synchronize();
    CHECK(s.download<float>(a, count) == std::vector<float>(count, 2.0f));
    CHECK(s.download<float>(b, count) == std::vector<float>(count, 4.0f));
  });
}

CASE(collective_is_released_by_a_fault_elsewhere) {
  Segments segments;
  segments.make(unique_id(1));
  Session s(&segments);
  ops::CommunicatorCreate create;
  create.handle = 5;
  create.ranks = 2;
  create.unique_id = unique_id(1);
  s.give(create);  // the peer never comes
  const uint64_t data = s.upload(std::vector<float>(8, 1.0f));
  ops::StreamCreate stream;
  stream.handle = 0x10;
  stream.flags = 1;
  s.give(stream);
  give_group(s, {item(5, CollectiveKind::all_reduce, 7, 8, data, data)}, 0x10);
  ops::CopyD2d bad;
  bad.bytes = 8;
  s.give(bad);
  CHECK_EQUAL(s.sink.wait_fault().status, 700u);
  CHECK(!s.backend->idle());
  CHECK_EQUAL(s.sink.faults().size(), 1u);
}

CASE(collective_on_a_communicator_that_cannot_be_joined) {
  Segments segments;  // knows nothing
  Session s(&segments);
  const uint64_t data = s.upload(std::vector<float>(8, 1.0f));
  s.backend->fence();
  std::string error;
  CHECK(
      s.backend->restore({.allocations = {{data, 4096}}, .communicators = {{5, 2, 0, unique_id(1)}}}, error));
  s.backend->unfence();
  give_group(s, {item(5, CollectiveKind::all_reduce, 7, 8, data, data)});
  const auto fault = s.sink.wait_fault();
  CHECK_EQUAL(fault.status, 999u);
  CHECK(fault.message.find("nobody knows this communicator") != std::string::npos);
}

CASE(collective_bad_operands) {
  const auto refused = [&](CollectiveItem op, uint32_t status) {
    Session s;
    s.communicator(1, 1, 0);
    const uint64_t data = s.allocate(4096);
    if (op.send == 1) op.send = data;
    if (op.receive == 1) op.receive = data;
    give_group(s, {op});
    CHECK_EQUAL(s.sink.wait_fault().status, status);
  };
  const uint64_t comm = 0x500;
  refused(item(77, CollectiveKind::all_reduce, 7, 8, 1, 1), 400);
  refused(item(comm, CollectiveKind::all_reduce, 7, 8, 1, 0), 700);
  refused(item(comm, CollectiveKind::all_reduce, 7, 8, 64, 1), 700);
  refused(item(comm, CollectiveKind::all_reduce, 7, UINT64_MAX, 1, 1), 1);
  refused(item(comm, CollectiveKind::all_reduce, 7, UINT64_MAX / 4, 1, 1), 700);
  refused(item(comm, CollectiveKind::all_reduce, 99, 8, 1, 1), 1);
  refused(item(comm, CollectiveKind::all_reduce, 10, 8, 1, 1), 801);
  refused(item(comm, static_cast<CollectiveKind>(9), 7, 8, 1, 1), 1);
  refused(item(comm, CollectiveKind::broadcast, 7, 8, 1, 1), 1);  // root -1
  refused(item(comm, CollectiveKind::send, 7, 8, 1, 1), 1);
}

CASE(communicator_bad_operands) {
  Session s;
  ops::CommunicatorCreate create;
  create.handle = 5;
  const std::pair<int, int> bad[] = {{0, 0}, {-1, 0}, {2, 2}, {2, -1}, {1 << 30, 0}};
  for (const auto& [ranks, rank] : bad) {
    create.ranks = ranks;
    create.rank = rank;
    CHECK_EQUAL(s.ask(create).status, 1u);
  }
  create.ranks = 2;
  create.rank = 0;
  const Reply reply = s.ask(create);  // nobody knows the id
  CHECK_EQUAL(reply.status, 999u);
  CHECK(reply.text().find("nobody knows") != std::string::npos);
  create.ranks = 1;
  CHECK_EQUAL(s.ask(create).status, 0u);
  CHECK_EQUAL(s.ask(create).status, 400u);  // exists
  ops::CommunicatorDestroy destroy;
  destroy.handle = 5;
  s.give(destroy);
  s.give(destroy);
  CHECK_EQUAL(s.sink.wait_fault().status, 400u);
}
}  // namespace jitc::test
