// Streams and events: what only the cuda device has, and what its log of calls must say.
#include <algorithm>
#include <semaphore>
#include <thread>

#include "harness.h"

namespace jitc::test {
namespace {
constexpr uint64_t kA = 0x1001, kB = 0x1002, kEvent = 0x2001, kOther = 0x2002;

/// Which of the two results came first.
bool came_before(Session& session, uint64_t first, uint64_t second) {
  const auto order = session.sink.results();
  const auto at = [&](uint64_t sequence) { return std::ranges::find(order, sequence) - order.begin(); };
  CHECK(session.sink.has_result(first) && session.sink.has_result(second));
  return at(first) < at(second);
}
}  // namespace

/// The poller is held up while it tells of the fill, and again while it tells of what was done meanwhile
/// without the GPU: what is done then must not be told before that.
CASE(stream_progress_never_goes_back) {
  Session s;
  const uint64_t a = s.allocate(4096);
  s.synchronize();
  s.sink.wait_progress(0, s.sequence());
  std::counting_semaphore<2> comes{0}, goes{0};
  std::atomic<int> times{0};
  const auto dispatcher = std::this_thread::get_id();
  s.sink.on_progress = [&](uint64_t) {
    if (std::this_thread::get_id() == dispatcher || times++ >= 2) return;
    comes.release();
    goes.acquire();
  };
  s.fill(a, 4096, 1);
  s.backend->flush();
  for (const uint64_t event : {kEvent, kOther}) {
    comes.acquire();
    s.event(event);
    goes.release();
  }
  s.fill(a, 4096, 2);
  s.backend->flush();
  s.sink.wait_progress(0, s.sequence());  // the poller tells it, after all that it had to tell
  CHECK(s.sink.faults().empty());
}

/// While a result is being given, work on two streams is done: first that of kB, then that of kA, which had
/// to wait for it. The thread that gives results finds both at once, and kA's stream first.
CASE(stream_results_come_in_the_order_of_the_work_on_all_streams) {
  Session s;
  s.stream(kA);
  s.stream(kB);
  s.event(kEvent);
  s.event(kOther);
  const uint64_t a = s.allocate(4096);
  CHECK(s.backend->write(a, std::vector<std::byte>(4096)));
  StreamGate before;
  const uint64_t first = s.get(a, 1);
  StreamGate after;
  s.sink.on_result = [&](uint64_t sequence) {
    if (sequence != first) return;
    after.open();
    while (s.download<uint8_t>(a, 1)[0] != 7) std::this_thread::yield();  // a case has a time limit
  };
  s.record(kEvent, 0);
  s.wait(kEvent, kA);
  s.get(a, 1, kA);
  s.wait(kEvent, kB);
  const uint64_t copied = s.get(a, 64, kB);
  s.record(kOther, kB);
  s.wait(kOther, kA);
  const uint64_t waits = s.give(ops::StreamSynchronize{}, kA);
  s.fill(a, 64, 7, kA);
  s.backend->flush();
  before.open();
  s.sink.wait_result(waits);
  CHECK(came_before(s, copied, waits));
  s.synchronize();
}

CASE(stream_priorities_and_flags_reach_the_driver) {
  Session s;
  s.stream(kA, 1, -2);
  s.stream(kB, 0, 0);
  s.synchronize();
  CHECK(s.sink.faults().empty());  // the log is looked at by test_cuda_device.py
}

CASE(stream_event_flags_that_the_driver_does_not_know_are_refused) {
  Session s;
  s.event(kEvent, 64);
  CHECK_EQUAL(s.sink.wait_fault().status, 1u);
}

CASE(stream_many_streams_come_and_go) {
  Session s;
  const uint64_t a = s.allocate(4096);
  for (uint64_t i = 0; i < 200; ++i) {
    s.stream(0x5000 + i);
    s.fill(a + i, 1, static_cast<uint32_t>(i), 0x5000 + i);
    s.destroy_stream(0x5000 + i);
  }
  s.synchronize();
  const auto data = s.download<uint8_t>(a, 200);
  for (size_t i = 0; i < 200; ++i) CHECK_EQUAL(size_t{data[i]}, i);
}

CASE(event_record_is_marked_at_once) {
  Session s;
  s.stream(kA);
  s.event(kEvent);
  s.sink.wait_progress(kA, s.record(kEvent, kA));  // without a flush: the client polls for it
}

CASE(event_time_waits_for_the_records) {
  Session s;
  s.event(kEvent);
  s.event(kOther);
  s.record(kEvent, 0);
  StreamGate gate;
  s.record(kOther, 0);
  ops::EventElapsed op;
  op.start = kEvent;
  op.end = kOther;
  const uint64_t asked = s.give(op);
  s.destroy_event(kOther);
  gate.open();
  CHECK_EQUAL(s.sink.wait_result(asked).status, 0u);
}

}  // namespace jitc::test
