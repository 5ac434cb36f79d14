// Graphs of the software device: its own ops in them, faults inside of a launch.
#include "collectives.h"
#include "harness.h"

namespace jitc::test {
namespace {
constexpr uint64_t kStream = OpClient::kCaptured, kGraph = 0x5001, kExecutable = 0x6001;

void begin(Session& s) {
  s.stream(kStream);
  s.begin_capture();
}

void make(Session& s) {
  CHECK_EQUAL(s.end_capture(kGraph).status, 0u);
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 0u);
}
}  // namespace

CASE(graph_of_operators) {
  OperatorSession s;
  const uint64_t a = s.upload(std::vector<int32_t>{40, 0});
  begin(s);
  s.call<ops::OperatorCall>(0, a, kStream);
  s.copy(a + 4, a, 4, kStream);
  make(s);
  s.launch_graph(kExecutable);
  s.launch_graph(kExecutable);
  s.synchronize();
  CHECK(s.download<int32_t>(a, 2) == (std::vector<int32_t>{42, 42}));
}

CASE(graph_refuses_results_that_depend_on_data) {
  OperatorSession s;
  begin(s);
  const Reply reply = s.sink.wait_result(s.call<ops::OperatorQuery>(0, 77, kStream));
  CHECK(reply.status == 900 && contains(reply.text(), "results depend on what is computed"));
  CHECK_EQUAL(s.end_capture(kGraph).status, 900u);
  CHECK_EQUAL(s.sink.wait_result(s.call<ops::OperatorQuery>(0, 77, kStream)).status, 0u);
}

CASE(graph_has_no_kernels) {
  Session s;
  begin(s);
  s.give(ops::KernelLaunch{}, kStream);
  const Reply reply = s.end_capture(kGraph);
  CHECK(reply.status == 801 && contains(reply.text(), "does not run kernels"));
  CHECK(s.sink.faults().empty());
}

CASE(graph_errors_are_those_of_the_launch) {
  const auto fault_of = [](uint8_t how, uint64_t address) {
    OperatorSession s;
    const uint64_t a = s.upload(std::vector<int32_t>{1, 2});
    begin(s);
    s.call<ops::OperatorCall>(0, a, kStream);
    s.call<ops::OperatorCall>(how, address, kStream);
    s.call<ops::OperatorCall>(0, a + 4, kStream);
    make(s);
    const uint64_t launched = s.launch_graph(kExecutable);
    const auto fault = s.sink.wait_fault();
    CHECK_EQUAL(fault.sequence, launched);
    s.backend->fence();
    CHECK(s.download<int32_t>(a, 2) == (std::vector<int32_t>{2, 2}));  // what comes after it is not done
    return fault;
  };
  const auto raised = fault_of(1, 0), outside = fault_of(0, 4096);
  CHECK_EQUAL(raised.message, "mat1 and mat2 shapes cannot be multiplied");
  CHECK(outside.status == 700 && contains(outside.message, "op operator_call"));
}

/// A fault elsewhere: the op that runs ends, and the rest of the launch is not done.
CASE(graph_that_a_fault_interrupts) {
  Session s;
  const uint64_t a = s.upload(std::vector<int32_t>{1, 0, 0});
  begin(s);
  s.copy(a + 4, a, 4, kStream);
  s.copy(a + 8, a + 4, 4, kStream);
  make(s);
  Gate reached, gate;
  s.sink.on_injection = [&](const ops::OpHeader&, std::string_view) {
    reached.open();
    gate.pass();
  };
  s.launch_graph(kExecutable);
  reached.pass();
  const uint64_t bad = s.fill(4096, 1, 0);
  CHECK_EQUAL(s.sink.wait_fault().sequence, bad);
  gate.open();
  s.backend->fence();
  CHECK_EQUAL((s.download<int32_t>(a, 3)[2]), 0);
  CHECK_EQUAL(s.sink.faults().size(), size_t{1});
}

/// Each launches the one before it many times.
CASE(graph_of_graphs_that_is_too_large) {
  Session s;
  const uint64_t a = s.upload(std::vector<int32_t>{1, 0});
  begin(s);
  for (int i = 0; i < 100; ++i) s.copy(a + 4, a, 4, kStream);
  make(s);
  Reply last{};
  for (uint64_t level = 1; level < 12 && last.status == 0; ++level) {
    s.begin_capture();
    for (int i = 0; i < 100; ++i) s.launch_graph(kExecutable + level - 1);
    last = s.end_capture(kGraph + level);
    CHECK_EQUAL(s.instantiate(kGraph + level, kExecutable + level).status, last.status ? 400u : 0u);
  }
  CHECK(last.status == 801 && contains(last.text(), "more than 256 MiB"));
  s.launch_graph(kExecutable);
  s.synchronize();
  CHECK_EQUAL((s.download<int32_t>(a, 2)[1]), 1);
}

CASE(graph_whose_collective_hangs) {
  Segments segments;
  segments.make(unique_id(1));
  Session a({.segments = &segments, .hang_seconds = 0.3}), b(segments, 1);
  const uint64_t first = create_communicator(a, 1, 2, 0), second = create_communicator(b, 1, 2, 1);
  CHECK(a.sink.wait_result(first).status == 0 && b.sink.wait_result(second).status == 0);
  const uint64_t data = a.allocate(4096);
  begin(a);
  a.copy(data, data + 64, 4, kStream);
  give_group(a, {item(0x500, ops::CollectiveKind::all_reduce, 7, 10, data, data)}, kStream);
  make(a);
  const uint64_t launched = a.launch_graph(kExecutable);
  const auto fault = a.sink.wait_fault();
  CHECK(fault.cause == "hung-collective" && fault.sequence == launched);
}

}  // namespace jitc::test
