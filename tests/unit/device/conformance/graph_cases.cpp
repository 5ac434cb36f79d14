// Captures and graphs: what is captured, what is refused, what is there again after a restore.
#include "collectives.h"
#include "harness.h"

namespace jitc::test {
namespace {
constexpr uint64_t kStream = OpClient::kCaptured, kSide = OpClient::kForked;
constexpr uint64_t kFork = 0x2001, kJoin = 0x2002, kGraph = 0x5001, kExecutable = 0x6001;
using Bytes = std::vector<int>;

/// A session with two streams and memory: one, and zeros.
class GraphSession : public Session {
 public:
  explicit GraphSession(const Options& options = {}) : Session(options) {
    stream(kStream);
    stream(kSide);
    a = allocate(4096);
    fill(a, 4096, 0, kStream);
    fill(a, 1, 1, kStream);
    synchronize();
  }
  /// Moves the byte at that place, and the one behind it, on by one.
  void shift(uint64_t place, uint64_t on) {
    copy(a + place + 2, a + place + 1, 1, on);
    copy(a + place + 1, a + place, 1, on);
  }
  void fork_and_join() {
    event(kFork);
    event(kJoin);
    begin_capture();
    fill(a + 8, 1, 5, kStream);
    record(kFork, kStream);
    wait(kFork, kSide);
    copy(a + 9, a + 8, 1, kSide);
    record(kJoin, kSide);
    wait(kJoin, kStream);
    copy(a + 10, a + 9, 1, kStream);
  }
  void make(uint64_t graph = kGraph, uint64_t executable = kExecutable) {
    CHECK_EQUAL(end_capture(graph).status, 0u);
    CHECK_EQUAL(instantiate(graph, executable).status, 0u);
  }
  void run(int times, uint64_t executable = kExecutable) {
    for (int i = 0; i < times; ++i) launch_graph(executable);
    synchronize();
  }
  Bytes bytes(uint64_t place, size_t count) {
    const auto read = download<uint8_t>(a + place, count);
    return {read.begin(), read.end()};
  }
  Resources resources() const {
    Resources all;
    all.allocations = {{a, 4096, 0}};
    all.streams = {{kStream, 1, 0}, {kSide, 1, 0}};
    return all;
  }

  uint64_t a;
};

/// The end of a capture in which `spoil` was done.
template <class Spoil>
Reply end_of(Spoil&& spoil) {
  GraphSession s;
  s.begin_capture();
  s.fill(s.a, 1, 7, kStream);
  spoil(s);
  const Reply end = s.end_capture(kGraph);
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 400u);  // there is no graph
  s.fill(s.a, 1, 9, kStream);                                    // the stream is as good as before
  s.synchronize();
  CHECK(s.bytes(0, 1) == Bytes{9});
  CHECK(s.sink.faults().empty());
  return end;
}
}  // namespace

CASE(graph_runs_what_was_captured_and_only_then) {
  GraphSession s;
  s.begin_capture();
  s.shift(0, kStream);
  s.fill(s.a + 8, 4, 3, kStream);
  const Reply end = s.end_capture(kGraph);
  CHECK(end.status == 0 && end.value<uint64_t>() == 3);
  s.synchronize();
  CHECK(s.bytes(0, 9) == (Bytes{1, 0, 0, 0, 0, 0, 0, 0, 0}));
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable, 1).status, 0u);
  s.run(1);
  CHECK(s.bytes(0, 9) == (Bytes{1, 1, 0, 0, 0, 0, 0, 0, 3}));
  s.run(2);
  CHECK(s.bytes(0, 9) == (Bytes{1, 1, 1, 0, 0, 0, 0, 0, 3}));
}

CASE(graph_of_several_streams) {
  GraphSession s;
  s.fork_and_join();
  CHECK_EQUAL(s.end_capture(kGraph).value<uint64_t>(), 3u);
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 0u);
  s.run(1);
  CHECK(s.bytes(8, 3) == (Bytes{5, 5, 5}));
  s.fill(s.a, 1, 2, kSide);  // the side stream is the program's again
  s.synchronize();
  CHECK(s.bytes(0, 1) == Bytes{2});
}

