// Faulty connections between ranks, and what a rank that waits for another one says that it is at.
#include <unistd.h>

#include <thread>

#include "collectives.h"
#include "harness.h"

namespace jitc::test {
namespace {
using ops::CollectiveItem;
using ops::CollectiveKind;
constexpr uint64_t kCount = 3u << 20;  // floats: a dozen rounds of two halves
constexpr double kHangSeconds = 1.5;   // far more than a round, less than all of them on a slow link

uint64_t reduce(Session& s, uint64_t comm, uint64_t data, uint64_t count) {
  return give_group(s, {item(comm, CollectiveKind::all_reduce, 7, count, data, data)});
}

void inject(Session& s, const char* kind, uint64_t comm, uint64_t data, uint64_t count) {
  CHECK_EQUAL(s.backend->faults()->cannot_inject(kind), "");
  const CollectiveItem one = item(comm, CollectiveKind::all_reduce, 7, count, data, data);
  CHECK_EQUAL(inject_in_collective(s, kind, one), "");
}

UnderWay wait_until_under_way(Session& s) {
  for (int i = 0; i < 20'000; ++i) {
    if (const auto found = s.backend->activity()->under_way()) return *found;
    usleep(1000);
  }
  throw Failure{"nothing is under way"};
}
}  // namespace

CASE(link_that_is_slow_is_no_hang) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Session s({.segments = &segments, .hang_seconds = kHangSeconds});
    const uint64_t comm = s.communicator(1, 2, rank);
    const uint64_t data = s.upload(std::vector<float>(kCount, static_cast<float>(rank + 1)));
    if (rank == 1) inject(s, "slow-link", comm, data, kCount);
    reduce(s, comm, data, kCount);
    s.synchronize();
    CHECK(s.download<float>(data, kCount) == std::vector<float>(kCount, 3.0f));
    CHECK(s.sink.faults().empty());
  });
}

CASE(link_that_is_cut_is_an_error_and_whole_again_after_a_restore) {
  Segments segments;
  segments.make(unique_id(1), 2);
  run_ranks(2, [&](int rank) {
    Session s(segments);
    const uint64_t comm = s.communicator(1, 2, rank);
    const uint64_t data = s.upload(std::vector<float>(kCount, 1.0f));
    if (rank == 1) inject(s, "cut-link", comm, data, kCount);
    const uint64_t at = reduce(s, comm, data, kCount);
    if (rank == 1) {
      const auto fault = s.sink.wait_fault();
      CHECK_EQUAL(fault.cause, "collective-error");
      CHECK_EQUAL(fault.sequence, at);
    }
    s.backend->fence();
    segments.next_epoch();
    s.restore({.allocations = {{data, kCount * 4, 0}}, .communicators = {{comm, 2, rank, unique_id(1)}}});
    const std::vector<float> before(kCount, 1.0f);
    CHECK(s.backend->write(data, std::as_bytes(std::span(before))));
    s.sink.forget();
    reduce(s, comm, data, kCount);
    s.synchronize();
    CHECK(s.download<float>(data, kCount) == std::vector<float>(kCount, 2.0f));
    CHECK(s.sink.faults().empty());
  });
}

CASE(link_that_is_cut_and_slow_is_cut) {
  Segments segments;
  segments.make(unique_id(1), 2);
  run_ranks(2, [&](int rank) {
    Session s(segments);
    const uint64_t comm = s.communicator(1, 2, rank);
    const uint64_t data = s.upload(std::vector<float>(kCount, 1.0f));
    if (rank == 1) {
      inject(s, "cut-link", comm, data, kCount);
      inject(s, "slow-link", comm, data, kCount);
    }
    reduce(s, comm, data, kCount);
    if (rank == 1) CHECK_EQUAL(s.sink.wait_fault().cause, "collective-error");
    s.backend->fence();
  });
}

CASE(link_says_who_waits_and_who_has_not_come) {
  Segments segments;
  segments.make(unique_id(1));
  SharedNumber seen;
  run_ranks(2, [&](int rank) {
    Session s(segments);
    const uint64_t comm = s.communicator(1, 2, rank);
    const uint64_t data = s.upload(std::vector<float>(4, 1.0f));
    s.synchronize();
    CHECK(!s.backend->activity()->under_way());
    if (rank == 1) {
      inject(s, "hung-collective", comm, data, 4);
      std::thread dispatcher([&] { reduce(s, comm, data, 4); });
      const UnderWay late = wait_until_under_way(s);
      CHECK(late.collective && !late.entered);
      seen.wait_for(1);
      s.backend->fence();
      dispatcher.join();
    } else {
      const uint64_t at = reduce(s, comm, data, 4);
      UnderWay waits = wait_until_under_way(s);
      while (!waits.entered) waits = wait_until_under_way(s);
      CHECK(waits.collective);
      CHECK_EQUAL(waits.sequence, at);
      seen.add();
      s.backend->fence();
    }
  });
}

}  // namespace jitc::test
