// Order, events, synchronization, progress.
#include <thread>

#include "harness.h"

namespace jitc::test {
namespace {
constexpr uint64_t kA = 0x1001, kB = 0x1002, kEvent = 0x2001, kOther = 0x2002;

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

CASE(stream_progress_comes_within_64_ops) {
  Session s;
  s.stream(kA);
  s.event(kEvent);
  const uint64_t a = s.allocate(4096);
  StreamGate gate(s);
  s.record(kEvent, 0);
  std::vector<uint64_t> given;
  for (int i = 0; i < 200; ++i) given.push_back(s.fill(a, 4096, 1, kA));
  s.wait(kEvent, kA);                         // so that the stream does not run dry
  s.sink.wait_progress(kA, given[200 - 64]);  // without a flush
  CHECK(s.sink.progress_of(kA) <= given.back());
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
  CHECK_EQUAL(s.ask(ops::StreamSynchronize{}, kA).status, 0u);
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
  const uint64_t done = s.give(ops::StreamSynchronize{}, 0);
  s.backend->flush();
  CHECK(s.sink.progress_of(kA) < behind);
  gate.open();
  CHECK_EQUAL(s.sink.wait_result(done).status, 0u);
  s.synchronize();
  CHECK_EQUAL(int{s.download<uint8_t>(b, 1)[0]}, 1);
}

CASE(stream_legacy_and_per_thread_handles_are_the_default_stream) {
  Session s;
  const uint64_t a = s.allocate(4096);
  StreamGate gate(s);
  s.fill(a, 1, 5, 1);
  s.fill(a, 1, 6, 2);
  const uint64_t read = s.get(a, 1);
  CHECK(!s.sink.has_result(read));
  gate.open();
  CHECK_EQUAL(int{s.sink.wait_result(read).value<uint8_t>()}, 6);
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
  CHECK_EQUAL(s.ask(ops::StreamSynchronize{}, kA).status, 400u);
  CHECK_EQUAL(s.synchronize_event(kEvent).status, 400u);
  CHECK_EQUAL(s.elapsed(kEvent, kOther).status, 400u);
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
  s.destroy_stream(kA);
  s.stream(kA);  // the handle may be used again
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
  const uint64_t done = s.give(ops::StreamSynchronize{}, kB);
  CHECK(!s.sink.has_result(done));
  gate.open();
  CHECK_EQUAL(s.sink.wait_result(done).status, 0u);
  CHECK_EQUAL(int{s.download<uint8_t>(b, 1)[0]}, 5);
}

CASE(event_wait_means_the_latest_record_when_given) {
  Session s;
  s.stream(kA);
  s.stream(kB);
  s.event(kEvent);
  const uint64_t a = s.allocate(4096);
  s.wait(kEvent, kB);  // never recorded: nothing to wait for
  s.record(kEvent, kB);
  s.wait(kEvent, kA);
  StreamGate gate(s);
  s.record(kEvent, 0);  // later: does not hold up the stream that waits already
  CHECK_EQUAL(s.sink.wait_result(s.get(a, 1, kA)).status, 0u);
  s.wait(kEvent, kB);
  const uint64_t held = s.get(a, 1, kB);
  CHECK(!s.sink.has_result(held));
  gate.open();
  CHECK_EQUAL(s.sink.wait_result(held).status, 0u);
}

/// A token goes round three streams, ordered only by events; each turn reads what the last one wrote.
CASE(event_stress_keeps_order) {
  Session s;
  const uint64_t streams[] = {kA, kB, 0x1003}, a = s.allocate(4096);
  s.stream(kA);
  s.stream(kB);
  s.stream(0x1003, 0);
  for (uint64_t event = 0; event < 8; ++event) s.event(kEvent + event);
  std::vector<uint64_t> reads;
  for (uint32_t turn = 0; turn < 600; ++turn) {
    const uint64_t stream = streams[turn % 3];
    if (turn) s.wait(kEvent + (turn - 1) % 8, stream);
    reads.push_back(s.get(a, 4, stream));
    s.fill(a, 4, turn + 1, stream, 4);
    s.record(kEvent + turn % 8, stream);
  }
  for (uint32_t turn = 1; turn < reads.size(); ++turn)
    CHECK_EQUAL(s.sink.wait_result(reads[turn]).value<uint32_t>(), turn);
  CHECK(s.backend->idle());
  CHECK(s.sink.faults().empty());
}

CASE(event_synchronize_waits_for_the_latest_record) {
  Session s;
  s.event(kEvent);
  CHECK_EQUAL(s.synchronize_event(kEvent).status, 0u);  // never recorded
  s.record(kEvent, 0);
  CHECK_EQUAL(s.synchronize_event(kEvent).status, 0u);
  StreamGate gate(s);
  s.record(kEvent, 0);
  ops::EventSynchronize op;
  op.event = kEvent;
  const uint64_t waits = s.give(op);
  CHECK(!s.sink.has_result(waits));
  s.destroy_event(kEvent);
  gate.open();
  CHECK_EQUAL(s.sink.wait_result(waits).status, 0u);
}

CASE(event_times) {
  Session s;
  s.event(kEvent);
  s.event(kOther);
  s.event(0x2003, 2);  // without times
  CHECK_EQUAL(s.elapsed(kEvent, kOther).status, 400u);
  s.record(kEvent, 0);
  s.record(kOther, 0);
  s.record(0x2003, 0);
  s.synchronize();
  const Reply time = s.elapsed(kEvent, kOther);
  CHECK_EQUAL(time.status, 0u);
  CHECK(time.value<float>() >= 0 && time.value<float>() < 60'000);
  CHECK_EQUAL(s.elapsed(kEvent, 0x2003).status, 400u);
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
