// NCCL's bootstrap between ranks on several nodes (device/cuda/nccl/bootstrap_mirror.h).
#include <cstring>

#include "device/common/error.h"
#include "device/common/mirror/frames.h"
#include "device/cuda/nccl/nccl_bootstrap.h"
#include "harness.h"

namespace jitc::test {
namespace {
using cuda::NcclBootstrap;
using cuda::NcclUniqueId;
using device::FrameKind;

/// Rank r on node r.
struct Ranks {
  explicit Ranks(size_t count) : bridges(count) {
    communicator = make_segments(bridges, static_cast<uint32_t>(count), 1, "cuda");
    for (uint32_t rank = 0; rank < count; ++rank) {
      each.push_back(std::make_unique<NcclBootstrap>(static_cast<uint32_t>(count), rank));
      std::string error;
      if (!each.back()->map(communicator.paths[rank], communicator.bytes, error)) throw Failure{error};
    }
    bridges.link(communicator);
    bridges.carry_all();
  }
  NcclBootstrap& operator[](size_t rank) { return *each[rank]; }

  Bridges bridges;
  Bridges::Communicator communicator;
  std::vector<std::unique_ptr<NcclBootstrap>> each;
};

NcclUniqueId an_id(char value) {
  NcclUniqueId id;
  std::memset(id.internal, value, sizeof id.internal);
  return id;
}

bool has_id(NcclBootstrap& rank, uint64_t token, char value) {
  NcclUniqueId id{};
  std::vector<uint64_t> tokens;
  return rank.read(token, id, tokens) && id.internal[0] == value && id.internal[127] == value;
}
}  // namespace

CASE(bootstrap_brings_ranks_of_three_nodes_together) {
  Ranks ranks(3);
  for (size_t rank = 0; rank < 3; ++rank) {
    CHECK(!ranks[rank].present());
    ranks[rank].arrive(10 + rank);
  }
  ranks.bridges.carry_all();
  const std::vector<uint64_t> tokens{10, 11, 12};
  for (size_t rank = 0; rank < 3; ++rank) CHECK(ranks[rank].present() == tokens && !ranks[rank].wanted());
  ranks[2].want();
  ranks.bridges.carry_all();
  CHECK(ranks[0].wanted() && ranks[1].wanted());
  ranks[0].publish(an_id('a'), tokens);
  CHECK(!has_id(ranks[1], 11, 'a'));
  const uint32_t rung = ranks[1].doorbell();
  ranks.bridges.carry_all();
  for (const size_t rank : {1, 2})
    CHECK(has_id(ranks[rank], 10 + rank, 'a') && !has_id(ranks[rank], 99, 'a'));
  CHECK(ranks[1].doorbell() != rung);
  // One leaves and comes again.
  ranks[1].leave(11);
  ranks.bridges.carry_all();
  CHECK(!ranks[0].present() && !ranks[2].present());
  ranks[1].arrive(21);
  ranks.bridges.carry_all();
  ranks[0].publish(an_id('b'), {10, 21, 12});
  ranks.bridges.carry_all();
  CHECK(has_id(ranks[1], 21, 'b') && has_id(ranks[2], 12, 'b'));
  ranks[2].refuse();
  ranks.bridges.carry_all();
  CHECK(ranks[0].refused() && ranks[1].refused());
}

CASE(bootstrap_shows_an_id_when_its_recipients_are_known) {
  Ranks ranks(3);
  for (size_t rank = 0; rank < 3; ++rank) ranks[rank].arrive(10 + rank);
  const Bridges& bridges = ranks.bridges;
  // Node 2 hears of node 1 last.
  for (const size_t from : {1, 2}) bridges.apply(from, 0, bridges.collect(from, 0));
  ranks[0].publish(an_id('a'), {10, 11, 12});
  bridges.apply(0, 2, bridges.collect(0, 2));
  CHECK(!has_id(ranks[2], 12, 'a') && !ranks[2].present());
  bridges.apply(1, 2, bridges.collect(1, 2));
  CHECK(has_id(ranks[2], 12, 'a') && ranks[2].present() == (std::vector<uint64_t>{10, 11, 12}));
}

CASE(bootstrap_carries_splits) {
  Ranks ranks(2);
  for (int32_t round = 0; round < 5; ++round) {
    for (int32_t rank : {0, 1}) {
      const auto posted =
          ranks[static_cast<size_t>(rank)].post({round - rank, -round, static_cast<uint64_t>(100 + round)});
      CHECK_EQUAL(posted, static_cast<uint64_t>(round));
    }
    CHECK(ranks[0].missing(static_cast<uint64_t>(round)) == std::vector<uint32_t>{1});
    ranks.bridges.carry_all();
    CHECK(ranks[0].missing(static_cast<uint64_t>(round)).empty());
    const auto post = ranks[0].post_of(1, static_cast<uint64_t>(round));
    CHECK(post.color == round - 1 && post.key == -round &&
          post.sequence == static_cast<uint64_t>(100 + round));
  }
}

CASE(bootstrap_frames_that_are_wrong) {
  Ranks ranks(3);
  const auto refused = [&](size_t from, FrameKind kind, const Bytes& payload, const std::string& part) {
    const Bytes bytes = bytes_of({{static_cast<uint8_t>(kind), 1, payload}});
    check_refused(
        jitc_bridge_apply(ranks.bridges[2], static_cast<uint32_t>(from), bytes.data(), bytes.size()), part);
  };
  const auto id = [](uint8_t edition, size_t words) {
    Bytes bytes(8 + 128 + 8 * words);
    bytes[0] = edition;
    return bytes;
  };
  Bytes arrival(4 + 48);
  refused(1, FrameKind::arrival, arrival, "rank 0, which is not on its sender's node");
  arrival[0] = 2;
  refused(0, FrameKind::arrival, arrival, "rank 2, which is not on its sender's node");
  refused(0, FrameKind::arrival, {0, 0, 0, 0}, "shorter");
  refused(1, FrameKind::unique_id, id(2, 3), "rank 0, which is not on its sender's node");
  refused(0, FrameKind::unique_id, id(1, 3), "out of order");
  refused(0, FrameKind::unique_id, id(0, 3), "out of order");
  refused(0, FrameKind::unique_id, id(2, 2), "shorter");
  refused(0, FrameKind::unique_id, id(2, 4), "longer");
  refused(0, FrameKind::requested, {1}, "longer");
  refused(0, FrameKind::joined, {0, 0, 0, 0}, "does not belong to a segment of the cuda device");
}

CASE(bootstrap_says_that_others_cannot_be_reached) {
  Ranks ranks(2);
  ranks[0].require_link();
  ranks.bridges.cut(0, 1, "no answer");
  for (const size_t rank : {0, 1}) try {
      ranks[rank].require_link();
      throw Failure{"nothing was said"};
    } catch (const device::OpError& error) {
      CHECK_EQUAL(std::string(error.cause), "collective-error");
      CHECK(contains(error.message, "no answer"));
    }
}

}  // namespace jitc::test
