// Collectives of the software device between ranks on several nodes: as on one node, to the last bit.
#include <algorithm>
#include <optional>
#include <random>
#include <thread>

#include "collectives.h"
#include "device/common/error.h"
#include "device/software/segment/ending.h"
#include "device/software/segment/segment.h"
#include "harness.h"

namespace jitc::test {
namespace {
using ops::CollectiveItem;
using ops::CollectiveKind;
using ops::Reduction;
using software::Cut;
using Floats = std::vector<float>;

constexpr uint64_t kComm = Job::kComm;
constexpr size_t kLeast = JITC_BRIDGE_LEAST_ROOM;
const std::vector<uint32_t> kAllTypes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

void check_all_kinds(size_t nodes, int ranks, const std::vector<uint32_t>& dtypes,
                     const std::vector<uint64_t>& counts) {
  Job job(nodes, ranks);
  job.join();
  job.run([&](int rank) { check_all(job[rank], kComm, ranks, rank, dtypes, counts); });
  CHECK_EQUAL(job.links(), size_t{1});
}

/// Numbers whose sums are rounded, in a type of floating point.
Bytes random_numbers(uint32_t dtype, uint64_t count, std::mt19937& random) {
  Bytes bytes;
  const auto add = [&](const auto& value) {
    const auto* const first = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), first, first + sizeof value);
  };
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t bits = static_cast<uint32_t>(random());
    const float value = (static_cast<float>(bits % 200001) - 100000) / 7919.0f;
    if (dtype == 6) add(static_cast<uint16_t>((bits & 0x83ff) | (10 + bits % 9) << 10));
    if (dtype == 7) add(value);
    if (dtype == 8) add(static_cast<double>(value) / 3);
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    if (dtype == 9) add(static_cast<uint16_t>(word >> 16));
  }
  return bytes;
}

/// What each rank has after collectives of all kinds, in order.
std::vector<Bytes> outputs(size_t nodes, int ranks, uint32_t dtype, const std::vector<uint64_t>& counts) {
  Job job(nodes, ranks, kLeast);
  job.join();
  std::vector<Bytes> found(static_cast<size_t>(ranks));
  job.run([&](int rank) {
    std::mt19937 random(static_cast<uint32_t>(rank) + 1);
    Session& s = job[rank];
    const auto run = [&](CollectiveKind kind, Reduction reduction, uint64_t count) {
      const Setup setup{kind, dtype, reduction, ranks, rank, ranks - 1, count};
      const Bytes input = random_numbers(dtype, count * static_cast<uint64_t>(ranks), random);
      const uint64_t send = s.upload(input), receive = s.allocate(std::max<size_t>(1, output_bytes(setup)));
      CollectiveItem op = item(kComm, kind, dtype, count, send, receive, ranks - 1);
      op.reduction = static_cast<uint32_t>(reduction);
      op.scale = 0.3;
      give_group(s, {op});
      s.synchronize();
      const auto output = s.download<uint8_t>(receive, output_bytes(setup));
      auto& all = found[static_cast<size_t>(rank)];
      all.insert(all.end(), output.begin(), output.end());
      for (const uint64_t address : {send, receive}) s.release(address);
      s.backend->commit();
    };
    for (const uint64_t count : counts) {
      for (const auto kind :
           {CollectiveKind::broadcast, CollectiveKind::all_gather, CollectiveKind::all_to_all})
        run(kind, Reduction::sum, count);
      for (const auto kind :
           {CollectiveKind::all_reduce, CollectiveKind::reduce, CollectiveKind::reduce_scatter})
        for (const auto reduction : {Reduction::sum, Reduction::avg, Reduction::premul_sum})
          run(kind, reduction, count);
    }
    CHECK(s.sink.faults().empty());
  });
  return found;
}

uint64_t sum(Session& s, uint64_t data, uint64_t count, uint64_t comm = kComm) {
  return give_group(s, {item(comm, CollectiveKind::all_reduce, 7, count, data, data)});
}
}  // namespace

CASE(ranks_of_2_on_2_nodes) { check_all_kinds(2, 2, kAllTypes, {0, 1, 1000}); }
CASE(ranks_of_3_on_2_nodes) { check_all_kinds(2, 3, {0, 4, 6, 7, 9}, {1, 6001}); }
CASE(ranks_of_8_on_3_nodes) { check_all_kinds(3, 8, {2, 7}, {3, 5000}); }

CASE(ranks_give_what_they_give_on_one_node) {
  for (const auto& [dtype, ranks] :
       {std::pair{7u, 4}, std::pair{6u, 3}, std::pair{8u, 2}, std::pair{9u, 5}}) {
    const std::vector<uint64_t> counts{1, 4096, 8193};
    const auto expected = outputs(1, ranks, dtype, counts);
    CHECK(!expected[0].empty());
    CHECK(outputs(2, ranks, dtype, counts) == expected);
    CHECK(outputs(3, ranks, dtype, counts) == expected);
  }
}

