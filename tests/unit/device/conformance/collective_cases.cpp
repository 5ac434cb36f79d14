// Collectives: each rank is a process of its own; results are compared with plain loops.
#include "collectives.h"
#include "harness.h"

namespace jitc::test {
namespace {
using ops::CollectiveItem;
using ops::CollectiveKind;
using ops::Reduction;

const std::vector<uint32_t> kAllTypes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

void check_all_kinds(int ranks, const std::vector<uint32_t>& dtypes, const std::vector<uint64_t>& counts) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(ranks, [&](int rank) {
    Rank s(segments, rank);
    check_all(s, join_communicator(s, 1, ranks, rank), ranks, rank, dtypes, counts);
  });
}
}  // namespace

CASE(collective_kinds_1_rank) { check_all_kinds(1, kAllTypes, {0, 1, 1001}); }
CASE(collective_kinds_2_ranks) { check_all_kinds(2, kAllTypes, {1, 1000}); }
CASE(collective_kinds_3_ranks) { check_all_kinds(3, {0, 4, 6, 7, 9}, {1, 6001}); }

CASE(collective_in_place_and_what_comes_after_it) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Rank s(segments, rank);
    const uint64_t comm = join_communicator(s, 1, 2, rank), count = 400000;
    const uint64_t data = s.upload(std::vector<float>(2 * count, static_cast<float>(rank + 1)));
    const uint64_t own = data + static_cast<uint64_t>(rank) * count * 4, copy = s.allocate(2 * count * 4);
    s.stream(0x10);
    // All on one stream: each sees what the one before it has left, the copy too.
    give_group(s, {item(comm, CollectiveKind::all_reduce, 7, 2 * count, data, data)}, 0x10);
    give_group(s, {item(comm, CollectiveKind::reduce_scatter, 7, count, data, own)}, 0x10);
    give_group(s, {item(comm, CollectiveKind::all_gather, 7, count, own, data)}, 0x10);
    s.copy(copy, data, 2 * count * 4, 0x10);
    s.synchronize();
    CHECK(s.download<float>(copy, 2 * count) == std::vector<float>(2 * count, 6.0f));
  });
}

CASE(collective_scale_from_device_memory) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Rank s(segments, rank);
    const uint64_t comm = join_communicator(s, 1, 2, rank);
    const uint64_t data = s.upload(std::vector<float>{4.0f}), factor = s.upload(std::vector<float>{0.25f});
    CollectiveItem op = item(comm, CollectiveKind::all_reduce, 7, 1, data, data);
    op.reduction = static_cast<uint32_t>(Reduction::premul_sum);
    op.scale_address = factor;
    give_group(s, {op});
    s.synchronize();
    CHECK_EQUAL(s.download<float>(data, 1)[0], 2.0f);
  });
}

CASE(collective_group_of_crossing_sends) {
  const int ranks = 3;
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(ranks, [&](int rank) {
    Rank s(segments, rank);
    const uint64_t comm = join_communicator(s, 1, ranks, rank);
    for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{65536}, uint64_t{700001}}) {
      std::vector<CollectiveItem> items;
      std::vector<std::pair<uint64_t, int>> received;
      for (int peer = 0; peer < ranks; ++peer) {  // to itself, too
        const uint64_t sent = s.upload(std::vector<int32_t>(count, rank * 10 + peer));
        items.push_back(item(comm, CollectiveKind::send, 2, count, sent, 0));
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

CASE(collective_order_across_streams) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Rank s(segments, rank);
    const uint64_t comm = join_communicator(s, 1, 2, rank);
    for (uint64_t stream = 0; stream < 4; ++stream) s.stream(0x100 + stream);
    std::vector<uint64_t> data;
    for (uint64_t i = 0; i < 40; ++i) {
      data.push_back(s.upload(std::vector<int64_t>(3, static_cast<int64_t>(i) + rank)));
      give_group(s, {item(comm, CollectiveKind::all_reduce, 4, 3, data.back(), data.back())}, 0x100 + i % 4);
    }
    s.synchronize();
    for (size_t i = 0; i < data.size(); ++i)
      CHECK((s.download<int64_t>(data[i], 3) == std::vector<int64_t>(3, 2 * static_cast<int64_t>(i) + 1)));
  });
}

CASE(collective_group_on_two_communicators) {
  Segments segments;
  segments.make(unique_id(1));
  segments.make(unique_id(2));
  run_ranks(2, [&](int rank) {
    Rank s(segments, rank);
    const uint64_t first = join_communicator(s, 1, 2, rank, 5);
    const uint64_t second = join_communicator(s, 2, 2, 1 - rank, 6);
    const uint64_t count = 5000;
    const uint64_t a = s.upload(std::vector<float>(count, 1.0f)),
                   b = s.upload(std::vector<float>(count, 2.0f));
    give_group(s, {item(first, CollectiveKind::all_reduce, 7, count, a, a),
                   item(second, CollectiveKind::all_reduce, 7, count, b, b)});
    s.synchronize();
    CHECK(s.download<float>(a, count) == std::vector<float>(count, 2.0f));
    CHECK(s.download<float>(b, count) == std::vector<float>(count, 4.0f));
  });
}

