// Captures and graphs of kernels, also after a rebuild; what both devices do is in
// tests/unit/device/conformance.
#include "graphs.h"

namespace jitc::test {
namespace {

/// The end of a capture in which `spoil` was done.
template <class Spoil>
Reply end_of(Spoil&& spoil) {
  GraphSession s;
  s.begin_capture();
  s.add(s.a, 1, 1, kStream);
  CHECK_EQUAL(s.function(kModule, 0x4009, "fill_f32").status, 0u);  // is no part of it
  spoil(s);
  const Reply end = s.end_capture(kGraph);
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 400u);  // there is no graph
  s.add(s.a, 5, 1, kStream);                                     // the stream is as good as before
  s.synchronize();
  CHECK_EQUAL(s.number(s.a), 5);
  return end;
}

}  // namespace

CASE(graph_launches_that_cannot_be_spoil_the_capture_only) {
  const Reply end = end_of([](GraphSession& s) { s.launch(0x77, {}, kStream); });
  CHECK(end.status == 400 && contains(end.text(), "op kernel_launch"));
  const Reply shape = end_of([](GraphSession& s) {
    s.launch(kAdd, packed_values(s.a, int64_t{1}, uint64_t{1}), kStream, {{0, 1, 1}, {1, 1, 1}, 0, {}});
  });
  CHECK(shape.status == 1 && contains(shape.text(), "launch of kernel add_i64"));
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
  s.restore(resources);
  s.go_back_to(500);
  s.fill(kBase, 4096, 0, kStream);
  const uint64_t launched = s.launch_graph(kExecutable);
  s.synchronize();
  CHECK(s.download<int64_t>(kBase, 3) == (Numbers{1, 10, 10}));
  CHECK(s.sink.progress_of(kStream) >= launched);
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
  s.restore(resources);
  const Reply reply = s.instantiate(kGraph, kExecutable + 1);
  CHECK_EQUAL(reply.status, 400u);
  CHECK(contains(reply.text(), "the graph cannot be made again: function 0x4001 does not exist"));
  s.add(s.a, 1, 0, kSide);
  CHECK_EQUAL(s.sink.wait_fault().status, 400u);
}

}  // namespace jitc::test