CASE(graph_launches_take_their_turn_on_the_stream) {
  GraphSession s;
  s.begin_capture();
  s.shift(0, kStream);
  s.make();
  StreamGate gate(s);
  s.event(kFork);
  s.record(kFork, 0);
  s.wait(kFork, kStream);
  s.fill(s.a, 1, 6, kStream);
  const uint64_t launched = s.launch_graph(kExecutable);
  s.fill(s.a, 1, 8, kStream);
  const uint64_t got = s.get(s.a, 3, kStream);
  s.backend->flush();
  CHECK(s.sink.progress_of(kStream) < launched);
  gate.open();
  const Reply reply = s.sink.wait_result(got);
  CHECK(reply.value<uint8_t>(0) == 8 && reply.value<uint8_t>(1) == 6 && reply.value<uint8_t>(2) == 0);
  s.backend->flush();
  s.sink.wait_progress(kStream, launched);
}

/// Launches of one executable never run side by side, whatever streams they are given to.
CASE(graph_launches_of_one_executable_go_one_after_another) {
  GraphSession s;
  s.begin_capture();
  s.shift(0, kStream);
  s.make();
  StreamGate gate(s);
  s.event(kFork);
  s.record(kFork, 0);
  s.wait(kFork, kStream);
  s.launch_graph(kExecutable, kStream);
  const uint64_t second = s.launch_graph(kExecutable, kSide);
  s.backend->flush();
  CHECK(s.sink.progress_of(kSide) < second);
  gate.open();
  s.synchronize();
  CHECK(s.bytes(0, 4) == (Bytes{1, 1, 1, 0}));
}

CASE(graph_capture_leaves_other_work_alone) {
  GraphSession s;
  s.event(kFork);
  s.fill(s.a + 8, 1, 1, kStream);  // before the capture, on its stream
  s.begin_capture();
  s.fill(s.a + 9, 1, 1, kStream);
  s.fill(s.a + 10, 1, 1, kSide);
  s.fill(s.a + 11, 1, 1);
  s.record(kFork, kSide);
  s.wait(kFork, 0);
  CHECK_EQUAL(s.ask(ops::StreamSynchronize{}, kSide).status, 0u);
  CHECK_EQUAL(s.ask(ops::StreamSynchronize{}, 0).status, 0u);
  CHECK_EQUAL(int{s.sink.wait_result(s.get(s.a + 10, 1, kSide)).value<uint8_t>()}, 1);
  const uint64_t more = s.allocate(4096);
  const uint64_t last = s.fill(s.a + 9, 1, 2, kStream);
  s.backend->flush();
  s.sink.wait_progress(kStream, last);  // captured ops are done when what came before them is
  CHECK_EQUAL(s.end_capture(kGraph).value<uint64_t>(), 2u);
  s.release(more);
  s.synchronize();
  CHECK(s.bytes(8, 4) == (Bytes{1, 0, 1, 1}));
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
    CHECK_EQUAL(s.synchronize_event(kFork).status, 907u);
  });
  CHECK_EQUAL(end.status, 907u);
}

CASE(graph_captures_that_do_not_come_together) {
  const Reply unjoined = end_of([](GraphSession& s) {
    s.event(kFork);
    s.record(kFork, kStream);
    s.wait(kFork, kSide);
    s.fill(s.a, 1, 1, kSide);
  });
  CHECK_EQUAL(unjoined.status, 904u);
  const Reply late = end_of([](GraphSession& s) {
    s.event(kFork);
    s.event(kJoin);
    s.record(kFork, kStream);
    s.wait(kFork, kSide);
    s.fill(s.a, 1, 1, kSide);
    s.record(kJoin, kSide);
    s.wait(kJoin, kStream);
    s.fill(s.a, 1, 1, kSide);  // after it was joined
  });
  CHECK_EQUAL(late.status, 904u);
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
    s.destroy_stream(0x1003);
  });
  CHECK(destroyed.status == 900 && contains(destroyed.text(), "destroying a captured stream"));
}