CASE(collective_split_by_color_and_key) {
  const int ranks = 4;
  Segments segments;
  segments.make(unique_id(1));
  segments.make_spares(4);
  run_ranks(ranks, [&](int rank) {
    Rank s(segments, rank);
    ops::CommunicatorSplit split;
    split.parent = join_communicator(s, 1, ranks, rank);
    split.handle = 0x600;
    split.color = rank == 3 ? -1 : rank % 2;  // {0, 2}, {1}, none
    split.key = -rank;
    const uint64_t sequence = s.give(split);
    const uint64_t data = s.upload(std::vector<int32_t>(2, rank + 1));
    // As in a replay: used before its result is there.
    if (rank < 3) give_group(s, {item(0x600, CollectiveKind::all_reduce, 2, 2, data, data)});
    const Reply reply = s.sink.wait_result(sequence);
    CHECK_EQUAL(reply.status, 0u);
    Resources::Communicator made;
    CHECK_EQUAL(s.backend->communicator(0x600, made), rank < 3);
    CHECK_EQUAL(reply.value<int32_t>(4), rank == 3 ? -1 : rank == 0 ? 1 : 0);  // rank 2 has the smaller key
    if (rank == 3) return;
    CHECK_EQUAL(reply.value<int32_t>(), rank == 1 ? 1 : 2);
    CHECK_EQUAL(made.ranks, reply.value<int32_t>());
    s.synchronize();
    CHECK_EQUAL(s.download<int32_t>(data, 1)[0], rank == 1 ? 2 : 4);
  });
}

CASE(collective_bad_operands) {
  constexpr uint64_t kComm = 0x500;
  // 1: the address of 4 KiB.
  const auto refused = [](CollectiveItem op, uint32_t status) {
    Session s;
    CHECK_EQUAL(join_communicator(s, 1, 1, 0), kComm);
    const uint64_t data = s.allocate(4096);
    if (op.send == 1) op.send = data;
    if (op.receive == 1) op.receive = data;
    give_group(s, {op});
    CHECK_EQUAL(s.sink.wait_fault().status, status);
  };
  const CollectiveItem right = item(kComm, CollectiveKind::all_reduce, 7, 8, 1, 1);
  const auto refused_with = [&](auto member, auto value, uint32_t status) {
    CollectiveItem op = right;
    op.*member = value;
    refused(op, status);
  };
  using Item = CollectiveItem;
  refused_with(&Item::comm, 77u, 400);
  refused_with(&Item::receive, 0u, 700);
  refused_with(&Item::send, 64u, 700);
  refused_with(&Item::count, 2049u * 512, 700);
  refused_with(&Item::count, UINT64_MAX / 4, 700);
  refused_with(&Item::count, UINT64_MAX, 1);
  refused_with(&Item::dtype, 99u, 1);
  refused_with(&Item::kind, 8u, 1);
  refused_with(&Item::reduction, 6u, 1);
  refused(item(kComm, CollectiveKind::broadcast, 7, 8, 1, 1), 1);  // root -1
  refused(item(kComm, CollectiveKind::send, 7, 8, 1, 1), 1);
  CollectiveItem scaled = right;
  scaled.reduction = static_cast<uint32_t>(Reduction::premul_sum);
  scaled.scale_address = 0x100;
  refused(scaled, 700);
  Session s;
  ops::Collective endless;
  endless.count = UINT64_MAX / sizeof(CollectiveItem) + 2;
  s.give(endless);
  CHECK_EQUAL(s.sink.wait_fault().status, 1u);
}

CASE(communicator_bad_operands) {
  Segments segments;  // knows nothing
  Session s({.segments = &segments});
  const auto status_of = [&](int ranks, int rank) {
    return s.sink.wait_result(create_communicator(s, 1, ranks, rank)).status;
  };
  const std::pair<int, int> bad[] = {{0, 0}, {-1, 0}, {2, 2}, {2, -1}, {1 << 30, 0}};
  for (const auto& [ranks, rank] : bad) CHECK_EQUAL(status_of(ranks, rank), 1u);
  const Reply unknown = s.sink.wait_result(create_communicator(s, 1, 2, 0, 0x501));
  CHECK_EQUAL(unknown.status, 999u);
  CHECK(contains(unknown.text(), "nobody knows"));
  CHECK_EQUAL(status_of(1, 0), 0u);
  CHECK_EQUAL(status_of(1, 0), 400u);  // exists
  ops::CommunicatorSplit split;
  split.parent = 77;
  split.handle = 78;
  CHECK_EQUAL(s.ask(split).status, 400u);
  destroy_communicator(s, 0x500);
  destroy_communicator(s, 0x500);
  CHECK_EQUAL(s.sink.wait_fault().status, 400u);
}

}  // namespace jitc::test
