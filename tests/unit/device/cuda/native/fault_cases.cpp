// What happens when the driver or the GPU fails: results, faults, hangs, a device that does not come to rest.
#include <unistd.h>

#include <thread>

#include "harness.h"

namespace jitc::test {
namespace {
constexpr uint64_t kA = 0x1001, kEvent = 0x2001;

/// A kernel's assert is of the program's numbers: a fault with a cause that is not replayed.
void check_assert(const char* where) {
  prepare_failures();
  Session s;
  const uint64_t a = s.allocate(4096);
  s.synchronize();
  ask_for_failures(where);
  s.fill(a, 64, 1);
  s.get(a, 64);
  s.backend->flush();
  const auto fault = s.sink.wait_fault();
  CHECK_EQUAL(fault.status, 710u);
  CHECK_EQUAL(fault.cause, std::string("device-assert"));
  CHECK(contains(fault.message, "device-side assert triggered"));
  CHECK_EQUAL(s.sink.faults().size(), size_t{1});
  CHECK(!s.sink.has_result(s.sequence()));
}
}  // namespace

CASE(fault_sticky_error_of_work_is_found_while_nobody_asks) {
  prepare_failures();
  Session s;
  const uint64_t a = s.allocate(4096);
  s.synchronize();
  ask_for_failures("run:1=700");
  const uint64_t bad = s.fill(a, 64, 1);
  s.backend->flush();
  const auto fault = s.sink.wait_fault();
  CHECK_EQUAL(fault.status, 700u);
  CHECK_EQUAL(fault.cause, std::string("sticky-error"));
  CHECK_EQUAL(fault.sequence, bad);
  CHECK(contains(fault.message, "700"));
  CHECK(!s.backend->idle());
}

CASE(fault_sticky_error_is_reported_once) {
  prepare_failures();
  Session s;
  const uint64_t a = s.allocate(4096);
  ask_for_failures("cuMemsetD8Async:1=719");
  const uint64_t bad = s.fill(a, 64, 1);
  for (int i = 0; i < 10; ++i) s.fill(a, 64, 1);
  s.give(ops::DeviceSynchronize{});
  s.backend->flush();
  s.backend->fence();
  CHECK_EQUAL(s.sink.faults().size(), size_t{1});
  CHECK_EQUAL(s.sink.wait_fault().sequence, bad);
  CHECK_EQUAL(s.sink.wait_fault().cause, std::string("sticky-error"));
  CHECK(!s.sink.has_result(s.sequence()));
}

CASE(fault_sticky_assert_of_a_kernel_is_the_programs_own) { check_assert("run:1=710"); }
CASE(fault_sticky_assert_of_an_op_that_waits_is_the_programs_own) {
  check_assert("cuMemcpyDtoHAsync_v2:1=710");
}

CASE(fault_sticky_error_of_an_op_that_waits_is_a_fault) {
  prepare_failures();
  Session s;
  const uint64_t a = s.allocate(4096);
  ask_for_failures("cuMemcpyDtoHAsync_v2:1=214");
  s.get(a, 64);
  const auto fault = s.sink.wait_fault();
  CHECK_EQUAL(fault.cause, std::string("ecc-error"));
  CHECK_EQUAL(fault.status, 214u);
}

CASE(fault_other_errors_of_ops_that_wait_are_results) {
  prepare_failures();
  Session s;
  const uint64_t a = s.allocate(4096);
  ask_for_failures("cuMemcpyDtoHAsync_v2:1=801");
  const Reply reply = s.sink.wait_result(s.get(a, 64));
  CHECK_EQUAL(reply.status, 801u);
  CHECK(contains(reply.text(), "cuMemcpyDtoHAsync"));
  CHECK_EQUAL(s.sink.wait_result(s.get(a, 64)).status, 0u);
}

CASE(fault_other_errors_of_asynchronous_ops_are_op_errors) {
  prepare_failures();
  Session s;
  const uint64_t a = s.allocate(4096);
  ask_for_failures("cuMemcpyDtoDAsync_v2:1=801");
  const uint64_t bad = s.copy(a, a + 64, 64);
  const auto fault = s.sink.wait_fault();
  CHECK_EQUAL(fault.cause, std::string("op-error"));
  CHECK_EQUAL(fault.status, 801u);
  CHECK_EQUAL(fault.sequence, bad);
}

CASE(fault_the_device_works_again_after_a_fence_and_restore) {
  prepare_failures();
  Session s;
  const uint64_t a = s.allocate(kBlock);
  s.fill(a, kBlock, 4);
  s.synchronize();
  const uint64_t before = s.sequence();
  ask_for_failures("cuMemcpyDtoDAsync_v2:1=1");
  s.copy(a, a + 64, 64);
  s.sink.wait_fault();
  s.restore({.allocations = {{a, kBlock, 1}}});
  s.go_back_to(before);
  s.sink.forget();
  CHECK_EQUAL(s.sink.wait_result(s.get(a + 5, 1)).value<uint8_t>(), uint8_t{4});
}

CASE(fault_sticky_error_in_replay_is_known_to_the_op) {
  prepare_failures();
  Session s;
  const uint64_t a = s.allocate(kBlock);
  s.synchronize();
  s.restore({.allocations = {{a, kBlock, 1}}});
  ask_for_failures("run:15=700");  // each fill is followed by its mark
  const uint64_t first = s.sequence() + 1;
  for (int i = 0; i < 20; ++i) s.fill(a, 64, 1);
  s.backend->flush();
  CHECK_EQUAL(s.sink.wait_fault().sequence, first + 7);
}

CASE(fault_a_driver_that_refuses_marks_is_a_fault) {
  prepare_failures();
  Session s;
  const uint64_t a = s.allocate(4096);
  ask_for_failures("cuStreamWriteValue64_v2:1=801");
  s.fill(a, 64, 1);
  s.backend->flush();
  CHECK_EQUAL(s.sink.wait_fault().status, 801u);
}

CASE(fault_hung_work_is_found) {
  prepare_failures();
  std::string text;
  const int status = run_child(
      [] {
        Session s({0, 0, 0.2});
        s.stream(kA);
        const uint64_t a = s.allocate(4096);
        s.synchronize();
        ask_for_failures("run:1=hang");
        const uint64_t bad = s.fill(a, 64, 1, kA);
        s.backend->flush();
        const auto fault = s.sink.wait_fault();
        CHECK_EQUAL(fault.cause, std::string("hung-kernel"));
        CHECK_EQUAL(fault.sequence, bad);
        s.backend->fence();
        throw Failure{"fence() returned"};
      },
      text);
  CHECK_EQUAL(status, 70);
  CHECK(contains(text, "does not come to rest"));
}

CASE(fault_hung_work_is_found_beside_streams_that_go_on) {
  std::string text;
  const int status = run_child(
      [] {
        Session s({0, 0, 0.2});
        s.stream(kA);
        s.event(kEvent);
        const uint64_t a = s.allocate(4096);
        new StreamGate;  // for ever
        const uint64_t bad = s.fill(a, 64, 1);
        s.backend->flush();
        try {
          for (;;) s.sink.wait_progress(kA, s.record(kEvent, kA));
        } catch (const Failure&) {
        }
        std::_Exit(s.sink.wait_fault().sequence == bad ? 0 : 1);  // beside threads that work
      },
      text);
  CHECK_EQUAL(status, 0);
}

CASE(fault_slow_work_is_no_hang) {
  Session s({0, 0, 1e6});
  const uint64_t a = s.allocate(4096);
  StreamGate gate;
  s.fill(a, 64, 1);
  s.backend->flush();
  gate.open();
  s.synchronize();
  CHECK(s.sink.faults().empty());
}

CASE(fault_a_dispatcher_that_never_comes_back_ends_the_process) {
  std::string text;
  const int status = run_child(
      [] {
        Session s({0, 0, 0.2});
        const uint64_t a = s.allocate(4096);
        Gate inside;
        s.sink.on_injection = [&](const ops::OpHeader&, std::string_view) {
          inside.open();
          for (;;) pause();  // as a driver does whose launch queue is full of work that hangs
        };
        std::thread([&] { s.copy(a, a + 64, 64); }).detach();
        inside.pass();
        s.backend->fence();
        throw Failure{"fence() returned"};
      },
      text);
  CHECK_EQUAL(status, 70);
}

CASE(fault_missing_driver_functions_are_named) {
  Sink sink;
  std::string error;
  Options options;
  options.driver = "/no/such/libcuda.so.1";
  CHECK(!make_device(options, sink, error));
  CHECK(contains(error, "/no/such/libcuda.so.1"));
  options.driver = "libdl.so.2";
  CHECK(!make_device(options, sink, error));
  CHECK(contains(error, "has no function cuInit"));
  options.driver = "";
  CHECK(!make_device(options, sink, error));
}

CASE(fault_a_device_that_cannot_be_made_says_why) {
  setenv("JITC_FAKE_FAIL", "cuDevicePrimaryCtxRetain:1=2,cuMemAddressReserve:1+=2", 1);
  Sink sink;
  std::string error;
  CHECK(!make_device({}, sink, error));
  CHECK(contains(error, "cuDevicePrimaryCtxRetain"));
  CHECK(!make_device({}, sink, error));
  CHECK(contains(error, "address range"));
}

CASE(fault_a_range_of_addresses_that_is_taken) {
  Sink sink;
  std::string error;
  CHECK(make_device({}, sink, error) != nullptr);
  Session first;
  CHECK(!make_device({}, sink, error));  // the range is taken
  CHECK(contains(error, "address range"));
}

}  // namespace jitc::test