CASE(graph_captures_beside_each_other) {
  GraphSession s;
  s.begin_capture(kStream);
  s.begin_capture(kSide);
  s.fill(s.a + 8, 1, 1, kStream);
  s.fill(s.a + 9, 1, 2, kSide);
  CHECK_EQUAL(s.end_capture(kGraph, kStream).value<uint64_t>(), 1u);
  s.fill(s.a + 10, 1, 2, kSide);
  CHECK_EQUAL(s.end_capture(kGraph + 1, kSide).value<uint64_t>(), 2u);
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 0u);
  CHECK_EQUAL(s.instantiate(kGraph + 1, kExecutable + 1).status, 0u);
  s.run(1);
  CHECK(s.bytes(8, 3) == (Bytes{1, 0, 0}));
  s.run(1, kExecutable + 1);
  CHECK(s.bytes(8, 3) == (Bytes{1, 2, 2}));
}

CASE(graph_events_are_the_programs_own_outside_of_a_capture) {
  GraphSession s;
  s.event(kFork);
  s.record(kFork, kSide);
  s.begin_capture();
  s.fill(s.a, 1, 1, kStream);
  s.record(kFork, kStream);
  s.record(kFork, kSide);  // again, elsewhere
  CHECK_EQUAL(s.synchronize_event(kFork).status, 0u);
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
  s.make();
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
  s.shift(0, kStream);
  s.make();
  s.destroy_graph(kGraph);
  StreamGate gate(s);
  s.event(kFork);
  s.record(kFork, 0);
  s.wait(kFork, kStream);
  s.launch_graph(kExecutable);
  s.destroy_executable(kExecutable);
  s.backend->commit();
  gate.open();
  s.synchronize();
  CHECK(s.bytes(0, 3) == (Bytes{1, 1, 0}));
  s.launch_graph(kExecutable);
  CHECK_EQUAL(s.sink.wait_fault().status, 400u);
}

CASE(graph_inside_a_graph) {
  GraphSession s;
  s.begin_capture();
  s.shift(0, kStream);
  s.make();
  const uint64_t first = s.sequence() + 1;
  s.begin_capture();
  s.launch_graph(kExecutable);
  s.launch_graph(kExecutable);
  CHECK_EQUAL(s.end_capture(kGraph + 1).value<uint64_t>(), 2u);
  const auto content = s.content(first);
  CHECK_EQUAL(s.instantiate(kGraph + 1, kExecutable + 1).status, 0u);
  s.run(1, kExecutable + 1);
  CHECK(s.bytes(0, 4) == (Bytes{1, 1, 1, 0}));
  // The inner one is made again while the outer one is, or never when it is no more.
  Resources resources = s.resources();
  resources.executables = {{kExecutable + 1, 0, content}, {kExecutable, 0, s.content(first)}};
  s.restore(resources);
  s.launch_graph(kExecutable);
  CHECK(contains(s.sink.wait_fault().message, "launches another one that is no more"));
}

CASE(graph_made_again_gives_the_same) {
  GraphSession s;
  const uint64_t first = s.sequence() + 3;  // after the events
  s.fork_and_join();
  s.make();
  Resources resources = s.resources();
  resources.graphs = {{kGraph, s.content(first)}};
  resources.executables = {{kExecutable, 0, s.content(first)}};
  for (const bool with_streams : {true, false}) {
    if (!with_streams) resources.streams = {{kStream, 1, 0}};  // the side stream is no more
    s.restore(resources);
    for (const uint64_t executable : {kExecutable, kExecutable + 1}) {
      s.fill(s.a, 4096, 0, kStream);
      if (executable != kExecutable) CHECK_EQUAL(s.instantiate(kGraph, executable).status, 0u);
      s.run(1, executable);
      CHECK(s.bytes(7, 5) == (Bytes{0, 5, 5, 5, 0}));
    }
  }
  CHECK(s.sink.faults().empty());
}