CASE(ranks_with_several_boxes_of_data) {
  const std::vector<uint64_t> counts{0, 262144, 262145, 700001};  // a box has 262,144 floats
  CHECK(outputs(2, 3, 7, counts) == outputs(1, 3, 7, counts));
}

CASE(ranks_ring_the_bridge_whenever_they_publish) {
  constexpr uint32_t kTimes = 50;
  Job job(2, 2);
  job.join();
  const std::vector<uint64_t> data{job[0].upload(Floats(8, 1.0f)), job[1].upload(Floats(8, 2.0f))};
  uint32_t before[2];
  for (const size_t node : {0, 1}) before[node] = job.bridges.board(node).bridge().rung();
  for (uint32_t i = 0; i < kTimes; ++i)
    for (const int rank : {0, 1}) sum(job[rank], data[static_cast<size_t>(rank)], 8);
  for (const int rank : {0, 1}) job[rank].synchronize();
  for (const size_t node : {0, 1}) CHECK(job.bridges.board(node).bridge().rung() - before[node] >= kTimes);
}

CASE(ranks_send_and_receive) {
  const int ranks = 4;
  Job job(2, ranks, kLeast);
  job.join();
  job.run([&](int rank) {
    Session& s = job[rank];
    for (const uint64_t count : {0u, 1u, 65536u, 700001u}) {  // a mailbox has room for 65,536 numbers
      std::vector<CollectiveItem> items;
      std::vector<std::pair<uint64_t, int>> received;
      for (int peer = 0; peer < ranks; ++peer) {
        const uint64_t sent = s.upload(std::vector<int32_t>(count, rank * 10 + peer));
        items.push_back(item(kComm, CollectiveKind::send, 2, count, sent, 0, peer));
        received.push_back({s.allocate(count * 4 + 1), peer});
        items.push_back(item(kComm, CollectiveKind::receive, 2, count, 0, received.back().first, peer));
      }
      const uint64_t total = s.upload(std::vector<int32_t>{rank});
      items.push_back(item(kComm, CollectiveKind::all_reduce, 2, 1, total, total));
      give_group(s, items);
      s.synchronize();
      for (const auto& [address, peer] : received)
        CHECK(s.download<int32_t>(address, count) == std::vector<int32_t>(count, peer * 10 + rank));
      CHECK_EQUAL(s.download<int32_t>(total, 1)[0], 6);
    }
    CHECK(s.sink.faults().empty());
  });
}

CASE(ranks_split_a_communicator) {
  Job job(2, 6);  // 0, 2, 4 on one node
  job.join();
  job.run([&](int rank) {
    Session& s = job[rank];
    ops::CommunicatorSplit split;
    split.parent = kComm;
    split.handle = 0x600;
    split.color = rank == 5 ? -1 : rank / 3;  // {0, 1, 2}, {3, 4}, none
    split.key = -rank;
    const uint64_t sequence = s.give(split);
    const uint64_t data = s.upload(std::vector<int32_t>(2, rank + 1));
    if (rank < 5) give_group(s, {item(0x600, CollectiveKind::all_reduce, 2, 2, data, data)});
    const Reply reply = s.sink.wait_result(sequence);
    CHECK_EQUAL(reply.status, 0u);
    if (rank == 5) return;
    CHECK_EQUAL(reply.value<int32_t>(), rank < 3 ? 3 : 2);
    CHECK_EQUAL(reply.value<int32_t>(4), rank < 3 ? 2 - rank : 4 - rank);
    s.synchronize();
    CHECK_EQUAL(s.download<int32_t>(data, 1)[0], rank < 3 ? 6 : 9);
  });
  CHECK_EQUAL(job.links(), size_t{3});
}

CASE(ranks_abort_a_communicator) {
  Job job(2, 3);
  job.join();
  std::vector<uint64_t> data;
  SharedNumber begun;
  for (int rank = 0; rank < 3; ++rank)
    data.push_back(job[rank].upload(Floats(8, static_cast<float>(rank + 1))));
  job[0].sink.on_injection = [&](const ops::OpHeader&, std::string_view) { begun.add(); };
  const uint64_t stuck = sum(job[0], data[0], 8);
  begun.wait_for(1);
  ops::CommunicatorAbort abort;
  abort.handle = kComm;
  const Cut cut = Cut::unpack(job[0].ask(abort).payload);
  CHECK(cut.first.sequence == stuck && cut.steps == std::vector<uint64_t>{1});
  // The others have what rank 0 had given.
  for (const int rank : {1, 2}) sum(job[rank], data[static_cast<size_t>(rank)], 8);
  for (const int rank : {0, 1, 2}) {
    job[rank].synchronize();
    CHECK(job[rank].download<float>(data[static_cast<size_t>(rank)], 8) == Floats(8, rank ? 6.0f : 1.0f));
    CHECK(job[rank].sink.faults().empty());
  }
}

