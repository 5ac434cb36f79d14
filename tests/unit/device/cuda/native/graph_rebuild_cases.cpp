// Graphs of the cuda device after a rebuild: they are there again, and captures go on.
#include "graphs.h"

namespace jitc::test {

CASE(graph_made_again_gives_the_same) {
  GraphSession s;
  const uint64_t first = s.sequence() + 3;  // after the events
  s.fork_and_join();
  s.end_capture(kGraph);
  Resources resources = resources_of(s);
  resources.graphs = {{kGraph, s.content(first)}};
  resources.executables = {{kExecutable, 0, s.content(first)}};
  s.instantiate(kGraph, kExecutable);
  s.run(2);
  const Numbers before = s.numbers(512);
  for (const bool with_streams : {true, false}) {
    if (!with_streams) resources.streams = {{kStream, 1, 0}};  // the side stream is no more
    restore(s, resources);
    s.fill(s.a, 4096, 0, kStream);
    s.run(1);
    CHECK_EQUAL(s.instantiate(kGraph, kExecutable + 1).status, 0u);
    s.run(1, kExecutable + 1);
    CHECK(s.numbers(512) == before);
  }
  CHECK(s.sink.faults().empty());
}

CASE(graph_made_again_in_a_fresh_device) {
  Resources resources;
  {
    GraphSession s;
    const uint64_t first = s.sequence() + 3;
    s.fork_and_join();
    s.end_capture(kGraph);
    resources = resources_of(s);
    resources.executables = {{kExecutable, 0, s.content(first)}};
  }
  KernelSession s;
  s.backend->fence();
  std::string error;
  CHECK(s.backend->restore(resources, error));
  s.backend->unfence();
  s.go_back_to(500);
  s.fill(kBase, 4096, 0, kStream);
  const uint64_t launched = s.launch_graph(kExecutable);
  s.synchronize();
  CHECK(s.download<int64_t>(kBase, 3) == (Numbers{1, 10, 10}));
  CHECK(s.sink.progress_of(kStream) >= launched);
}

CASE(graph_made_again_during_a_capture) {
  GraphSession s;
  const uint64_t first = s.sequence() + 1;
  s.begin_capture();
  s.add(s.a, 1, 1, kStream);
  s.end_capture(kGraph);
  Resources resources = resources_of(s);
  resources.executables = {{kExecutable, 0, s.content(first)}};
  restore(s, resources);
  s.begin_capture(kStream);
  s.add(s.a, 100, 1, kStream);
  s.launch_graph(kExecutable, kSide);  // needs a capture of its own, on the same stream
  s.add(s.a, 100, 1, kStream);
  CHECK_EQUAL(s.end_capture(kGraph + 1).value<uint64_t>(), 2u);
  s.synchronize();
  CHECK_EQUAL(s.number(s.a), 1);
}

CASE(graph_that_cannot_be_made_again_says_why) {
  GraphSession s;
  const uint64_t first = s.sequence() + 1;
  s.begin_capture();
  s.add(s.a, 1, 1, kStream);
  s.end_capture(kGraph);
  Resources resources = resources_of(s);
  resources.graphs = {{kGraph, s.content(first)}};
  resources.executables = {{kExecutable, 0, s.content(first)}};
  resources.functions.clear();
  restore(s, resources);
  const Reply reply = s.instantiate(kGraph, kExecutable + 1);
  CHECK_EQUAL(reply.status, 400u);
  CHECK(contains(reply.text(), "the graph cannot be made again: function 0x4001 does not exist"));
  s.add(s.a, 1, 0, kSide);
  CHECK_EQUAL(s.sink.wait_fault().status, 400u);
}

CASE(graph_capture_under_way_goes_on_after_a_restore) {
  GraphSession s;
  s.event(kFork);
  s.event(kJoin);
  const uint64_t first = s.sequence() + 1;
  s.begin_capture();
  s.add(s.a, 1, 1, kStream);
  s.record(kFork, kStream);
  s.wait(kFork, kSide);
  Resources resources = resources_of(s);
  resources.events = {{kFork, 0}, {kJoin, 0}};
  resources.captures = {{kStream, s.content(first)}};
  const uint64_t boundary = s.sequence();
  for (int i = 0; i < 2; ++i) {
    s.add(s.a + 8, 2, 1, kSide);
    s.record(kJoin, kSide);
    s.wait(kJoin, kStream);
    CHECK_EQUAL(s.end_capture(kGraph).value<uint64_t>(), 2u);
    CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 0u);
    s.run(1);
    CHECK(s.numbers(2) == (Numbers{i + 1, 2 * i + 2}));
    if (i == 0) restore(s, resources);
    if (i == 0) s.go_back_to(boundary);
    if (i == 0) s.sink.forget();
  }
}

CASE(graph_capture_lives_through_a_fence_without_restore) {
  GraphSession s;
  s.begin_capture();
  s.add(s.a, 1, 1, kStream);
  CHECK(s.backend->idle());
  s.backend->fence();
  s.backend->unfence();
  s.add(s.a, 1, 1, kStream);
  CHECK_EQUAL(s.end_capture(kGraph).value<uint64_t>(), 2u);
}

}  // namespace jitc::test
