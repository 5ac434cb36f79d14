// How communicators come, are given up, and come again.
#include <thread>

#include "rank.h"

namespace jitc::test {
namespace {
constexpr uint64_t kComm = 0x500, kOther = 0x501;

Identity identity(uint64_t handle, uint8_t id, int ranks, int rank) {
  return {handle, ranks, rank, unique_id(id)};
}

void all_reduce(Rank& rank, uint64_t comm) { rank.collective({item(comm, CollectiveKind::all_reduce)}); }

/// Runs for a rank what waits for other ranks; what it throws comes out of join().
class Apart {
 public:
  explicit Apart(std::function<void()> body)
      : thread_([this, body = std::move(body)] {
          try {
            body();
          } catch (const Failure& failure) {
            message_ = failure.message;
          } catch (const cuda::OpError& error) {
            message_ = error.message;
          } catch (const cuda::Abandoned&) {
            abandoned_ = true;
          }
        }) {}
  ~Apart() {
    if (thread_.joinable()) thread_.join();
  }
  void join() {
    thread_.join();
    if (!message_.empty()) throw Failure{message_};
  }
  bool abandoned() {
    join();
    return abandoned_;
  }

 private:
  std::string message_;
  bool abandoned_ = false;
  std::thread thread_;
};

struct Pair {
  Segments segments;
  Rank a{segments}, b{segments};
  void create(uint64_t handle = kComm, uint8_t id = 1) {
    const uint64_t first = a.create(handle, id, 2, 0), second = b.create(handle, id, 2, 1);
    CHECK_EQUAL(a.wait_result(first).status, 0u);
    CHECK_EQUAL(b.wait_result(second).status, 0u);
  }
  void restore() {
    a.restore({identity(kComm, 1, 2, 0), identity(kOther, 2, 2, 0)});
    b.restore({identity(kComm, 1, 2, 1), identity(kOther, 2, 2, 1)});
  }
};
}  // namespace

CASE(nccl_life_made_used_destroyed) {
  Pair pair;
  pair.create();
  all_reduce(pair.a, kComm);
  all_reduce(pair.b, kComm);
  pair.a.destroy(kComm);
  pair.b.destroy(kComm);
  await("destroy", [] { return stub_count("destroyed") == 2; });
  CHECK_EQUAL(stub_count("aborted"), 0);
  CHECK(pair.a.communicators->quiet());
}

CASE(nccl_life_a_peer_that_never_comes) {
  Pair pair;
  const uint64_t created = pair.a.create(kComm, 1, 2, 0);
  CHECK(!pair.a.communicators->quiet());
  Apart waiting([&] { all_reduce(pair.a, kComm); });
  pair.a.communicators->interrupt();
  CHECK(waiting.abandoned());
  CHECK(pair.a.fence());
  CHECK(!pair.a.sink.has_result(created));
  CHECK(pair.a.communicators->quiet());
  CHECK_EQUAL(stub_count("made"), 0);
  // Later both are there.
  pair.a.communicators->resume();
  pair.b.restore({identity(kComm, 1, 2, 1)});
  Apart other([&] { all_reduce(pair.b, kComm); });
  all_reduce(pair.a, kComm);
  other.join();
}

CASE(nccl_life_a_peer_that_cannot_come_any_more) {
  Pair pair;
  const uint64_t created = pair.a.create(kComm, 1, 2, 0);
  await("joined", [&] { return pair.segments.asked() == 1; });
  pair.segments.absent(unique_id(1), 1, "rank 1 has ended");
  const Reply reply = pair.a.wait_result(created);
  CHECK_EQUAL(reply.status, 911u);
  CHECK_EQUAL(reply.text(), "rank 1 has ended");
  const auto refused = refusal([&] { all_reduce(pair.a, kComm); });
  CHECK(refused && refused->status == 911u);
  CHECK_EQUAL(std::string(refused->cause), "communicator-ended");
  CHECK_EQUAL(stub_count("made"), 0);
}

CASE(nccl_life_a_peer_that_ends_while_nccl_joins) {
  Pair pair;
  stub_set("hold_init", 1);
  const uint64_t first = pair.a.create(kComm, 1, 2, 0), second = pair.b.create(kComm, 1, 2, 1);
  await("both inside", [] { return stub_count("made") == 2; });
  pair.segments.absent(unique_id(1), 1, "rank 1 has ended");
  CHECK_EQUAL(pair.a.wait_result(first).status, 911u);
  CHECK_EQUAL(pair.b.wait_result(second).status, 911u);
}

CASE(nccl_life_a_restored_one_whose_peer_has_ended) {
  Pair pair;
  pair.create();
  CHECK(pair.a.fence());
  pair.segments.renew();
  pair.a.communicators->restore({identity(kComm, 1, 2, 0)});
  pair.a.communicators->resume();
  await("joined", [&] { return pair.segments.asked() == 3; });
  pair.segments.absent(unique_id(1), 1, "rank 1 has ended");
  const auto refused = refusal([&] { all_reduce(pair.a, kComm); });
  CHECK(refused);
  CHECK_EQUAL(std::string(refused->cause), "communicator-ended");
}

CASE(nccl_life_a_join_that_a_recovery_takes_back) {
  Segments segments;
  Rank rank(segments);
  const uint64_t created = rank.create(kComm, 0xfe, 2, 0);
  await("asked", [&] { return segments.asked() == 1; });
  CHECK(rank.fence());
  CHECK(!rank.sink.has_result(created));
  CHECK(rank.sink.faults().empty());
  CHECK(rank.communicators->quiet());
}

CASE(nccl_life_a_split_that_others_do_not_make) {
  Segments segments;
  Rank a(segments, 0.05), b(segments, 0.05);
  const uint64_t first = a.create(kComm, 1, 2, 0), second = b.create(kComm, 1, 2, 1);
  CHECK_EQUAL(a.wait_result(first).status, 0u);
  CHECK_EQUAL(b.wait_result(second).status, 0u);
  const uint64_t one = a.split(kComm, 0x600, 0, 0), other = a.split(kComm, 0x601, 0, 0);
  for (const uint64_t sequence : {one, other}) {
    const Reply reply = a.wait_result(sequence);
    CHECK_EQUAL(reply.status, 911u);
    CHECK(reply.text().find("rank 1 of the communicator did not split it within") == 0);
  }
}

CASE(nccl_life_waiting_too_long_is_a_hang) {
  Segments segments;
  Rank rank(segments, 0.02);
  rank.restore({identity(kComm, 1, 2, 0)});
  const auto refused = refusal([&] { all_reduce(rank, kComm); });
  CHECK(refused);
  CHECK_EQUAL(std::string(refused->cause), "hung-collective");
}

CASE(nccl_life_restored_ones_are_joined_when_wanted) {
  Pair pair;
  pair.restore();
  CHECK_EQUAL(stub_count("made"), 0);
  // Two ranks whose first collectives are on different communicators.
  Apart other([&] { all_reduce(pair.b, kOther); });
  all_reduce(pair.a, kComm);
  other.join();
  CHECK_EQUAL(stub_count("made"), 4);
}

CASE(nccl_life_fence_aborts_and_the_same_handles_work_again) {
  Pair pair;
  pair.create();
  for (int epoch = 0; epoch < 3; ++epoch) {
    CHECK(pair.a.fence() && pair.b.fence());
    CHECK_EQUAL(stub_count("live"), 0);
    pair.segments.renew();
    Identity kept;
    CHECK(pair.a.communicators->find(kComm, kept));
    CHECK(kept.unique_id == unique_id(1) && kept.ranks == 2 && kept.rank == 0);
    pair.a.communicators->resume();
    pair.b.communicators->resume();
    Apart other([&] { all_reduce(pair.b, kComm); });
    all_reduce(pair.a, kComm);
    other.join();
  }
}

CASE(nccl_life_a_rank_that_starts_again_while_others_join) {
  Pair pair;
  stub_set("hold_init", 1);
  pair.restore();
  Apart first([&] { all_reduce(pair.a, kComm); });
  await("both inside", [] { return stub_count("made") == 2; });
  // Same epoch, same segment: b's attempt is void, and a's with it.
  CHECK(pair.b.fence());
  pair.b.communicators->resume();
  await("both again", [] { return stub_count("made") == 4; });
  stub_set("hold_init", 0);
  all_reduce(pair.b, kComm);
  first.join();
}

CASE(nccl_life_an_asynchronous_error_is_a_fault) {
  Pair pair;
  pair.create();
  all_reduce(pair.a, kComm);
  const uint64_t last = pair.a.sequence();
  stub_set("async_error", 6);
  const Sink::Fault fault = pair.a.sink.wait_fault();
  CHECK_EQUAL(fault.cause, "collective-error");
  CHECK_EQUAL(fault.sequence, last);
  CHECK_EQUAL(fault.message, "NCCL: remote process exited (says the stub)");
  CHECK_EQUAL(stub_count("aborted"), 0);  // not before the fence
  CHECK_EQUAL(pair.b.sink.wait_fault().cause, "collective-error");
}

CASE(nccl_life_a_cuda_error_of_nccl_costs_the_context) {
  Pair pair;
  pair.create();
  stub_set("async_error", 1);
  CHECK_EQUAL(pair.a.sink.wait_fault().cause, "sticky-error");
}

CASE(nccl_life_a_failed_start_is_told) {
  Pair pair;
  stub_set("fail_init", 5);  // such as two ranks on one GPU
  const uint64_t first = pair.a.create(kComm, 1, 2, 0), second = pair.b.create(kComm, 1, 2, 1);
  const Reply reply = pair.a.wait_result(first);
  CHECK_EQUAL(reply.status, 1u);
  CHECK_EQUAL(reply.text(), "NCCL: failed (says the stub)");
  CHECK_EQUAL(pair.b.wait_result(second).status, 1u);
  const auto refused = refusal([&] { all_reduce(pair.a, kComm); });
  CHECK(refused && refused->status == 1u);
  stub_set("fail_init", 2);  // a peer that died: not the program's error
  pair.a.create(kOther, 2, 2, 0);
  pair.b.create(kOther, 2, 2, 1);
  CHECK_EQUAL(pair.a.sink.wait_fault().cause, "collective-error");
}

CASE(nccl_life_an_abort_that_hangs_is_noticed) {
  Pair pair;
  pair.create();
  stub_set("block_abort", 1);
  CHECK(!pair.a.communicators->fence(std::chrono::milliseconds(20)));
  stub_set("block_abort", 0);
}

/// As that of a communicator with graphs does until the fence lets them go, for which it needs the
/// dispatcher's mutex: so the dispatcher, which comes to a collective meanwhile, must not wait.
CASE(nccl_life_a_collective_does_not_wait_for_an_abort) {
  Segments segments;
  Rank rank(segments);
  CHECK_EQUAL(rank.wait_result(rank.create(kComm, 1, 1, 0)).status, 0u);
  stub_set("block_abort", 1);
  rank.communicators->abort_all();
  await("the abort", [] { return stub_count("aborting") == 1; });
  CHECK(Apart([&] { all_reduce(rank, kComm); }).abandoned());
  CHECK(!rank.communicators->fence(std::chrono::milliseconds(20)));  // it is not over
  stub_set("block_abort", 0);
  CHECK(rank.fence());
  CHECK_EQUAL(stub_count("aborted"), 1);
  CHECK_EQUAL(stub_count("violations"), 0);
}

CASE(nccl_life_a_collective_that_nccl_does_not_place) {
  Segments segments;
  Rank rank(segments);
  CHECK_EQUAL(rank.wait_result(rank.create(kComm, 1, 1, 0)).status, 0u);
  stub_set("hold_launch", 1);
  Apart waiting([&] { all_reduce(rank, kComm); });
  await("placed", [] { return *stub_take_log() != 0; });
  rank.communicators->interrupt();
  CHECK(waiting.abandoned());
  CHECK(rank.fence());
}

CASE(nccl_life_left_before_it_was_made) {
  Pair pair;
  const uint64_t created = pair.a.create(kComm, 1, 2, 0);
  pair.a.destroy(kComm);
  CHECK_EQUAL(pair.a.wait_result(created).status, 999u);
  CHECK(pair.a.communicators->quiet());
}

CASE(nccl_life_split_by_color_and_key) {
  Segments segments;
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<uint64_t> created, split;
  for (int i = 0; i < 4; ++i) ranks.push_back(std::make_unique<Rank>(segments));
  for (int i = 0; i < 4; ++i) created.push_back(ranks[static_cast<size_t>(i)]->create(kComm, 1, 4, i));
  for (int i = 0; i < 4; ++i)  // {0, 2}, {1}, none; before the parent is ready
    split.push_back(ranks[static_cast<size_t>(i)]->split(kComm, 0x600, i == 3 ? -1 : i % 2, -i));
  const auto numbers = [&](size_t rank) {
    const Reply reply = ranks[rank]->wait_result(split[rank]);
    CHECK_EQUAL(reply.status, 0u);
    CHECK_EQUAL(reply.payload.size(), 8u);
    return std::pair(reply.value<int32_t>(0), reply.value<int32_t>(4));
  };
  CHECK(numbers(0) == std::pair(2, 1) && numbers(1) == std::pair(1, 0) && numbers(2) == std::pair(2, 0));
  CHECK(numbers(3) == std::pair(0, -1));
  Identity made[4];
  for (size_t i = 0; i < 3; ++i) CHECK(ranks[i]->communicators->find(0x600, made[i]));
  CHECK(!ranks[3]->communicators->find(0x600, made[3]));
  CHECK(made[0].unique_id == made[2].unique_id && made[0].unique_id != made[1].unique_id);
  CHECK(made[0].unique_id != unique_id(1) && made[0].handle == 0x600);
  // It can be made again without its parent.
  segments.renew();
  for (const size_t i : {0, 2}) ranks[i]->restore({made[i]});
  Apart other([&] { all_reduce(*ranks[2], 0x600); });
  all_reduce(*ranks[0], 0x600);
  other.join();
}

CASE(nccl_life_splits_go_in_order) {
  Pair pair;
  pair.create();
  std::vector<uint64_t> first, second;
  for (uint64_t i = 0; i < 5; ++i) {
    first.push_back(pair.a.split(kComm, 0x600 + i, 0, i % 2 ? 1 : 0));
    second.push_back(pair.b.split(kComm, 0x600 + i, 0, i % 2 ? 0 : 1));
  }
  for (uint64_t i = 0; i < 5; ++i) {
    CHECK_EQUAL(pair.a.wait_result(first[i]).value<int32_t>(4), static_cast<int32_t>(i % 2));
    CHECK_EQUAL(pair.b.wait_result(second[i]).value<int32_t>(4), static_cast<int32_t>(1 - i % 2));
  }
}

}  // namespace jitc::test