CASE(ranks_are_told_that_one_on_another_node_has_ended) {
  Job job(2, 2);
  job.join();
  const uint64_t data = job[0].upload(Floats(8, 1.0f)), other = job[1].upload(Floats(8, 2.0f));
  give_group(job[1], {item(kComm, CollectiveKind::send, 7, 8, other, 0, 0)});
  CHECK(job[1].backend->idle());
  job.end(1, 1, "rank 1 has ended");
  give_group(job[0], {item(kComm, CollectiveKind::receive, 7, 8, 0, data, 1)});
  CHECK(job[0].backend->idle());  // what a rank has done before its end counts
  CHECK(job[0].download<float>(data, 8) == Floats(8, 2.0f));
  sum(job[0], data, 8);
  const auto fault = job[0].sink.wait_fault();
  CHECK_EQUAL(fault.cause, "communicator-ended");
  CHECK(contains(fault.message, "rank 1 has ended"));
}

CASE(ranks_of_a_cut_link_all_get_the_error) {
  constexpr uint64_t kCount = 1u << 20;
  Job job(3, 5);
  job.join();
  SharedNumber begun;
  std::vector<uint64_t> data;
  for (int rank = 0; rank < 5; ++rank) {
    data.push_back(job[rank].upload(Floats(kCount, 1.0f)));
    job[rank].sink.on_injection = [&](const ops::OpHeader&, std::string_view) { begun.add(); };
  }
  // Rank 4 does not come to the second one: nothing ends it but the cut.
  for (int rank = 0; rank < 5; ++rank) sum(job[rank], data[static_cast<size_t>(rank)], kCount);
  for (int rank = 0; rank < 4; ++rank) sum(job[rank], data[static_cast<size_t>(rank)], kCount);
  begun.wait_for(9);
  job.bridges.cut(0, 1, "node n1 does not answer");
  for (const int rank : {0, 1, 3}) {  // of the two nodes
    const auto fault = job[rank].sink.wait_fault();
    CHECK_EQUAL(fault.cause, "collective-error");
    CHECK_EQUAL(fault.status, 999u);
    CHECK(contains(fault.message, "the connection to the other ranks is cut (node n1 does not answer)"));
    CHECK_EQUAL(job[rank].sink.faults().size(), size_t{1});
  }
  CHECK(job[2].sink.faults().empty() && job[4].sink.faults().empty());
  job.bridges.cut(0, 2, "node n2 does not answer");
  CHECK_EQUAL(job[2].sink.wait_fault().cause, "collective-error");
  for (int rank = 0; rank < 5; ++rank) job[rank].backend->fence();
}

CASE(ranks_of_a_cut_link_that_split_get_the_error_too) {
  Job job(2, 2);
  job.join();
  ops::CommunicatorSplit split;
  split.parent = kComm;
  split.handle = 0x600;
  const uint64_t at = job[0].give(split);  // rank 1 does not
  job.bridges.cut(0, 1, "gone");
  const auto fault = job[0].sink.wait_fault();
  CHECK_EQUAL(fault.cause, "collective-error");
  CHECK_EQUAL(fault.sequence, at);
  job[0].backend->fence();
  CHECK(!job[0].sink.has_result(at));
}

CASE(ranks_of_a_cut_link_that_join_get_the_error_too) {
  Job job(2, 2);
  job.bridges.stop();  // none is shown to the other
  const std::vector<uint64_t> asked{create_communicator(job[0], 1, 2, 0),
                                    create_communicator(job[1], 1, 2, 1)};
  while (job.links() < 1) std::this_thread::yield();
  job.bridges.cut(0, 1, "gone");
  for (const int rank : {0, 1}) {
    CHECK_EQUAL(job[rank].sink.wait_fault().cause, "collective-error");
    job[rank].backend->fence();
    CHECK(!job[rank].sink.has_result(asked[static_cast<size_t>(rank)]));
  }
}

CASE(ranks_cannot_reach_others_when_the_bridge_ends) {
  std::optional<Bridges> bridges(2);
  const auto one = make_segments(*bridges, 2);
  bridges->link(one, 0);
  bridges.reset();
  software::Segment segment(2, 0);
  std::string error;
  CHECK(segment.map(one.paths[0], one.bytes, error));
  try {
    segment.require_link();
  } catch (const device::OpError& said) {
    CHECK_EQUAL(std::string(said.cause), "collective-error");
    CHECK(contains(said.message, "the bridge to the other nodes has ended"));
    return;
  }
  throw Failure{"nothing was said"};
}

}  // namespace jitc::test
