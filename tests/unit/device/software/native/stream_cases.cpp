// Streams and events: what only the software device has, or does in a way of its own.
#include <filesystem>

#include "harness.h"

namespace jitc::test {
namespace {
/// Of this process.
size_t threads() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

/// Two streams (blocking 0x10, non-blocking 0x11, non-blocking 0x12), some memory, and a gate that holds up
/// every copy of exactly kHeld bytes, which is no short one: these may run in the thread that gives them.
struct Streams {
  static constexpr uint64_t kBlocking = 0x10, kFree = 0x11, kOther = 0x12;
  static constexpr uint64_t kHeld = (16 << 10) + 8;
  Gate gate;
  Session s;
  uint64_t data;
  Streams() {
    s.sink.on_injection = [this](const ops::OpHeader& op, std::string_view) {
      const auto& copy = reinterpret_cast<const ops::CopyD2d&>(op);
      if (op.op == static_cast<uint16_t>(ops::OpId::copy_d2d) && copy.bytes == kHeld) gate.pass();
    };
    s.stream(kBlocking, 0);
    s.stream(kFree);
    s.stream(kOther);
    data = s.allocate(1u << 16);
  }
  ~Streams() { gate.open(); }
  uint64_t hold(uint64_t stream) { return s.copy(data + (1u << 10), data + (1u << 15), kHeld, stream); }
  uint64_t set(uint64_t stream, uint64_t at, uint32_t value) {
    return s.fill(data + at, 4, value, stream, 4);
  }
  uint64_t get(uint64_t stream, uint64_t at) { return s.get(data + at, 4, stream); }
};
}  // namespace

CASE(stream_short_work_runs_at_once_in_its_turn) {
  Streams t;
  // A shuffled device holds it back.
  if (!shuffle_of_environment().on()) CHECK(t.s.sink.has_result(t.get(Streams::kFree, 0)));
  t.hold(Streams::kFree);
  t.set(Streams::kFree, 0, 7);
  const uint64_t behind = t.get(Streams::kFree, 0), beside = t.get(Streams::kOther, 4);
  CHECK_EQUAL(t.s.sink.wait_result(beside).value<uint32_t>(), 0u);
  CHECK(!t.s.sink.has_result(behind));
  t.gate.open();
  CHECK_EQUAL(t.s.sink.wait_result(behind).value<uint32_t>(), 7u);
  t.s.sink.wait_progress(Streams::kFree, behind);
}

/// A replay waits for the progress that the program was told of.
CASE(progress_passes_device_synchronize_on_an_idle_default_stream) {
  Streams t;
  t.hold(Streams::kFree);
  const uint64_t synchronize = t.s.give(ops::DeviceSynchronize{});
  t.gate.open();
  CHECK_EQUAL(t.s.sink.wait_result(synchronize).status, 0u);
  t.s.sink.wait_progress(0, synchronize);
}

CASE(stream_legacy_waits_for_blocking_streams_and_back) {
  Streams t;
  t.hold(Streams::kBlocking);
  t.set(Streams::kBlocking, 0, 1);
  const uint64_t other = t.get(Streams::kFree, 0);  // not held up by anything
  const uint64_t legacy = t.get(0, 0);              // after the blocking stream's work
  t.set(0, 0, 2);
  const uint64_t after = t.get(Streams::kBlocking, 0);  // after the legacy stream's
  CHECK_EQUAL(t.s.sink.wait_result(other).value<uint32_t>(), 0u);
  CHECK(!t.s.sink.has_result(legacy) && !t.s.sink.has_result(after));
  t.gate.open();
  CHECK_EQUAL(t.s.sink.wait_result(legacy).value<uint32_t>(), 1u);
  CHECK_EQUAL(t.s.sink.wait_result(after).value<uint32_t>(), 2u);
}

CASE(stream_destroyed_with_work_left) {
  Streams t;
  t.hold(Streams::kBlocking);
  t.set(Streams::kBlocking, 0, 3);
  t.s.destroy_stream(Streams::kBlocking);
  t.s.stream(Streams::kBlocking, 0);    // the handle may be used again
  const uint64_t legacy = t.get(0, 0);  // the legacy stream still waits for the old one
  CHECK(!t.s.sink.has_result(legacy));
  t.gate.open();
  CHECK_EQUAL(t.s.sink.wait_result(legacy).value<uint32_t>(), 3u);
  t.s.synchronize();
}

CASE(event_elapsed_time_of_what_is_not_done) {
  Streams t;
  t.s.event(0x20);
  t.s.event(0x21);
  t.s.record(0x20, Streams::kFree);
  t.hold(Streams::kFree);
  t.s.record(0x21, Streams::kFree);
  CHECK_EQUAL(t.s.elapsed(0x20, 0x21).status, 600u);
  t.gate.open();
  t.s.synchronize();
  CHECK(t.s.elapsed(0x20, 0x21).value<float>() > 0);
}

CASE(stream_thousands_share_a_few_threads) {
  constexpr uint64_t kCount = 3000, kFirst = 0x100;
  Streams t;
  t.s.event(0x20);
  t.s.event(0x21);
  t.hold(Streams::kFree);
  t.s.record(0x20, Streams::kFree);
  const uint64_t marks = t.s.allocate(kCount * 4);
  const auto mark = [&](uint64_t stream, uint32_t value) {
    t.s.fill(marks + stream * 4, 4, value, kFirst + stream, 4);
  };
  for (uint64_t i = 0; i < kCount; ++i) {
    t.s.stream(kFirst + i);
    mark(i, 1);
    t.s.wait(0x20, kFirst + i);
    mark(i, 2);
  }
  // All of them wait now, and others have threads all the same.
  CHECK_EQUAL(t.s.sink.wait_result(t.get(Streams::kOther, 0)).status, 0u);
  CHECK(threads() < 100);
  t.gate.open();
  t.s.synchronize();
  CHECK(threads() < 100);
  CHECK(t.s.download<uint32_t>(marks, kCount) == std::vector<uint32_t>(kCount, 2));
  for (uint64_t i = 0; i < kCount; ++i) t.s.destroy_stream(kFirst + i);
  t.s.synchronize();
  CHECK(t.s.sink.faults().empty());
}

CASE(stream_chain_longer_than_there_are_threads) {
  // Each waits for the next one, and only the last one can go on.
  constexpr uint64_t kCount = 200, kFirst = 0x100, kEvent = 0x1000;
  Streams t;
  for (uint64_t i = 0; i <= kCount; ++i) {
    t.s.stream(kFirst + i);
    t.s.event(kEvent + i);
  }
  t.hold(kFirst + kCount);
  t.s.record(kEvent + kCount, kFirst + kCount);
  for (uint64_t i = kCount; i-- > 0;) {
    t.s.wait(kEvent + i + 1, kFirst + i);
    t.set(kFirst + i, 0, static_cast<uint32_t>(i + 1));
    t.s.record(kEvent + i, kFirst + i);
  }
  const uint64_t before = t.get(Streams::kFree, 0);
  CHECK_EQUAL(t.s.sink.wait_result(before).value<uint32_t>(), 0u);
  t.gate.open();
  CHECK(t.s.backend->idle());
  CHECK_EQUAL(t.s.download<uint32_t>(t.data, 1)[0], 1u);
}

}  // namespace jitc::test
