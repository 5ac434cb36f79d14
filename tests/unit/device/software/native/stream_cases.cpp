// Streams and events of the software device: order, legacy default stream, waits, fence.
#include <filesystem>
#include <thread>

#include "harness.h"

namespace jitc::test {
namespace {
ops::StreamCreate stream_create(uint64_t handle, uint32_t flags) {
  ops::StreamCreate op;
  op.handle = handle;
  op.flags = flags;
  return op;
}
ops::EventCreate event_create(uint64_t handle, uint64_t flags = 0) {
  ops::EventCreate op;
  op.handle = handle;
  op.flags = flags;
  return op;
}
ops::EventRecord record(uint64_t event) {
  ops::EventRecord op;
  op.event = event;
  return op;
}
ops::EventWait wait_event(uint64_t event) {
  ops::EventWait op;
  op.event = event;
  return op;
}
ops::EventSynchronize event_synchronize(uint64_t event) {
  ops::EventSynchronize op;
  op.event = event;
  return op;
}

/// Of this process.
size_t threads() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

/// Two streams (blocking 0x10, non-blocking 0x11, non-blocking 0x12), some memory, and a gate that holds up
/// every copy of exactly kHeld bytes; a second one for kHeldLonger. These are no short copies, which may run
/// in the thread that gives them.
struct Streams {
  static constexpr uint64_t kBlocking = 0x10, kFree = 0x11, kOther = 0x12;
  static constexpr uint64_t kHeld = (16 << 10) + 8, kHeldLonger = kHeld + 8;
  Gate gate, second;
  Session s;
  uint64_t data;
  Streams() {
    s.sink.on_injection = [this](const ops::OpHeader& op, std::string_view) {
      const auto& copy = reinterpret_cast<const ops::CopyD2d&>(op);
      if (op.op == static_cast<uint16_t>(ops::OpId::copy_d2d) && copy.bytes == kHeld) gate.pass();
      if (op.op == static_cast<uint16_t>(ops::OpId::copy_d2d) && copy.bytes == kHeldLonger) second.pass();
    };
    s.give(stream_create(kBlocking, 0));
    s.give(stream_create(kFree, 1));
    s.give(stream_create(kOther, 1));
    data = s.allocate(1u << 16);
  }
  ~Streams() {
    gate.open();
    second.open();
  }
  uint64_t copy(uint64_t stream, uint64_t to, uint64_t from, uint64_t bytes = 8) {
    ops::CopyD2d op;
    op.destination = data + to;
    op.source = data + from;
    op.bytes = bytes;
    return s.give(op, stream);
  }
  uint64_t hold(uint64_t stream, uint64_t bytes = kHeld) { return copy(stream, 1u << 10, 1u << 15, bytes); }
  uint64_t set(uint64_t stream, uint64_t at, uint32_t value) {
    ops::Fill op;
    op.address = data + at;
    op.bytes = 4;
    op.value = value;
    op.width = 4;
    return s.give(op, stream);
  }
  uint64_t get(uint64_t stream, uint64_t at) {
    ops::CopyD2h op;
    op.address = data + at;
    op.bytes = 4;
    return s.give(op, stream);
  }
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

CASE(stream_keeps_order_and_reports_progress) {
  Streams t;
  uint64_t last = 0;
  for (uint32_t i = 0; i < 1000; ++i) last = t.set(Streams::kFree, 0, i);
  t.s.sink.wait_progress(Streams::kFree, last);
  CHECK_EQUAL(t.s.download<uint32_t>(t.data, 1)[0], 999u);
  CHECK(t.s.sink.faults().empty());
}

CASE(stream_progress_comes_within_64_ops) {
  Streams t;
  t.hold(Streams::kFree);
  std::vector<uint64_t> given;
  for (uint32_t i = 0; i < 200; ++i) given.push_back(t.set(Streams::kFree, 0, i));
  t.hold(Streams::kFree, Streams::kHeldLonger);  // so that the stream does not run dry
  t.gate.open();
  t.s.sink.wait_progress(Streams::kFree, given[200 - 64]);
  CHECK(t.s.sink.progress_of(Streams::kFree) <= given.back());
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

CASE(stream_legacy_and_per_thread_handles_are_the_default_stream) {
  Streams t;
  t.hold(0);
  t.set(1, 0, 5);
  t.set(2, 0, 6);
  const uint64_t sequence = t.get(0, 0);
  CHECK(!t.s.sink.has_result(sequence));
  t.gate.open();
  CHECK_EQUAL(t.s.sink.wait_result(sequence).value<uint32_t>(), 6u);
}

CASE(stream_synchronize_waits_only_for_its_stream) {
  Streams t;
  t.hold(Streams::kFree);
  const uint64_t held = t.s.give(ops::StreamSynchronize{}, Streams::kFree);
  CHECK_EQUAL(t.s.ask(ops::StreamSynchronize{}, Streams::kOther).status, 0u);
  CHECK_EQUAL(t.s.ask(ops::StreamSynchronize{}, 0).status, 0u);
  const uint64_t device = t.s.give(ops::DeviceSynchronize{});
  CHECK(!t.s.sink.has_result(held) && !t.s.sink.has_result(device));
  t.gate.open();
  CHECK_EQUAL(t.s.sink.wait_result(held).status, 0u);
  CHECK_EQUAL(t.s.sink.wait_result(device).status, 0u);
}

CASE(stream_destroyed_with_work_left) {
  Streams t;
  t.hold(Streams::kBlocking);
  t.set(Streams::kBlocking, 0, 3);
  ops::StreamDestroy destroy;
  destroy.handle = Streams::kBlocking;
  t.s.give(destroy);
  t.s.give(stream_create(Streams::kBlocking, 0));  // the handle may be used again
  const uint64_t legacy = t.get(0, 0);             // the legacy stream still waits for the old one
  CHECK(!t.s.sink.has_result(legacy));
  t.gate.open();
  CHECK_EQUAL(t.s.sink.wait_result(legacy).value<uint32_t>(), 3u);
  t.s.synchronize();
}

CASE(event_wait_means_the_latest_record_when_given) {
  Streams t;
  t.s.give(event_create(0x20));
  t.s.give(wait_event(0x20), Streams::kOther);  // never recorded: nothing to wait for
  t.s.give(record(0x20), Streams::kOther);
  t.s.give(wait_event(0x20), 0);
  t.hold(Streams::kFree);
  t.s.give(record(0x20), Streams::kFree);  // later: does not hold up the stream that waits already
  CHECK_EQUAL(t.s.sink.wait_result(t.get(0, 0)).status, 0u);
  t.s.give(wait_event(0x20), Streams::kOther);
  const uint64_t held = t.get(Streams::kOther, 0);
  CHECK(!t.s.sink.has_result(held));
  t.gate.open();
  t.s.sink.wait_result(held);
}

CASE(event_elapsed_time) {
  Streams t;
  for (const uint64_t event : {0x20, 0x21, 0x22}) t.s.give(event_create(event));
  t.s.give(event_create(0x23, 2));
  ops::EventElapsed elapsed;
  elapsed.start = 0x20;
  elapsed.end = 0x21;
  CHECK_EQUAL(t.s.ask(elapsed).status, 400u);  // never recorded
  t.s.give(record(0x20), Streams::kFree);
  t.hold(Streams::kFree);
  t.s.give(record(0x21), Streams::kFree);
  CHECK_EQUAL(t.s.ask(elapsed).status, 600u);
  t.gate.open();
  t.s.synchronize();
  CHECK_EQUAL(t.s.ask(elapsed).status, 0u);
  CHECK(t.s.ask(elapsed).value<float>() > 0);
  t.s.give(record(0x23), Streams::kFree);
  elapsed.end = 0x23;
  t.s.synchronize();
  CHECK_EQUAL(t.s.ask(elapsed).status, 400u);  // made without timing
}

CASE(event_stress_keeps_order) {
  // A token goes round three streams, ordered only by events; each turn reads what the last one wrote.
  Streams t;
  const uint64_t streams[] = {Streams::kFree, Streams::kOther, Streams::kBlocking};
  for (uint64_t event = 0x20; event < 0x28; ++event) t.s.give(event_create(event));
  std::vector<uint64_t> reads;
  for (uint32_t turn = 0; turn < 600; ++turn) {
    const uint64_t stream = streams[turn % 3], event = 0x20 + turn % 8;
    if (turn) t.s.give(wait_event(0x20 + (turn - 1) % 8), stream);
    reads.push_back(t.get(stream, 0));
    t.set(stream, 0, turn + 1);
    t.s.give(record(event), stream);
  }
  for (uint32_t turn = 0; turn < reads.size(); ++turn)
    CHECK_EQUAL(t.s.sink.wait_result(reads[turn]).value<uint32_t>(), turn);
  CHECK(t.s.backend->idle());
  CHECK(t.s.sink.faults().empty());
}

CASE(stream_thousands_share_a_few_threads) {
  constexpr uint64_t kCount = 3000, kFirst = 0x100;
  Streams t;
  t.s.give(event_create(0x20));
  t.s.give(event_create(0x21));
  t.hold(Streams::kFree);
  t.s.give(record(0x20), Streams::kFree);
  const uint64_t marks = t.s.allocate(kCount * 4);
  const auto mark = [&](uint64_t stream, uint32_t value) {
    ops::Fill op;
    op.address = marks + stream * 4;
    op.bytes = op.width = 4;
    op.value = value;
    t.s.give(op, kFirst + stream);
  };
  for (uint64_t i = 0; i < kCount; ++i) {
    t.s.give(stream_create(kFirst + i, 1));
    mark(i, 1);
    t.s.give(wait_event(0x20), kFirst + i);
    mark(i, 2);
  }
  // All of them wait now, and others have threads all the same.
  CHECK_EQUAL(t.s.sink.wait_result(t.get(Streams::kOther, 0)).status, 0u);
  CHECK(threads() < 100);
  t.gate.open();
  t.s.synchronize();
  CHECK(threads() < 100);
  CHECK(t.s.download<uint32_t>(marks, kCount) == std::vector<uint32_t>(kCount, 2));
  ops::StreamDestroy destroy;
  for (destroy.handle = kFirst; destroy.handle < kFirst + kCount; ++destroy.handle) t.s.give(destroy);
  t.s.synchronize();
  CHECK(t.s.sink.faults().empty());
}

CASE(stream_chain_longer_than_there_are_threads) {
  // Each waits for the next one, and only the last one can go on.
  constexpr uint64_t kCount = 200, kFirst = 0x100, kEvent = 0x1000;
  Streams t;
  for (uint64_t i = 0; i <= kCount; ++i) {
    t.s.give(stream_create(kFirst + i, 1));
    t.s.give(event_create(kEvent + i));
  }
  t.hold(kFirst + kCount);
  t.s.give(record(kEvent + kCount), kFirst + kCount);
  for (uint64_t i = kCount; i-- > 0;) {
    t.s.give(wait_event(kEvent + i + 1), kFirst + i);
    t.set(kFirst + i, 0, static_cast<uint32_t>(i + 1));
    t.s.give(record(kEvent + i), kFirst + i);
  }
  const uint64_t before = t.get(Streams::kFree, 0);
  CHECK_EQUAL(t.s.sink.wait_result(before).value<uint32_t>(), 0u);
  t.gate.open();
  CHECK(t.s.backend->idle());
  CHECK_EQUAL(t.s.download<uint32_t>(t.data, 1)[0], 1u);
}

CASE(fence_drops_what_waits_and_restore_starts_anew) {
  Streams t;
  Gate entered;
  t.s.give(event_create(0x20));
  const auto held_up = t.s.sink.on_injection;
  t.s.sink.on_injection = [&](const ops::OpHeader& op, std::string_view phase) {
    entered.open();
    held_up(op, phase);
  };
  t.hold(Streams::kFree);
  t.s.give(record(0x20), Streams::kFree);
  t.s.give(wait_event(0x20), Streams::kOther);
  const uint64_t waiting = t.get(Streams::kOther, 0);
  const uint64_t device = t.s.give(ops::DeviceSynchronize{});
  const uint64_t event = t.s.give(event_synchronize(0x20));
  entered.pass();
  std::thread fencing([&] { t.s.backend->fence(); });
  std::thread idling([&] { CHECK(!t.s.backend->idle()); });
  idling.join();
  t.gate.open();  // the copy that runs is finished, nothing else
  fencing.join();
  const uint64_t late = t.set(0, 0, 1);
  CHECK(late > event);
  for (const uint64_t sequence : {waiting, device, event}) CHECK(!t.s.sink.has_result(sequence));
  std::string error;
  Resources wanted{{{t.data, 1u << 16}}, {{Streams::kFree, 1, 0}}, {{0x20, 0}, {0x30, 0}}, {}};
  CHECK(t.s.backend->restore(wanted, error));
  CHECK_EQUAL(t.s.download<uint32_t>(t.data, 1)[0], 0u);
  t.s.backend->unfence();
  t.s.give(wait_event(0x20), Streams::kFree);
  t.s.give(event_synchronize(0x30));
  CHECK_EQUAL(t.s.sink.wait_result(t.get(Streams::kFree, 0)).value<uint32_t>(), 0u);
  CHECK(t.s.backend->idle());
  t.set(Streams::kOther, 0, 1);  // was not restored
  CHECK_EQUAL(t.s.sink.wait_fault().status, 400u);
}

CASE(fence_again_and_again_under_load) {
  Streams t;
  t.gate.open();
  t.s.give(event_create(0x20));
  Resources wanted{{{t.data, 1u << 16}}, {{Streams::kFree, 1, 0}, {Streams::kOther, 1, 0}}, {{0x20, 0}}, {}};
  for (int round = 0; round < 30; ++round) {
    std::thread fencing([&] { t.s.backend->fence(); });
    for (uint32_t i = 0; i < 60; ++i) {
      t.set(i % 2 ? Streams::kFree : Streams::kOther, 4 + i % 2 * 4, i);  // each stream a place of its own
      t.s.give(record(0x20), Streams::kFree);
      t.s.give(wait_event(0x20), Streams::kOther);
      t.set(0, 0, i);
    }
    fencing.join();
    std::string error;
    CHECK(t.s.backend->restore(wanted, error));
    t.s.backend->unfence();
    t.set(Streams::kFree, 0, 77);
    CHECK(t.s.backend->idle());
    CHECK_EQUAL(t.s.download<uint32_t>(t.data, 1)[0], 77u);
  }
}
}  // namespace jitc::test
