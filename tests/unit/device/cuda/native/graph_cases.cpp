// Captures and graphs of the cuda device, where they meet kernels, modules and commits; what both devices do
// is in tests/unit/device/conformance.
#include "graphs.h"

namespace jitc::test {
namespace {

/// The end of a capture in which `spoil` was done.
template <class Spoil>
Reply end_of(Spoil&& spoil) {
  GraphSession s;
  s.begin_capture();
  s.add(s.a, 1, 1, kStream);
  spoil(s);
  const Reply end = s.end_capture(kGraph);
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 400u);  // there is no graph
  s.add(s.a, 5, 1, kStream);                                     // the stream is as good as before
  s.synchronize();
  CHECK_EQUAL(s.number(s.a), 5);
  return end;
}

}  // namespace

CASE(graph_runs_what_was_captured_and_only_then) {
  GraphSession s;
  s.begin_capture();
  s.add(s.a, 1, 1, kStream);
  s.fill(s.a + 8, 8, 0, kStream);
  s.add(s.a + 8, 7, 1, kStream);
  const Reply end = s.end_capture(kGraph);
  CHECK(end.status == 0 && end.value<uint64_t>() == 3);
  s.synchronize();
  CHECK(s.numbers(2) == (Numbers{0, 0}));
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable, 1).status, 0u);
  s.run(3);
  CHECK(s.numbers(2) == (Numbers{3, 7}));
}

CASE(graph_capture_leaves_other_work_alone) {
  GraphSession s;
  s.event(kFork);
  s.add(s.a, 1, 1, kStream);  // before the capture, on its stream
  s.begin_capture();
  s.add(s.a + 8, 1, 1, kStream);
  s.add(s.a + 16, 1, 1, kSide);
  s.add(s.a + 24, 1, 1);
  s.record(kFork, kSide);
  s.wait(kFork, 0);
  CHECK_EQUAL(s.ask(ops::StreamSynchronize{}, kSide).status, 0u);
  CHECK_EQUAL(s.ask(ops::StreamSynchronize{}, 0).status, 0u);
  CHECK_EQUAL(s.sink.wait_result(s.get(s.a + 16, 8, kSide)).value<int64_t>(), 1);
  const uint64_t more = s.allocate(4096);
  CHECK_EQUAL(s.function(kModule, 0x4009, "fill_f32").status, 0u);
  const uint64_t last = s.add(s.a + 8, 1, 1, kStream);
  s.backend->flush();
  s.sink.wait_progress(kStream, last);  // captured ops are done when what came before them is
  CHECK_EQUAL(s.end_capture(kGraph).value<uint64_t>(), 2u);
  s.release(more);
  s.synchronize();
  CHECK(s.numbers(4) == (Numbers{1, 0, 1, 1}));
}

CASE(graph_progress_of_a_captured_stream_waits_for_what_came_before) {
  GraphSession s;
  s.stream(0x1003, 0);  // waits for the default stream
  s.synchronize();
  StreamGate gate;
  const uint64_t before = s.add(s.a, 1, 1, 0x1003);
  s.begin_capture(0x1003);
  const uint64_t captured = s.add(s.a, 1, 1, 0x1003);
  s.backend->flush();
  CHECK(s.sink.progress_of(0x1003) < before);
  gate.open();
  s.sink.wait_progress(0x1003, captured);
  CHECK_EQUAL(s.end_capture(kGraph, 0x1003).status, 0u);
}

CASE(graph_launches_that_cannot_be_spoil_the_capture_only) {
  const Reply end = end_of([](GraphSession& s) { s.launch(0x77, {}, kStream); });
  CHECK(end.status == 400 && contains(end.text(), "op kernel_launch"));
  const Reply shape = end_of([](GraphSession& s) {
    s.launch(kAdd, packed_values(s.a, int64_t{1}, uint64_t{1}), kStream, {{0, 1, 1}, {1, 1, 1}, 0, {}});
  });
  CHECK(shape.status == 1 && contains(shape.text(), "launch of kernel add_i64"));
}

CASE(graph_executables_run_to_their_end) {
  GraphSession s;
  s.begin_capture();
  s.add(s.a, 1, 1, kStream);
  s.end_capture(kGraph);
  s.instantiate(kGraph, kExecutable);
  ops::GraphDestroy destroy;
  destroy.graph = kGraph;
  s.give(destroy);
  StreamGate gate;
  s.event(kFork);
  s.record(kFork, 0);
  s.wait(kFork, kStream);
  s.launch_graph(kExecutable);
  s.destroy_executable(kExecutable);
  s.backend->commit();
  gate.open();
  s.synchronize();
  CHECK_EQUAL(s.number(s.a), 1);
  s.backend->commit();
  s.launch_graph(kExecutable);
  CHECK_EQUAL(s.sink.wait_fault().status, 400u);
}

CASE(graph_inside_a_graph) {
  GraphSession s;
  s.begin_capture();
  s.add(s.a, 1, 1, kStream);
  s.end_capture(kGraph);
  s.instantiate(kGraph, kExecutable);
  const uint64_t first = s.sequence() + 1;
  s.begin_capture();
  s.launch_graph(kExecutable);
  s.launch_graph(kExecutable);
  CHECK_EQUAL(s.end_capture(kGraph + 1).value<uint64_t>(), 2u);
  const auto content = s.content(first);
  s.instantiate(kGraph + 1, kExecutable + 1);
  s.run(2, kExecutable + 1);
  CHECK_EQUAL(s.number(s.a), 4);
  // The inner one is made again while the outer one is, or never when it is no more.
  Resources resources = resources_of(s);
  resources.executables = {{kExecutable + 1, 0, content}, {kExecutable, 0, s.content(first)}};
  restore(s, resources);
  s.launch_graph(kExecutable);
  CHECK(contains(s.sink.wait_fault().message, "launches another one that is no more"));
}

}  // namespace jitc::test
