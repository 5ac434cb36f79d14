// Order, events, synchronization, progress.
#include <thread>

#include "harness.h"

namespace jitc::test {
namespace {
constexpr uint64_t kA = 0x1001, kB = 0x1002, kEvent = 0x2001, kOther = 0x2002;

ops::StreamSynchronize synchronize_stream() { return {}; }
ops::EventSynchronize synchronize_event(uint64_t event) {
  ops::EventSynchronize op;
  op.event = event;
  return op;
}
ops::EventElapsed elapsed(uint64_t start, uint64_t end) {
  ops::EventElapsed op;
  op.start = start;
  op.end = end;
  return op;
}
}  // namespace

CASE(stream_ops_run_in_order) {
  Session s;
  const uint64_t a = s.allocate(4096);
  for (uint32_t i = 0; i < 200; ++i) s.fill(a, 4096, i);
  s.synchronize();
  CHECK_EQUAL(int{s.download<uint8_t>(a, 4096)[4095]}, 199);
}

CASE(stream_enqueue_does_not_wait_for_the_device) {
  Session s;
  const uint64_t a = s.allocate(4096);
  StreamGate gate(s);
  s.fill(a, 4096, 7);
  const uint64_t result = s.get(a, 1);
  const uint64_t done = s.give(ops::DeviceSynchronize{});
  CHECK(!s.sink.has_result(result) && !s.sink.has_result(done));
  gate.open();
  CHECK_EQUAL(int{s.sink.wait_result(result).value<uint8_t>()}, 7);
  CHECK_EQUAL(s.sink.wait_result(done).status, 0u);
}

CASE(stream_progress_reaches_every_op_after_a_flush) {
  Session s;
  s.stream(kA);
  const uint64_t a = s.allocate(4096);
  uint64_t last = 0;
  for (int i = 0; i < 5; ++i) last = s.fill(a, 4096, 1, kA);
  s.backend->flush();
  s.sink.wait_progress(kA, last);
  const uint64_t create = s.sequence() + 1;
  s.stream(kB);  // needs nothing of a stream, but belongs to the default one's progress
  s.sink.wait_progress(0, create);
  CHECK(s.sink.faults().empty());
}

CASE(stream_results_come_before_progress) {
  Session s;
  const uint64_t a = s.allocate(4096);
  for (int i = 0; i < 50; ++i) {
    const uint64_t get = s.get(a, 64);
    s.backend->flush();
    s.sink.wait_progress(0, get);
    CHECK(s.sink.has_result(get));
  }
}

/// Who has waited for an event may ask about it, and about what came before it.
CASE(stream_progress_of_a_record_comes_before_the_answer_to_who_waits_for_it) {
  Session s;
  s.stream(kA);
  s.event(kEvent);
  const uint64_t a = s.allocate(4096);
  for (int i = 0; i < 200; ++i) {
    s.fill(a, 4096, 1, kA);
    const uint64_t record = s.record(kEvent, kA);
    CHECK_EQUAL(s.ask(synchronize_event(kEvent)).status, 0u);
    CHECK(s.sink.progress_of(kA) >= record);
  }
}

CASE(stream_in_place_ops_do_not_overtake_queued_ones) {
  Session s;
  const uint64_t a = s.allocate(4096);
  StreamGate gate(s);
  const uint64_t fill = s.fill(a, 4096, 1);
  s.event(kEvent);
  s.backend->flush();
  const uint64_t later = s.sequence() + 1;
  s.event(kOther);
  CHECK(s.sink.progress_of(0) < fill);
  gate.open();
  s.sink.wait_progress(0, later);
}

CASE(stream_streams_are_independent) {
  Session s;
  s.stream(kA);
  const uint64_t a = s.allocate(4096);
  StreamGate gate(s);
  s.fill(a, 64, 1);
  CHECK_EQUAL(s.sink.wait_result(s.get(a, 1, kA)).status, 0u);
  CHECK_EQUAL(s.ask(synchronize_stream(), kA).status, 0u);
}

CASE(stream_blocking_streams_and_the_default_stream_wait_for_each_other) {
  Session s;
  s.stream(kA, 0);
  const uint64_t a = s.allocate(4096), b = s.allocate(4096);
  s.fill(a, 64, 0);
  s.fill(b, 64, 0);
  s.synchronize();
  StreamGate gate(s);
  s.fill(a, 64, 1);
  const uint64_t behind = s.copy(b, a, 64, kA);
  const uint64_t done = s.give(synchronize_stream(), 0);
  s.backend->flush();
  CHECK(s.sink.progress_of(kA) < behind);
  gate.open();
  CHECK_EQUAL(s.sink.wait_result(done).status, 0u);
  s.synchronize();
  CHECK_EQUAL(int{s.download<uint8_t>(b, 1)[0]}, 1);
}

CASE(stream_bad_handles_are_errors) {
  const auto fails = [](const std::function<void(Session&)>& give, uint32_t status) {
    Session s;
    give(s);
    CHECK_EQUAL(s.sink.wait_fault().status, status);
  };
  fails([](Session& s) { s.stream(1); }, 400);
  fails([](Session& s) { s.stream(kA), s.stream(kA); }, 400);
  fails([](Session& s) { s.stream(kA, 7); }, 1);
  fails([](Session& s) { s.fill(0, 0, 0, kA); }, 400);
  fails([](Session& s) { s.event(kEvent), s.event(kEvent); }, 400);
  fails([](Session& s) { s.record(kEvent, 0); }, 400);
  fails([](Session& s) { s.wait(kEvent, 0); }, 400);
  fails([](Session& s) { s.give(ops::StreamDestroy{}); }, 400);
  fails([](Session& s) { s.give(ops::EventDestroy{}); }, 400);
  Session s;
  CHECK_EQUAL(s.ask(synchronize_stream(), kA).status, 400u);
  CHECK_EQUAL(s.ask(synchronize_event(kEvent)).status, 400u);
  CHECK_EQUAL(s.ask(elapsed(kEvent, kOther)).status, 400u);
  CHECK(s.sink.faults().empty());
}

CASE(stream_a_destroyed_stream_does_its_work) {
  Session s;
  s.stream(kA);
  s.event(kEvent);
  const uint64_t a = s.allocate(4096);
  StreamGate gate(s);
  s.record(kEvent, 0);
  s.wait(kEvent, kA);
  s.fill(a, 64, 9, kA);
  ops::StreamDestroy op;
  op.handle = kA;
  s.give(op);
  const uint64_t done = s.give(ops::DeviceSynchronize{});
  gate.open();
  CHECK_EQUAL(s.sink.wait_result(done).status, 0u);
  CHECK_EQUAL(int{s.download<uint8_t>(a, 1)[0]}, 9);
}

CASE(event_orders_streams) {
  Session s;
  s.stream(kA);
  s.stream(kB);
  s.event(kEvent);
  s.event(kOther, 2);
  const uint64_t a = s.allocate(4096), b = s.allocate(4096);
  StreamGate gate(s);
  s.record(kEvent, 0);
  s.wait(kEvent, kA);  // kA is held by the gate
  s.fill(a, 64, 5, kA);
  s.record(kOther, kA);
  s.wait(kOther, kB);
  s.copy(b, a, 64, kB);
  const uint64_t done = s.give(synchronize_stream(), kB);
  CHECK(!s.sink.has_result(done));
  gate.open();
  CHECK_EQUAL(s.sink.wait_result(done).status, 0u);
  CHECK_EQUAL(int{s.download<uint8_t>(b, 1)[0]}, 5);
}

CASE(event_synchronize_waits_for_the_latest_record) {
  Session s;
  s.event(kEvent);
  CHECK_EQUAL(s.ask(synchronize_event(kEvent)).status, 0u);  // never recorded
  s.record(kEvent, 0);
  CHECK_EQUAL(s.ask(synchronize_event(kEvent)).status, 0u);
  StreamGate gate(s);
  s.record(kEvent, 0);
  const uint64_t waits = s.give(synchronize_event(kEvent), 0);
  CHECK(!s.sink.has_result(waits));
  ops::EventDestroy op;
  op.handle = kEvent;
  s.give(op);
  gate.open();
  CHECK_EQUAL(s.sink.wait_result(waits).status, 0u);
}

CASE(event_times) {
  Session s;
  s.event(kEvent);
  s.event(kOther);
  s.event(0x2003, 2);  // without times
  CHECK_EQUAL(s.ask(elapsed(kEvent, kOther)).status, 400u);
  s.record(kEvent, 0);
  s.record(kOther, 0);
  s.record(0x2003, 0);
  s.synchronize();
  const Reply time = s.ask(elapsed(kEvent, kOther));
  CHECK_EQUAL(time.status, 0u);
  CHECK(time.value<float>() >= 0 && time.value<float>() < 60'000);
  CHECK_EQUAL(s.ask(elapsed(kEvent, 0x2003)).status, 400u);
}

CASE(stream_idle_waits_for_everything) {
  Session s;
  s.stream(kA);
  s.event(kEvent);
  const uint64_t a = s.allocate(4096);
  StreamGate gate(s);
  s.record(kEvent, 0);
  s.wait(kEvent, kA);
  const uint64_t last = s.fill(a, 64, 3, kA);
  std::thread opener([&] { gate.open(); });
  CHECK(s.backend->idle());
  opener.join();
  CHECK_EQUAL(s.sink.progress_of(kA), last);
  CHECK_EQUAL(int{s.download<uint8_t>(a, 1)[0]}, 3);
}

CASE(restore_needs_a_fence) {
  Session s;
  std::string error;
  CHECK(!s.backend->restore({}, error));
  CHECK_EQUAL(error, "restore needs a fence first");
}

}  // namespace jitc::test
