// Faults on request: kernels that do harm, a communicator that a rank leaves, and what the device makes of
// them.
#include <cstring>

#include "collectives.h"
#include "kernel/kernels.h"
#include "ranks.h"

namespace jitc::test {
namespace {
constexpr uint64_t kStream = 0x1001, kComm = 0x500, kCount = 1000;

/// A fenced rank of two is restored, and the all-reduce of its filled bytes comes about.
void check_that_it_goes_on(Session& s, Segments& segments, int rank, const ops::CollectiveItem& one) {
  segments.next_epoch();
  s.restore({.allocations = {{one.send, 4096, 0}},
             .streams = {{kStream, 1, 0}},
             .communicators = {{kComm, 2, rank, unique_id(1)}}});
  s.sink.forget();
  s.fill(one.send, kCount, 3, kStream);
  give_group(s, {one}, kStream);
  s.synchronize();
  CHECK(s.download<uint8_t>(one.send, kCount) == std::vector<uint8_t>(kCount, 6));
}

/// in_driver: the rank that is told to leave is inside the driver by then, behind its own stream.
void check_rank_that_leaves(bool in_driver) {
  Segments segments;
  segments.make(unique_id(1), 2);
  run_ranks(2, [&](int rank) {
    const bool loads = in_driver && rank == 1;
    Session s(rank_options(segments, rank, loads ? 0 : 2));
    const uint64_t data = s.allocate(4096);
    s.stream(kStream, 1);
    join_communicator(s, 1, 2, rank);
    const auto one = item(kComm, ops::CollectiveKind::all_reduce, 1, kCount, data, data);
    s.fill(data, kCount, 3, kStream);
    give_group(s, {one}, kStream);
    if (rank == 1) CHECK_EQUAL(inject_in_collective(s, "hung-collective", one, kStream), "");
    const uint64_t last = give_group(s, {one}, kStream);
    s.backend->flush();
    if (loads) {
      fence_while_a_module_is_loaded(s);
    } else {
      const auto fault = s.sink.wait_fault();
      CHECK_EQUAL(fault.cause, "hung-collective");
      CHECK(fault.sequence <= last);
      s.backend->fence();  // comes back: nothing has to end for it
    }
    check_that_it_goes_on(s, segments, rank, one);
  });
}
}  // namespace

CASE(fault_sticky_illegal_access_on_request) {
  Session s;
  CHECK_EQUAL(s.backend->faults()->cannot_inject("illegal-access"), "");
  s.stream(kStream);
  const uint64_t a = s.allocate(4096);
  s.synchronize();
  CHECK_EQUAL(s.inject("illegal-access", ops::Fill{}, kStream), "");
  const uint64_t at = s.fill(a, 64, 1, kStream);
  s.backend->flush();
  const auto fault = s.sink.wait_fault();
  CHECK_EQUAL(fault.cause, "sticky-error");
  CHECK_EQUAL(fault.status, 700u);
  CHECK_EQUAL(fault.sequence, at);
}

CASE(fault_sticky_without_a_compiler) {
  Session s({.nvrtc = ""});  // the driver translates PTX
  s.synchronize();
  CHECK_EQUAL(s.inject("illegal-access", ops::DeviceSynchronize{}, 0), "");
  s.give(ops::DeviceSynchronize{});
  s.backend->flush();
  CHECK_EQUAL(s.sink.wait_fault().status, 700u);
}

CASE(fault_sticky_that_cannot_be_made_says_why) {
  prepare_failures();
  Session s;
  s.synchronize();
  ask_for_failures("cuModuleLoadData:1+=221");  // CUDA_ERROR_JIT_COMPILER_NOT_FOUND
  CHECK(
      contains(s.inject("illegal-access", ops::DeviceSynchronize{}), "; as machine code: cuModuleLoadData"));
}

CASE(fault_sticky_illegal_access_at_an_op_that_needs_no_stream) {
  Session s;
  s.synchronize();
  CHECK_EQUAL(s.inject("illegal-access", ops::EventCreate{}, 77), "");  // no such stream either
  s.event(0x2001);
  s.backend->flush();
  CHECK_EQUAL(s.sink.wait_fault().status, 700u);
}

CASE(fault_hung_kernel_on_request_ends_only_with_the_process) {
  std::string written;
  const int status = run_child(
      [] {
        Session s({0, 0, 0.2});
        s.stream(kStream);
        const uint64_t a = s.allocate(4096);
        s.synchronize();
        CHECK_EQUAL(s.inject("endless-kernel", ops::Fill{}, kStream), "");
        const uint64_t at = s.fill(a, 64, 1, kStream);
        s.backend->flush();
        const auto fault = s.sink.wait_fault();
        CHECK_EQUAL(fault.cause, "hung-kernel");
        CHECK_EQUAL(fault.sequence, at);
        s.backend->fence();
        throw Failure{"fence() returned"};
      },
      written);
  CHECK_EQUAL(status, 70);
}

CASE(collective_fault_a_rank_that_leaves_on_request) { check_rank_that_leaves(false); }
CASE(collective_fault_a_rank_that_leaves_while_a_module_is_loaded) {
  setenv("JITC_FAKE_WAITS", "1", 1);
  check_rank_that_leaves(true);
}

CASE(collective_fault_a_link_that_is_cut_on_request) {
  Segments segments;
  segments.make(unique_id(1), 2);
  run_ranks(2, [&](int rank) {
    Session s(rank_options(segments, rank));
    const uint64_t data = s.allocate(4096);
    s.stream(kStream, 1);
    join_communicator(s, 1, 2, rank);
    const auto one = item(kComm, ops::CollectiveKind::all_reduce, 1, kCount, data, data);
    s.fill(data, kCount, 3, kStream);
    if (rank == 1) {
      CHECK_EQUAL(inject_in_collective(s, "cut-link", one, kStream), "");
      const auto fault = s.sink.wait_fault();
      CHECK_EQUAL(fault.cause, "collective-error");
      CHECK_EQUAL(fault.sequence, s.sequence() + 1);
    }
    give_group(s, {one}, kStream);
    s.backend->flush();
    s.backend->fence();  // comes back on both: nothing has to end for it
    check_that_it_goes_on(s, segments, rank, one);
  });
}

CASE(inject_refuses_what_it_does_not_know) {
  Session s;
  CHECK(s.backend->faults()->cannot_inject("earthquake").find("earthquake") != std::string::npos);
  CHECK(!s.inject("earthquake", ops::Fill{}).empty());
  s.synchronize();
}

}  // namespace jitc::test
