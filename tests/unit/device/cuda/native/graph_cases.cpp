// Captures and graphs of the cuda device: what is captured, what is refused.
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

CASE(graph_of_several_streams) {
  GraphSession s;
  s.fork_and_join();
  CHECK_EQUAL(s.end_capture(kGraph).value<uint64_t>(), 3u);
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 0u);
  s.run(2);
  CHECK(s.numbers(3) == (Numbers{2, 20, 20}));
  s.add(s.a, 1, 1, kSide);  // the side stream is the program's again
  s.synchronize();
  CHECK_EQUAL(s.number(s.a), 3);
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

CASE(graph_refuses_ops_that_wait) {
  const auto refused = [](auto&& ask) {
    const Reply end = end_of([&](GraphSession& s) {
      const Reply reply = ask(s);
      CHECK_EQUAL(reply.status, 900u);
      CHECK(contains(reply.text(), "cannot be captured"));
    });
    CHECK(end.status == 900 && contains(end.text(), "cannot be captured"));
    return end.text();
  };
  CHECK(contains(refused([](GraphSession& s) { return s.ask(ops::StreamSynchronize{}, kStream); }),
                 "synchronizing the stream"));
  CHECK(contains(refused([](GraphSession& s) { return s.ask(ops::DeviceSynchronize{}); }),
                 "synchronizing the device"));
  CHECK(contains(refused([](GraphSession& s) { return s.sink.wait_result(s.get(s.a, 8, kStream)); }),
                 "op copy_d2h"));
}

CASE(graph_refuses_copies_from_the_host) {
  const Reply end = end_of([](GraphSession& s) { s.put(s.a, {1, 2, 3}, kStream); });
  CHECK_EQUAL(end.status, 900u);
  CHECK(contains(end.text(), "op copy_h2d") &&
        contains(end.text(), "a copy from the host cannot be captured"));
}

CASE(graph_refuses_events_of_elsewhere) {
  const Reply end = end_of([](GraphSession& s) {
    s.event(kFork);
    s.record(kFork, kSide);
    s.wait(kFork, kStream);
  });
  CHECK(end.status == 905 && contains(end.text(), "op event_wait"));
}

CASE(graph_refuses_to_ask_for_captured_events) {
  const Reply end = end_of([](GraphSession& s) {
    s.event(kFork);
    s.record(kFork, kStream);
    ops::EventSynchronize wait;
    wait.event = kFork;
    CHECK_EQUAL(s.ask(wait).status, 907u);
  });
  CHECK_EQUAL(end.status, 907u);
}

CASE(graph_launches_that_cannot_be_spoil_the_capture_only) {
  const Reply end = end_of([](GraphSession& s) { s.launch(0x77, {}, kStream); });
  CHECK(end.status == 400 && contains(end.text(), "op kernel_launch"));
  const Reply shape = end_of([](GraphSession& s) {
    s.launch(kAdd, packed_values(s.a, int64_t{1}, uint64_t{1}), kStream, {{0, 1, 1}, {1, 1, 1}, 0, {}});
  });
  CHECK(shape.status == 1 && contains(shape.text(), "launch of kernel add_i64"));
}

CASE(graph_captures_that_do_not_come_together) {
  const Reply unjoined = end_of([](GraphSession& s) {
    s.event(kFork);
    s.record(kFork, kStream);
    s.wait(kFork, kSide);
    s.add(s.a, 1, 1, kSide);
  });
  CHECK_EQUAL(unjoined.status, 904u);
  const Reply merged = end_of([](GraphSession& s) {
    s.event(kFork);
    s.begin_capture(kSide);
    s.record(kFork, kSide);
    s.wait(kFork, kStream);
    CHECK_EQUAL(s.end_capture(kGraph + 1, kSide).status, 902u);
  });
  CHECK_EQUAL(merged.status, 902u);
  const Reply destroyed = end_of([](GraphSession& s) {
    s.event(kFork);
    s.stream(0x1003);
    s.record(kFork, kStream);
    s.wait(kFork, 0x1003);
    ops::StreamDestroy destroy;
    destroy.handle = 0x1003;
    s.give(destroy);
  });
  CHECK(destroyed.status == 900 && contains(destroyed.text(), "destroying a captured stream"));
}

CASE(graph_captures_beside_each_other) {
  GraphSession s;
  s.begin_capture(kStream);
  s.begin_capture(kSide);
  s.add(s.a, 1, 1, kStream);
  s.add(s.a + 8, 2, 1, kSide);
  CHECK_EQUAL(s.end_capture(kGraph, kStream).value<uint64_t>(), 1u);
  s.add(s.a + 8, 2, 1, kSide);
  CHECK_EQUAL(s.end_capture(kGraph + 1, kSide).value<uint64_t>(), 2u);
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 0u);
  CHECK_EQUAL(s.instantiate(kGraph + 1, kExecutable + 1).status, 0u);
  s.run(1);
  s.run(1, kExecutable + 1);
  CHECK(s.numbers(2) == (Numbers{1, 4}));
}

CASE(graph_events_are_the_programs_own_outside_of_a_capture) {
  GraphSession s;
  s.event(kFork);
  s.record(kFork, kSide);
  s.begin_capture();
  s.add(s.a, 1, 1, kStream);
  s.record(kFork, kStream);
  s.record(kFork, kSide);  // again, elsewhere
  ops::EventSynchronize wait;
  wait.event = kFork;
  CHECK_EQUAL(s.ask(wait).status, 0u);
  CHECK_EQUAL(s.end_capture(kGraph).status, 0u);
  s.wait(kFork, kStream);
  s.synchronize();
  CHECK(s.sink.faults().empty());
}

CASE(graph_handles_that_do_not_exist) {
  GraphSession s;
  CHECK_EQUAL(s.end_capture(kGraph).status, 903u);
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 400u);
  s.begin_capture();
  CHECK_EQUAL(s.end_capture(kGraph).status, 0u);
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 0u);
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 400u);
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable + 1, 2).status, 801u);
  s.begin_capture();
  CHECK_EQUAL(s.end_capture(kGraph).status, 400u);
  s.launch_graph(0x77);
  CHECK_EQUAL(s.sink.wait_fault().status, 400u);
}

CASE(graph_capture_of_the_default_stream_is_a_fault) {
  GraphSession s;
  s.begin_capture(0);
  const auto fault = s.sink.wait_fault();
  CHECK(fault.status == 900 && contains(fault.message, "op capture_begin"));
}

CASE(graph_capture_that_begins_twice_is_spoiled) {
  const Reply end = end_of([](GraphSession& s) { s.begin_capture(); });
  CHECK(end.status == 903 && contains(end.text(), "captured already"));
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
