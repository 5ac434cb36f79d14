// Checks of what the session keeps of its device's progress; each returns what is wrong, or null.
#include "order_model.h"

#define TEST_API extern "C" __attribute__((visibility("default")))
#define EXPECT(what) \
  if (!(what)) return #what

using namespace jitc;
using namespace jitc::test;

/// An event that was waited for is done, and so is all that its stream was given before.
TEST_API const char* rt_check_event_result() {
  Process p;
  p.create(kA);
  const uint64_t before = p.work(kA), first = p.record(kEvent, kA), after = p.work(kA);
  const uint64_t waits = p.synchronize_event(kEvent);
  const uint64_t second = p.record(kEvent, kB);  // it is another record that counts from now on
  p.succeeded(waits);
  EXPECT(p.done(kA, before) && p.done(kA, first) && !p.done(kA, after) && !p.done(kB, second));
  const uint64_t never = p.synchronize_event(kOther);
  p.succeeded(never);
  EXPECT(!p.done(kA, after));
  p.succeeded(p.synchronize_event(kEvent));
  EXPECT(p.done(kB, second) && p.idle(kB) && !p.idle(kA));
  return nullptr;
}

/// Only a stream's work counts as given to it: that a program makes or frees things beside it is nobody's
/// wait.
TEST_API const char* rt_check_work_of_a_stream() {
  Process p;
  EXPECT(p.idle(kLegacy));
  p.create(kA);
  p.give(ops::Allocate{});
  p.give(ops::EventCreate{});
  p.give(ops::CaptureBegin{}, kB);
  p.give(ops::CaptureEnd{}, kB);
  EXPECT(p.idle(kLegacy) && p.idle(kB));
  const uint64_t last = p.work(kLegacy), waits = p.synchronize(kLegacy);
  EXPECT(p.progress.submitted(kLegacy) == last && !p.idle(kLegacy));
  p.succeeded(waits);
  EXPECT(p.idle(kLegacy));
  p.give(ops::EventCreate{});
  EXPECT(p.idle(kLegacy));
  return nullptr;
}

/// What a stream waited for is done with it, through any number of streams; what it did not wait for is not.
TEST_API const char* rt_check_waits() {
  Process p;
  p.create(kA);
  p.create(kB);
  p.create(kC);
  const uint64_t first = p.record(kEvent, kA), later = p.work(kA);
  p.wait(kEvent, kB);
  const uint64_t second = p.record(kOther, kB);
  p.record(kEvent, kA);  // recorded again: the waits are for the record of before
  p.wait(kOther, kC);
  const uint64_t read = p.read(kC);
  p.succeeded(read);
  EXPECT(p.done(kC, read) && p.done(kB, second) && p.done(kA, first) && !p.done(kA, later));
  return nullptr;
}

/// The legacy default stream and blocking streams wait for each other; others keep out of it.
TEST_API const char* rt_check_legacy() {
  Process p;
  p.create(kA, true);
  p.create(kB);
  const uint64_t a = p.work(kA), b = p.work(kB), legacy = p.work(kLegacy), a2 = p.work(kA);
  p.reported(kLegacy, legacy);
  EXPECT(p.done(kA, a) && !p.done(kB, b) && !p.done(kA, a2));
  const uint64_t legacy2 = p.work(kLegacy), a3 = p.work(kA);
  p.reported(kA, a3);
  EXPECT(p.done(kLegacy, legacy2) && !p.done(kB, b));
  const uint64_t a4 = p.work(kA);
  p.succeeded(p.synchronize(kLegacy));
  EXPECT(p.done(kA, a4) && !p.done(kB, b));
  return nullptr;
}

/// A destroyed stream's work goes on, and those that had to wait for it did.
TEST_API const char* rt_check_destroyed() {
  Process p;
  p.create(kA, true);
  p.create(kB);
  const uint64_t a = p.record(kEvent, kA);
  p.work(kLegacy);
  p.destroy(kA);
  p.wait(kEvent, kB);
  const uint64_t b = p.record(kOther, kB);
  p.destroy(kB);
  const uint64_t waits = p.synchronize_event(kOther);
  p.succeeded(waits);
  EXPECT(p.done(kB, b) && p.done(kA, a));

  Process q;
  q.create(kA, true);
  const uint64_t work = q.work(kA);
  q.work(kLegacy);
  q.destroy(kA);
  q.succeeded(q.synchronize(kLegacy));
  EXPECT(q.done(kA, work));
  return nullptr;
}

/// Captured work is noted, not run: that progress passes it says nothing of other streams.
TEST_API const char* rt_check_captured() {
  Process p;
  p.create(kA, true);
  p.create(kB);
  const uint64_t before = p.work(kB), legacy = p.work(kLegacy);
  p.give(ops::CaptureBegin{}, kA);
  const uint64_t captured = p.work(kA);
  p.record(kEvent, kA);
  const uint64_t joined = p.wait(kEvent, kB);  // becomes part of the capture
  const uint64_t captured_too = p.work(kB);
  EXPECT(p.idle(kA) && p.progress.submitted(kB) == before);
  p.reported(kA, captured);
  p.reported(kB, captured_too);
  EXPECT(!p.done(kLegacy, legacy));
  p.record(kOther, kB);
  p.wait(kOther, kA);
  p.give(ops::CaptureEnd{}, kA);
  EXPECT(joined && p.idle(kA));
  const uint64_t launched = p.give(ops::GraphLaunch{}, kA);
  EXPECT(!p.idle(kA));
  p.reported(kA, launched);
  EXPECT(p.done(kLegacy, legacy));  // real work of a blocking stream
  p.succeeded(p.synchronize_event(kEvent));
  EXPECT(p.idle(kA));
  return nullptr;
}

TEST_API const char* rt_check_random_order() {
  static std::string wrong;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    wrong = RandomProgram(seed).run(400);
    if (wrong.empty()) continue;
    wrong = "program " + std::to_string(seed) + ": " + wrong;
    return wrong.c_str();
  }
  return nullptr;
}
