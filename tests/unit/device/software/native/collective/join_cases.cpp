// How joins of the software device end when the other ranks do not come, or a recovery takes them back.
#include <thread>

#include "collectives.h"
#include "harness.h"

namespace jitc::test {
namespace {
using ops::CollectiveItem;
using ops::CollectiveKind;
constexpr uint64_t kComm = 0x500;

uint64_t split(Session& s, uint64_t handle) {
  ops::CommunicatorSplit op;
  op.parent = kComm;
  op.handle = handle;
  return s.give(op);
}

/// A communicator of two whose ranks are sessions of this process.
struct Pair {
  explicit Pair(double hang_seconds = 0)
      : a({.segments = &segments, .hang_seconds = hang_seconds}),
        b({.segments = &segments, .slot = 1, .hang_seconds = hang_seconds}) {
    segments.make(unique_id(1), 3);
    segments.make_spares(4);
  }
  void join() {
    const uint64_t first = create_communicator(a, 1, 2, 0), second = create_communicator(b, 1, 2, 1);
    CHECK_EQUAL(a.sink.wait_result(first).status, 0u);
    CHECK_EQUAL(b.sink.wait_result(second).status, 0u);
  }
  Segments segments;
  Session a, b;
};

void check_ended(const Reply& reply, const std::string& why) {
  CHECK_EQUAL(reply.status, 911u);
  CHECK_EQUAL(reply.text(), why);
}
}  // namespace

CASE(join_is_told_that_a_rank_will_not_come) {
  Segments segments;
  segments.make(unique_id(1));
  Session a(segments), b(segments, 1);
  const uint64_t first = create_communicator(a, 1, 3, 0), second = create_communicator(b, 1, 3, 1);
  segments.absent(unique_id(1), 2, "rank 2 has ended");
  check_ended(a.sink.wait_result(first), "rank 2 has ended");
  check_ended(b.sink.wait_result(second), "rank 2 has ended");
  segments.absent(unique_id(1), 1, "later");
  CHECK(a.backend->idle());
  CHECK(a.sink.faults().empty());
}

CASE(join_is_told_that_a_rank_has_come_and_gone) {
  Segments segments;
  segments.make(unique_id(1));
  Session a(segments);
  {
    Session b(segments, 1);
    create_communicator(b, 1, 3, 1);
    while (segments.asked() < 1) std::this_thread::yield();
  }
  segments.absent(unique_id(1), 1, "rank 1 has ended");
  check_ended(a.sink.wait_result(create_communicator(a, 1, 3, 0)), "rank 1 has ended");
}

CASE(collective_is_told_that_a_rank_has_ended) {
  Pair pair;
  pair.join();
  const uint64_t data = pair.a.upload(std::vector<float>(8, 1.0f)),
                 other = pair.b.upload(std::vector<float>(8, 2.0f));
  // What a rank has done before its end counts.
  const std::vector<CollectiveItem> sums{item(kComm, CollectiveKind::all_reduce, 7, 8, data, data)};
  give_group(pair.b, {item(kComm, CollectiveKind::send, 7, 8, other, 0, 0)});
  CHECK(pair.b.backend->idle());
  pair.segments.absent(unique_id(1), 1, "rank 1 has ended");
  give_group(pair.a, {item(kComm, CollectiveKind::receive, 7, 8, 0, data, 1)});
  CHECK(pair.a.backend->idle());
  CHECK(pair.a.download<float>(data, 8) == std::vector<float>(8, 2.0f));
  give_group(pair.a, sums);
  const auto fault = pair.a.sink.wait_fault();
  CHECK_EQUAL(fault.status, 911u);
  CHECK_EQUAL(fault.cause, "communicator-ended");
  CHECK(contains(fault.message, "rank 1 has ended"));
}

CASE(collective_after_a_restore_is_told_that_a_rank_has_ended) {
  Pair pair;
  pair.join();
  const uint64_t data = pair.a.upload(std::vector<float>(8, 1.0f));
  pair.a.backend->fence();
  pair.segments.next_epoch();
  pair.segments.absent(unique_id(1), 1, "rank 1 has ended");
  pair.a.restore({.allocations = {{data, 4096}}, .communicators = {{kComm, 2, 0, unique_id(1)}}});
  give_group(pair.a, {item(kComm, CollectiveKind::all_reduce, 7, 8, data, data)});
  CHECK_EQUAL(pair.a.sink.wait_fault().cause, "communicator-ended");
}

CASE(split_is_told_that_a_rank_has_ended) {
  Pair pair;
  pair.join();
  const uint64_t first = split(pair.a, 0x600), second = split(pair.a, 0x601);
  pair.segments.absent(unique_id(1), 1, "rank 1 has ended");
  check_ended(pair.a.sink.wait_result(first), "rank 1 has ended");
  check_ended(pair.a.sink.wait_result(second), "rank 1 has ended");
}

CASE(split_that_others_do_not_make_is_an_error) {
  Pair pair(0.05);
  pair.join();
  const Reply reply = pair.a.sink.wait_result(split(pair.a, 0x600));
  CHECK_EQUAL(reply.status, 911u);
  CHECK(reply.text().find("rank 1 of the communicator did not split it within") == 0);
}

CASE(join_that_a_recovery_takes_back_is_told_to_nobody) {
  Segments segments;
  segments.make(unique_id(1), 2);
  segments.supersede(true);
  Session a(segments), b(segments, 1);
  const uint64_t taken_back = create_communicator(a, 1, 2, 0);
  const uint64_t data = a.upload(std::vector<float>(8, 1.0f)), other = b.upload(std::vector<float>(8, 2.0f));
  while (segments.asked() < 1) std::this_thread::yield();
  a.backend->fence();
  CHECK(!a.sink.has_result(taken_back));
  // The recovery goes back to before it, and it is made anew.
  segments.supersede(false);
  segments.next_epoch();
  a.restore({.allocations = {{data, 4096}}});
  a.sink.forget();
  const uint64_t first = create_communicator(a, 1, 2, 0), second = create_communicator(b, 1, 2, 1);
  CHECK_EQUAL(a.sink.wait_result(first).status, 0u);
  CHECK_EQUAL(b.sink.wait_result(second).status, 0u);
  give_group(b, {item(kComm, CollectiveKind::all_reduce, 7, 8, other, other)});
  give_group(a, {item(kComm, CollectiveKind::all_reduce, 7, 8, data, data)});
  CHECK(a.backend->idle() && b.backend->idle());
  CHECK(a.download<float>(data, 8) == std::vector<float>(8, 3.0f));
  CHECK(a.sink.faults().empty());
}

CASE(collective_whose_join_is_taken_back_waits_for_the_fence) {
  Pair pair;
  const uint64_t data = pair.a.upload(std::vector<float>(8, 1.0f));
  pair.a.backend->fence();
  std::string error;
  const Resources wanted{.allocations = {{data, 4096}}, .communicators = {{kComm, 2, 0, unique_id(1)}}};
  CHECK(pair.a.backend->restore(wanted, error));
  pair.segments.supersede(true);
  pair.a.backend->unfence();
  give_group(pair.a, {item(kComm, CollectiveKind::all_reduce, 7, 8, data, data)});
  while (pair.segments.asked() < 1) std::this_thread::yield();
  pair.a.backend->fence();
  CHECK(pair.a.sink.faults().empty());
  CHECK(pair.a.backend->restore(wanted, error));
  pair.segments.supersede(false);
  pair.a.backend->unfence();
  give_group(pair.a, {item(kComm, CollectiveKind::all_reduce, 7, 8, data, data)});
  CHECK_EQUAL(pair.b.sink.wait_result(create_communicator(pair.b, 1, 2, 1)).status,
              0u);  // a has joined by its first collective
}

/// A recovery begins between the service's answer and its use: the segment is another one, or has been given
/// up.
CASE(join_asks_again_for_a_segment_that_is_not_there_any_more) {
  for (const std::string& path : {std::string(), std::string("/proc/self/fd/9999")}) {
    Pair pair;
    pair.segments.mislead(1, path, 7);
    const uint64_t first = create_communicator(pair.a, 1, 2, 0),
                   second = create_communicator(pair.b, 1, 2, 1);
    CHECK_EQUAL(pair.a.sink.wait_result(first).status, 0u);
    CHECK_EQUAL(pair.b.sink.wait_result(second).status, 0u);
    CHECK_EQUAL(pair.segments.asked(), 3);
  }
}

CASE(join_says_that_a_segment_is_not_there) {
  const std::pair<std::string, std::string> wrong[]{
      {"", "the communicator's segment is another one"},
      {"/proc/self/fd/9999", "the communicator's segment has been given up"}};
  for (const auto& [path, said] : wrong) {
    Segments segments;
    segments.make(unique_id(1));
    segments.mislead(2, path, 7);
    Session a(segments);
    const Reply reply = a.sink.wait_result(create_communicator(a, 1, 2, 0));
    CHECK_EQUAL(reply.status, 999u);
    CHECK_EQUAL(reply.text(), said);
    CHECK(segments.blank(unique_id(1)));
  }
}

CASE(join_whose_segment_a_recovery_has_renewed_is_told_to_nobody) {
  Segments segments;
  segments.make(unique_id(1));
  segments.mislead(1, "/proc/self/fd/9999", 7);
  segments.supersede(true);
  Session a(segments);
  const uint64_t sequence = create_communicator(a, 1, 2, 0);
  while (segments.asked() < 2) std::this_thread::yield();
  CHECK(a.backend->idle());
  CHECK(!a.sink.has_result(sequence) && a.sink.faults().empty());
  CHECK(segments.blank(unique_id(1)));
}

/// A wait inside a split ends with the fence, also when the device runs on before the waiting thread looks.
CASE(split_given_up_again_and_again_leaves_the_device_quiet) {
  Pair pair;
  pair.join();
  for (int round = 0; round < 50; ++round) {
    split(pair.a, 0x600 + static_cast<uint64_t>(2 * round));
    split(pair.a, 0x601 + static_cast<uint64_t>(2 * round));  // waits for the turn of the first
    pair.a.backend->fence();
    pair.a.backend->unfence();
    CHECK(pair.a.backend->idle());
  }
}
}  // namespace jitc::test
