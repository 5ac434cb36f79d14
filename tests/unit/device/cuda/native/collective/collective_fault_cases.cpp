// Collectives of the cuda device when ranks or NCCL fail: fences come back, and afterwards everything works
// again under the same handles.
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "collectives.h"
#include "kernel/kernels.h"
#include "ranks.h"

namespace jitc::test {
namespace {
using ops::CollectiveKind;

constexpr uint64_t kComm = 0x500, kStream = 0x10;
constexpr uint64_t kCount = 3000, kPart = kCount / 4;

class Rank : public Session {
 public:
  explicit Rank(Segments& segments, int rank, double hang_seconds = 0)
      : Session(rank_options(segments, rank, hang_seconds)), rank_(rank) {}

  /// What a program does between two boundaries; the same each time.
  void work(uint64_t data, uint64_t out) {
    put(data, std::vector<uint8_t>(kCount, static_cast<uint8_t>(3 + rank_)), kStream);
    give_group(*this, {item(kComm, CollectiveKind::all_reduce, 1, kCount, data, data)}, kStream);
    give_group(*this, {item(kComm, CollectiveKind::all_gather, 1, kPart, data, out)}, kStream);
    give_group(*this, {item(kComm, CollectiveKind::all_reduce, 1, kCount, out, out)}, kStream);
  }
  void restore(Segments& segments, const Resources& resources) {
    backend->fence();
    segments.next_epoch();
    Session::restore(resources);
    sink.forget();
  }
  Resources resources(uint64_t data, uint64_t out, int ranks) const {
    Resources all;
    all.allocations = {{data, 8192, 0}, {out, 16384, 0}};
    all.streams = {{kStream, 1, 0}};
    all.communicators = {{kComm, ranks, rank_, unique_id(1)}};
    return all;
  }

