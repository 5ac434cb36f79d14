// What a result, or progress, may be taken to say of other work: that all it came after is done, and that the
// results of that have been given.
#include "harness.h"

namespace jitc::test {
namespace {
constexpr uint64_t kA = 0x1001, kB = 0x1002, kEvent = 0x2001, kOther = 0x2002;

}  // namespace

CASE(order_of_results_holds_again_and_again) {
  Session s;
  s.stream(kA);
  s.stream(kB);
  s.event(kEvent);
  s.event(kOther);
  const uint64_t a = s.allocate(4096);
  for (int i = 0; i < 300; ++i) {
    const uint64_t copied = s.get(a, 64, kB);
    s.record(kEvent, kB);
    s.wait(kEvent, kA);
    const uint64_t waits = s.give(ops::StreamSynchronize{}, kA);
    s.record(kOther, kA);
    s.wait(kOther, kB);
    s.backend->flush();
    s.sink.wait_result(waits);
    CHECK(s.sink.has_result(copied));
  }
}

/// With nothing to wait for it is work of its stream all the same.
CASE(order_of_a_wait_for_nothing_is_that_of_the_default_stream) {
  Session s;
  s.stream(kA, 0);
  s.event(kEvent);
  s.record(kEvent, kA);
  s.synchronize();
  StreamGate gate(s);
  const uint64_t waits = s.wait(kEvent, kA);
  s.backend->flush();
  CHECK(s.sink.progress_of(kA) < waits);
  gate.open();
  s.sink.wait_progress(kA, waits);
}

/// The times of records of before a restore are not kept, so none may seem to come before another.
CASE(order_of_events_of_before_a_restore_is_none) {
  Session s;
  Resources wanted;
  for (uint64_t i = 0; i < 12; ++i) wanted.events.push_back({kEvent + i, 0});
  s.restore(wanted);
  for (uint64_t i = 0; i < 12; ++i)
    for (uint64_t j = 0; j < 12; ++j) CHECK_EQUAL(s.elapsed(kEvent + i, kEvent + j).value<float>(), 0.0F);
  s.record(kEvent, 0);
  s.synchronize();
  CHECK(s.elapsed(kEvent + 1, kEvent).value<float>() >= 0);
}

}  // namespace jitc::test
