// Graphs of the software device: its own ops in them, faults inside of a launch.
#include "collectives.h"
#include "harness.h"

namespace jitc::test {
namespace {
constexpr uint64_t kStream = 0x1001, kGraph = 0x5001, kExecutable = 0x6001;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void begin(Client& s) {
  ops::StreamCreate stream;
  stream.handle = kStream;
  stream.flags = 1;
  s.give(stream);
  s.give(ops::CaptureBegin{}, kStream);
}

Reply end(Client& s) {
  ops::CaptureEnd op;
  op.graph = kGraph;
  return s.ask(op, kStream);
}

void make(Client& s) {
  CHECK_EQUAL(end(s).status, 0u);
  ops::GraphInstantiate op;
  op.graph = kGraph;
  op.executable = kExecutable;
  CHECK_EQUAL(s.ask(op).status, 0u);
}

uint64_t launch(Client& s, uint64_t executable = kExecutable) {
  ops::GraphLaunch op;
  op.executable = executable;
  return s.give(op, kStream);
}

uint64_t copy(Client& s, uint64_t to, uint64_t from) {
  ops::CopyD2d op;
  op.destination = to;
  op.source = from;
  op.bytes = 4;
  return s.give(op, kStream);
}

struct OperatorSession : Session {
  OperatorSession() : Session(nullptr, 0, 1u << 30, JITC_TEST_OPERATORS) {}
  template <class Op>
  uint64_t send(uint8_t how, uint64_t address) {
    uint64_t call[2] = {how, address};
    return give(Op{}, kStream, call, sizeof call);
  }
};
}  // namespace

CASE(graph_of_operators) {
  OperatorSession s;
  const uint64_t a = s.upload(std::vector<int32_t>{40, 0});
  begin(s);
  s.send<ops::OperatorCall>(0, a);
  copy(s, a + 4, a);
  make(s);
  launch(s);
  launch(s);
  s.synchronize();
  CHECK(s.download<int32_t>(a, 2) == (std::vector<int32_t>{42, 42}));
}

CASE(graph_refuses_results_that_depend_on_data) {
  OperatorSession s;
  begin(s);
  const Reply reply = s.sink.wait_result(s.send<ops::OperatorQuery>(0, 77));
  CHECK(reply.status == 900 && contains(reply.text(), "results depend on what is computed"));
  CHECK_EQUAL(end(s).status, 900u);
  CHECK_EQUAL(s.sink.wait_result(s.send<ops::OperatorQuery>(0, 77)).status, 0u);
}

CASE(graph_has_no_kernels) {
  Session s;
  begin(s);
  s.give(ops::KernelLaunch{}, kStream);
  const Reply reply = end(s);
  CHECK(reply.status == 801 && contains(reply.text(), "does not run kernels"));
  CHECK(s.sink.faults().empty());
}

CASE(graph_errors_are_those_of_the_launch) {
  const auto fault_of = [](uint8_t how, uint64_t address) {
    OperatorSession s;
    const uint64_t a = s.upload(std::vector<int32_t>{1, 2});
    begin(s);
    s.send<ops::OperatorCall>(0, a);
    s.send<ops::OperatorCall>(how, address);
    s.send<ops::OperatorCall>(0, a + 4);
    make(s);
    const uint64_t launched = launch(s);
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
  copy(s, a + 4, a);
  copy(s, a + 8, a + 4);
  make(s);
  Gate reached, gate;
  s.sink.on_injection = [&](const ops::OpHeader&, std::string_view) {
    reached.open();
    gate.pass();
  };
  launch(s);
  reached.pass();
  ops::Fill nowhere;
  nowhere.address = 4096;
  nowhere.bytes = nowhere.width = 1;
  const uint64_t bad = s.give(nowhere);
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
  for (int i = 0; i < 100; ++i) copy(s, a + 4, a);
  make(s);
  Reply last{};
  for (uint64_t level = 1; level < 12 && last.status == 0; ++level) {
    s.give(ops::CaptureBegin{}, kStream);
    for (int i = 0; i < 100; ++i) launch(s, kExecutable + level - 1);
    ops::CaptureEnd captured;
    captured.graph = kGraph + level;
    last = s.ask(captured, kStream);
    ops::GraphInstantiate op;
    op.graph = kGraph + level;
    op.executable = kExecutable + level;
    CHECK_EQUAL(s.ask(op).status, last.status ? 400u : 0u);
  }
  CHECK(last.status == 801 && contains(last.text(), "more than 256 MiB"));
  launch(s);
  s.synchronize();
  CHECK_EQUAL((s.download<int32_t>(a, 2)[1]), 1);
}

CASE(graph_whose_collective_hangs) {
  Segments segments;
  segments.make(unique_id(1));
  Session a(&segments, 0, 1u << 30, "", {}, 0.3), b(&segments, 1);
  const auto join = [](Session& s, int rank) {
    ops::CommunicatorCreate op;
    op.handle = 0x500;
    op.ranks = 2;
    op.rank = rank;
    op.unique_id = unique_id(1);
    return s.give(op);
  };
  const uint64_t first = join(a, 0), second = join(b, 1);
  CHECK(a.sink.wait_result(first).status == 0 && b.sink.wait_result(second).status == 0);
  const uint64_t data = a.allocate(4096);
  begin(a);
  copy(a, data, data + 64);
  give_group(a, {item(0x500, ops::CollectiveKind::all_reduce, 7, 10, data, data)}, kStream);
  make(a);
  const uint64_t launched = launch(a);
  const auto fault = a.sink.wait_fault();
  CHECK(fault.cause == "hung-collective" && fault.sequence == launched);
}

}  // namespace jitc::test