CASE(graph_captures_go_on_after_a_restore) {
  GraphSession s;
  s.event(kFork);
  s.event(kJoin);
  const uint64_t first = s.sequence() + 1;
  s.begin_capture();
  s.fill(s.a + 8, 1, 5, kStream);
  s.record(kFork, kStream);
  s.wait(kFork, kSide);
  s.copy(s.a + 9, s.a + 8, 1, kSide);
  Resources resources = s.resources();
  resources.events = {{kFork, 0}, {kJoin, 0}};
  resources.captures = {{kStream, s.content(first)}};
  const uint64_t boundary = s.sequence();
  for (const uint64_t graph : {kGraph, kGraph + 1}) {
    s.restore(resources);
    s.go_back_to(boundary);
    s.sink.forget();
    CHECK_EQUAL(s.ask(ops::StreamSynchronize{}, 0).status, 0u);
    s.record(kJoin, kSide);
    s.wait(kJoin, kStream);
    s.copy(s.a + 10, s.a + 9, 1, kStream);
    CHECK_EQUAL(s.end_capture(graph).value<uint64_t>(), 3u);
    CHECK_EQUAL(s.instantiate(graph, kExecutable).status, 0u);
    s.run(1);
    CHECK(s.bytes(8, 3) == (Bytes{5, 5, 5}));
    s.fill(s.a + 8, 3, 0, kStream);
  }
}

CASE(graph_made_again_during_a_capture) {
  GraphSession s;
  const uint64_t first = s.sequence() + 1;
  s.begin_capture();
  s.shift(0, kStream);
  CHECK_EQUAL(s.end_capture(kGraph).status, 0u);
  Resources resources = s.resources();
  resources.executables = {{kExecutable, 0, s.content(first)}};
  s.restore(resources);
  s.begin_capture();
  s.fill(s.a, 1, 9, kStream);
  s.launch_graph(kExecutable, kSide);  // needs a capture of its own, on the same stream
  s.fill(s.a, 1, 9, kStream);
  CHECK_EQUAL(s.end_capture(kGraph + 1).value<uint64_t>(), 2u);
  s.synchronize();
  CHECK(s.bytes(0, 3) == (Bytes{1, 1, 0}));
}

CASE(graph_capture_lives_through_a_fence_without_restore) {
  GraphSession s;
  s.begin_capture();
  s.fill(s.a, 1, 1, kStream);
  CHECK(s.backend->idle());
  s.backend->fence();
  s.backend->unfence();
  s.fill(s.a, 1, 2, kStream);
  CHECK_EQUAL(s.end_capture(kGraph).value<uint64_t>(), 2u);
}

CASE(graph_progress_of_a_captured_stream_waits_for_what_came_before) {
  GraphSession s;
  s.stream(0x1003, 0);  // waits for the default stream
  s.synchronize();
  StreamGate gate(s);
  const uint64_t before = s.fill(s.a, 1, 1, 0x1003);
  s.begin_capture(0x1003);
  const uint64_t captured = s.fill(s.a, 1, 1, 0x1003);
  s.backend->flush();
  CHECK(s.sink.progress_of(0x1003) < before);
  gate.open();
  s.sink.wait_progress(0x1003, captured);
  CHECK_EQUAL(s.end_capture(kGraph, 0x1003).status, 0u);
}

CASE(graph_of_collectives) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Rank s(segments, rank);
    s.stream(kStream);
    const uint64_t comm = join_communicator(s, 1, 2, rank), count = 1000;
    const uint64_t data = s.upload(std::vector<float>(count, static_cast<float>(rank + 1)));
    const uint64_t sums = s.allocate(count * 4);
    s.begin_capture();
    give_group(s, {item(comm, ops::CollectiveKind::all_reduce, 7, count, data, sums)}, kStream);
    s.copy(data, sums, count * 4, kStream);
    CHECK_EQUAL(s.end_capture(kGraph).status, 0u);
    CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 0u);
    for (int i = 0; i < 3; ++i) s.launch_graph(kExecutable);
    s.synchronize();
    CHECK(s.download<float>(data, count) == std::vector<float>(count, 12.0f));
    s.destroy_executable(kExecutable);  // NCCL waits for it when a communicator ends
    s.destroy_graph(kGraph);
    s.synchronize();
    s.backend->commit();
  });
}

}  // namespace jitc::test
