// Graphs with collectives: NCCL ends no communicator before they are gone, so a fence has to let go of them.
#include <cstdlib>

#include "collectives.h"
#include "kernel/graphs.h"
#include "ranks.h"

namespace jitc::test {
namespace {
constexpr uint32_t kInt64 = 4;

/// One rank with a communicator; its all-reduce changes nothing but must be there.
struct Alone {
  Segments segments;
  GraphSession s{rank_options(segments, 0, 5)};  // seconds that a fence may take at most
  const uint64_t comm = join_communicator(s, 1, 1, 0);

  void begin_capture() {
    first = s.sequence() + 1;
    s.begin_capture();
    s.add(s.a, 1, 1, kStream);
    give_group(s, {item(comm, ops::CollectiveKind::all_reduce, kInt64, 1, s.a, s.a)}, kStream);
  }
  void make() {
    begin_capture();
    CHECK_EQUAL(s.end_capture(kGraph).status, 0u);
    content = s.content(first);
    CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 0u);
    s.run(1);
    CHECK_EQUAL(s.number(s.a), 1);
  }
  void fence() {
    s.backend->fence();
    segments.next_epoch();
  }
  Resources resources() {
    Resources all = resources_of(s);
    all.communicators = {{comm, 1, 0, unique_id(1)}};
    return all;
  }

  uint64_t first = 0;
  Resources::Captured content;
};
}  // namespace

CASE(graph_with_collectives_is_made_again_after_a_restore) {
  Alone one;
  one.make();
  Resources resources = one.resources();
  resources.executables = {{kExecutable, 0, one.content}};
  one.fence();
  one.s.restore(resources);
  one.s.run(2);
  CHECK_EQUAL(one.s.number(one.s.a), 3);
}

CASE(graph_with_collectives_is_made_again_where_nothing_is_restored) {
  Alone one;
  one.make();
  one.fence();
  Resources now;
  now.graphs = {{kGraph, one.content}};
  now.executables = {{kExecutable, 0, one.content}};
  one.s.backend->graph_contents()->remember_graphs(now);
  one.s.backend->unfence();
  one.s.run(2);
  CHECK_EQUAL(one.s.number(one.s.a), 3);
  CHECK_EQUAL(one.s.instantiate(kGraph, kExecutable + 1).status, 0u);
  one.s.run(1, kExecutable + 1);
  CHECK_EQUAL(one.s.number(one.s.a), 4);
}

/// NCCL retains memory that captured operations use, and gives it back only where it could export it.
CASE(graph_with_collectives_gives_its_memory_back) {
  Alone one;
  const uint64_t place = one.s.base + kRange / 2, before = one.s.free_memory();
  CHECK_EQUAL(one.s.try_allocate(place, kBlock), 0u);
  one.s.begin_capture();
  give_group(one.s, {item(one.comm, ops::CollectiveKind::all_reduce, kInt64, 1, place, place)}, kStream);
  CHECK_EQUAL(one.s.end_capture(kGraph).status, 0u);
  one.s.destroy_graph(kGraph);
  one.s.release(place);
  one.s.synchronize();
  one.s.backend->commit();
  // NCCL gives back what a graph used with its next operation.
  give_group(one.s, {item(one.comm, ops::CollectiveKind::all_reduce, kInt64, 1, one.s.a, one.s.a)}, kStream);
  one.s.synchronize();
  CHECK_EQUAL(one.s.free_memory(), before);
}

CASE(graph_with_collectives_in_a_graph_is_let_go_with_it) {
  Alone one;
  one.make();
  one.s.begin_capture();
  one.s.launch_graph(kExecutable);
  CHECK_EQUAL(one.s.end_capture(kGraph + 1).status, 0u);
  CHECK_EQUAL(one.s.instantiate(kGraph + 1, kExecutable + 1).status, 0u);
  one.s.destroy_executable(kExecutable);
  one.s.destroy_executable(kExecutable + 1);  // both are kept until the next boundary
  one.fence();
  one.s.restore(one.resources());
}

CASE(graph_with_collectives_under_capture_goes_on_after_a_fence) {
  Alone one;
  one.begin_capture();
  CHECK(one.s.backend->idle());
  Resources now;
  now.captures = {{kStream, one.s.content(one.first)}};
  one.fence();
  one.s.backend->graph_contents()->remember_graphs(now);
  one.s.backend->unfence();
  one.s.add(one.s.a, 1, 1, kStream);
  CHECK_EQUAL(one.s.end_capture(kGraph).value<uint64_t>(), 3u);
  CHECK_EQUAL(one.s.instantiate(kGraph, kExecutable).status, 0u);
  one.s.run(2);
  CHECK_EQUAL(one.s.number(one.s.a), 4);
}

/// The communicator is given up before the graph can be let go of: the dispatcher is inside the driver,
/// behind the graph.
CASE(graph_with_collectives_that_hangs_while_a_module_is_loaded) {
  setenv("JITC_FAKE_WAITS", "1", 1);
  prepare_failures();
  Alone one;
  one.make();
  Resources resources = one.resources();
  resources.executables = {{kExecutable, 0, one.content}};
  ask_for_failures("ncclWork:1=hang");
  one.s.launch_graph(kExecutable);
  fence_while_a_module_is_loaded(one.s);
  one.segments.next_epoch();
  ask_for_failures("");
  one.s.restore(resources);
  one.s.run(2);
  CHECK(one.s.sink.faults().empty());
}

CASE(graph_with_collectives_may_outlive_its_communicator) {
  Alone one;
  one.make();
  destroy_communicator(one.s, one.comm);
  one.s.run(1);
  one.s.destroy_executable(kExecutable);
  one.s.synchronize();
  CHECK(one.s.sink.faults().empty());
}

}  // namespace jitc::test