 private:
  const int rank_;
};

/// One rank with memory, a stream and a communicator of its own.
struct Alone {
  Rank s;
  uint64_t data, out;
  explicit Alone(Segments& segments, double hang_seconds = 0)
      : s(segments, 0, hang_seconds), data(s.allocate(8192)), out(s.allocate(16384)) {
    s.stream(kStream);
    join_communicator(s, 1, 1, 0);
  }
};

/// One of two ranks: with its communicator made anew, what it computes is right.
void check_it_goes_on(Rank& s, Segments& segments, uint64_t data, uint64_t out) {
  s.restore(segments, s.resources(data, out, 2));
  s.work(data, out);
  s.synchronize();
  CHECK(s.download<uint8_t>(out, kPart * 2) == std::vector<uint8_t>(kPart * 2, 14));
}
}  // namespace

CASE(collective_fault_a_rank_dies_in_the_middle) {
  const int ranks = 3;
  Segments segments;
  segments.make(unique_id(1), 2);
  SharedNumber dying;
  // Rank 3 takes over for rank 2, as a spare worker does.
  const auto body = [&](int number) {
    const int rank = number == 3 ? 2 : number;
    if (number == 3) dying.wait_for(1);
    Rank s(segments, rank);
    const uint64_t data = s.allocate(8192), out = s.allocate(16384);
    std::vector<uint8_t> first;
    if (number < 3) {
      s.stream(kStream);
      join_communicator(s, 1, ranks, rank);
      s.work(data, out);
      s.synchronize();
      first = s.download<uint8_t>(out, kPart * 3);
      if (number == 2)
        s.sink.on_injection = [&](const ops::OpHeader&, std::string_view phase) {
          if (phase != "collective") return;
          dying.add();
          kill(getpid(), SIGKILL);
        };
      s.work(data, out);  // hangs: it does not end for the ranks that live
      dying.wait_for(1);
    }
    s.restore(segments, s.resources(data, out, ranks));
    s.work(data, out);
    s.synchronize();
    const auto again = s.download<uint8_t>(out, kPart * 3);
    CHECK(again == std::vector<uint8_t>(kPart * 3, 36));  // 3 + 4 + 5, gathered and added again
    CHECK(first.empty() || first == again);
    CHECK(s.sink.faults().empty());
  };
  run_ranks(4, body, 2);
}

CASE(collective_fault_a_peer_never_joins) {
  Segments segments;
  segments.make(unique_id(1), 2);
  Rank s(segments, 0);
  const uint64_t created = create_communicator(s, 1, 2, 0);
  s.backend->fence();
  CHECK(!s.sink.has_result(created));
  CHECK(!s.backend->idle());
}

CASE(collective_fault_a_peer_that_calls_nothing_is_a_hang) {
  Segments segments;
  segments.make(unique_id(1), 2);
  SharedNumber over;
  run_ranks(2, [&](int rank) {
    Rank s(segments, rank, rank == 0 ? 0.2 : 0);
    const uint64_t data = s.allocate(8192), out = s.allocate(16384);
    s.stream(kStream);
    join_communicator(s, 1, 2, rank);
    if (rank == 0) {
      s.work(data, out);
      s.backend->flush();
      const auto fault = s.sink.wait_fault();
      CHECK_EQUAL(fault.cause, "hung-collective");
      over.add();
    } else {
      over.wait_for(1);
    }
    check_it_goes_on(s, segments, data, out);
  });
}

/// A driver may wait for all work of the context where nobody expects it (JITC_FAKE_WAITS). The dispatcher is
/// inside it then with the device's mutex, and comes back when the collective is given up.
CASE(collective_fault_a_driver_call_waits_behind_a_hung_collective) {
  setenv("JITC_FAKE_WAITS", "1", 1);
  Segments segments;
  segments.make(unique_id(1), 2);
  SharedNumber over;
  run_ranks(2, [&](int rank) {
    Rank s(segments, rank);
    const uint64_t data = s.allocate(8192), out = s.allocate(16384);
    s.stream(kStream);
    join_communicator(s, 1, 2, rank);
    if (rank == 0) {
      s.work(data, out);
      fence_while_a_module_is_loaded(s);
      over.add();
    } else {
      over.wait_for(1);
    }
    check_it_goes_on(s, segments, data, out);
    CHECK(s.sink.faults().empty());
  });
}

CASE(collective_fault_an_asynchronous_error) {
  prepare_failures();
  Segments segments;
  Alone one(segments);
  ask_for_failures("ncclWork:1=6");
  one.s.work(one.data, one.out);
  one.s.backend->flush();
  const auto fault = one.s.sink.wait_fault();
  CHECK_EQUAL(fault.cause, "collective-error");
  CHECK(contains(fault.message, "remote process exited"));
  ask_for_failures("");
  one.s.restore(segments, one.s.resources(one.data, one.out, 1));
  one.s.work(one.data, one.out);
  one.s.synchronize();
  CHECK(one.s.download<uint8_t>(one.out, kPart) == std::vector<uint8_t>(kPart, 3));
}

CASE(collective_fault_a_hung_collective_ends_with_the_fence) {
  prepare_failures();
  Segments segments;
  Alone one(segments);
  ask_for_failures("ncclWork:2=hang");
  one.s.work(one.data, one.out);
  one.s.give(ops::DeviceSynchronize{});
  one.s.backend->flush();
  one.s.backend->fence();
  CHECK(one.s.sink.faults().empty());
}

CASE(collective_fault_an_abort_that_hangs_costs_the_process) {
  prepare_failures();
  std::string written;
  const int status = run_child(
      [] {
        Segments segments;
        Alone one(segments, 0.3);
        ask_for_failures("ncclCommAbort:1=hang");
        one.s.backend->fence();
      },
      written);
  CHECK_EQUAL(status, 70);
  CHECK(contains(written, "does not come to rest"));
}

CASE(collective_fault_a_failing_call_is_no_crash) {
  prepare_failures();
  Segments segments;
  Alone one(segments);
  ask_for_failures("ncclAllGather:1=3");
  one.s.work(one.data, one.out);
  const auto fault = one.s.sink.wait_fault();
  CHECK_EQUAL(fault.cause, "collective-error");
  one.s.restore(segments, one.s.resources(one.data, one.out, 1));
  one.s.work(one.data, one.out);
  one.s.synchronize();
}

CASE(collective_fault_without_nccl) {
  Session s({.nccl = "/nowhere/libnccl.so.2"});
  const Reply reply = s.sink.wait_result(create_communicator(s, 1, 1, 0));
  CHECK_EQUAL(reply.status, 801u);
  CHECK(contains(reply.text(), "NCCL cannot be opened"));
}

CASE(collective_fault_two_ranks_on_one_gpu_of_one_host) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Rank s(segments, 7);
    const Reply reply = s.sink.wait_result(create_communicator(s, 1, 2, rank));
    CHECK_EQUAL(reply.status, 1u);
    CHECK(contains(reply.text(), "Duplicate GPU"));
  });
}

CASE(collective_fault_aborted_while_it_waits_for_a_living_rank) {
  // Also before its turn, while the caller waits for the device.
  for (const bool early : {false, true}) {
    Segments segments;
    segments.make(unique_id(1));
    SharedNumber over;
    run_ranks(2, [&](int rank) {
      Rank s(segments, rank);
      const uint64_t data = s.allocate(8192), out = s.allocate(16384);
      s.stream(kStream);
      join_communicator(s, 1, 2, rank);
      if (rank == 1) return over.wait_for(1);
      s.work(data, out);
      ops::CommunicatorAbort abort;
      abort.handle = kComm;
      if (early) {
        abort.header.sequence = s.sequence() + 1;
        s.backend->aborts()->abort_coming(abort);
        CHECK(s.backend->idle());
      }
      CHECK_EQUAL(s.ask(abort).status, 0u);
      s.synchronize();
      CHECK(s.sink.faults().empty());
      over.add();
    });
  }
}

CASE(collective_fault_destroyed_with_work_under_way) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Rank s(segments, rank);
    const uint64_t data = s.allocate(8192), out = s.allocate(16384);
    s.stream(kStream);
    join_communicator(s, 1, 2, rank);
    s.work(data, out);
    destroy_communicator(s, kComm);
    s.synchronize();
    CHECK(s.download<uint8_t>(out, kPart * 2) == std::vector<uint8_t>(kPart * 2, 14));
    CHECK(s.sink.faults().empty());
  });
}

}  // namespace jitc::test
