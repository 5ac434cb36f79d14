// Fences, restores, and what a commit lets go.
#include <thread>

#include "harness.h"

namespace jitc::test {
namespace {
constexpr uint64_t kA = 0x1001, kB = 0x1002, kEvent = 0x2001, kOther = 0x2002;
}  // namespace

CASE(restore_undoes_frees_and_allocations) {
  Session s;
  const uint64_t a = s.allocate(kBlock), b = s.allocate(3 * kBlock);  // ops 1 and 2
  s.fill(a, kBlock, 1);
  s.fill(b, 3 * kBlock, 2);
  s.synchronize();
  s.backend->commit();
  for (const uint32_t value :
       {8, 9}) {  // others at the same places, of the same size and of another one, twice
    s.release(a);
    s.release(b);
    CHECK_EQUAL(s.try_allocate(a, kBlock), 0u);
    CHECK_EQUAL(s.try_allocate(b, kBlock), 0u);
    s.fill(a, kBlock, value);
    s.fill(b, kBlock, value);
  }
  const uint64_t c = s.allocate(4096);
  s.synchronize();
  s.restore({.allocations = {{a, kBlock, 1}, {b, 3 * kBlock, 2}}});
  CHECK_EQUAL(int{s.byte(a)}, 1);
  CHECK_EQUAL(int{s.byte(b)}, 2);
  CHECK_EQUAL(int{s.byte(b + 2 * kBlock)}, 2);
  CHECK(!s.backend->write(c, std::as_bytes(std::span("x", 1))));
  CHECK_EQUAL(s.backend->memory_used(), 4 * kBlock);
  s.fill(a, 4096, 7);
  s.synchronize();
  CHECK_EQUAL(int{s.byte(a)}, 7);
}

CASE(restore_takes_the_block_that_is_meant) {
  Session s;
  const uint64_t a = s.allocate(kBlock);  // op 1
  s.fill(a, kBlock, 1);
  s.release(a);
  CHECK_EQUAL(s.try_allocate(a, kBlock), 0u);  // op 4
  s.fill(a, kBlock, 2);
  s.synchronize();
  for (const uint64_t sequence : {4, 1}) {
    s.restore({.allocations = {{a, kBlock, sequence}}});
    CHECK_EQUAL(int{s.byte(a)}, sequence == 4 ? 2 : 1);
  }
}

CASE(restore_gives_up_what_came_later) {
  Session s;
  const uint64_t a = s.allocate(kBlock), b = s.allocate(kBlock);
  s.stream(kA);
  s.event(kEvent);
  s.synchronize();
  s.restore({.allocations = {{a, kBlock, 1}}});
  CHECK_EQUAL(s.backend->memory_used(), kBlock);
  CHECK(!s.backend->write(b, std::as_bytes(std::span("x", 1))));
  CHECK_EQUAL(s.ask(ops::StreamSynchronize{}, kA).status, 400u);
  s.stream(kA);  // the handles are free again
  s.event(kEvent);
  CHECK(s.sink.faults().empty());
}

CASE(restore_in_a_fresh_device_puts_everything_back) {
  Session s;
  const uint64_t a = s.base, b = a + 4 * kBlock;
  s.restore({.allocations = {{a, kBlock, 3}, {b, 4096, 4}},  // as a worker does that takes over a journal
             .streams = {{kA, 1, -1}, {kB, 0, 0}},
             .events = {{kEvent, 0}, {kOther, 2}}});
  const std::vector<uint8_t> content(kBlock, 6);
  CHECK(s.backend->write(a, std::as_bytes(std::span(content))));
  s.go_back_to(100);
  s.copy(b, a, 4096, kA);
  s.record(kOther, kA);
  s.wait(kOther, kB);
  CHECK_EQUAL(s.sink.wait_result(s.get(b, 1, kB)).value<uint8_t>(), uint8_t{6});
  CHECK_EQUAL(s.elapsed(kEvent, kEvent).status, 0u);  // recorded before the worker was lost
  CHECK(s.sink.faults().empty());
}

CASE(restore_that_cannot_be_done_says_why) {
  Session s({.limit = 4 * kBlock});
  const Resources too_much{.allocations = {{s.base, 3 * kBlock, 1}, {s.base + 3 * kBlock, 2 * kBlock, 2}}};
  CHECK(contains(s.refused_restore(too_much), "memory"));
  s.refused_restore({.allocations = {{s.base + 1, kBlock, 1}}});
  s.restore({.allocations = {{s.base, 4 * kBlock, 1}}});
}

CASE(restore_makes_room_for_what_was_freed_long_ago) {
  Session s({.limit = 4 * kBlock});
  const uint64_t a = s.allocate(2 * kBlock);
  s.release(a);
  const uint64_t b = s.allocate(2 * kBlock);
  s.synchronize();
  s.restore({.allocations = {{b + 8 * kBlock, 4 * kBlock, 50}}});
  CHECK_EQUAL(s.backend->memory_used(), 4 * kBlock);
}

CASE(restore_to_earlier_sequences_tells_progress_again) {
  Session s;
  s.stream(kA);
  const uint64_t a = s.allocate(4096);
  const uint64_t before = s.sequence();
  for (int i = 0; i < 100; ++i) s.fill(a, 64, 1, kA);
  s.synchronize();
  s.restore({.allocations = {{a, 4096, 2}}, .streams = {{kA, 1, 0}}});
  s.go_back_to(before);
  s.sink.forget();
  StreamGate gate(s);
  s.event(kEvent);
  s.record(kEvent, 0);
  s.wait(kEvent, kA);
  const uint64_t held = s.get(a, 1, kA);  // an old mark must not count for it
  s.backend->flush();
  CHECK(!s.sink.has_result(held));
  gate.open();
  CHECK_EQUAL(s.sink.wait_result(held).status, 0u);
}

/// Nothing is told after it, not even by what was placed before it. What was recorded is as if it were done.
CASE(fence_drops_what_waits_and_restore_starts_anew) {
  Session s;
  const uint64_t a = s.allocate(4096);
  s.fill(a, 64, 0);
  s.stream(kA);
  s.stream(kB);
  s.event(kEvent);
  s.synchronize();
  StreamGate gate(s);
  s.record(kEvent, 0);
  s.wait(kEvent, kB);
  const uint64_t read = s.get(a, 64, kB), device = s.give(ops::DeviceSynchronize{});
  ops::EventSynchronize synchronize;
  synchronize.event = kEvent;
  const uint64_t event = s.give(synchronize);
  std::thread fencing([&] { s.backend->fence(); });
  CHECK(!s.backend->idle());  // although the gate is closed
  gate.open();
  fencing.join();
  const uint64_t progress = s.sink.progress_of(0);
  s.fill(a, 64, 1);  // not executed
  s.backend->flush();
  CHECK(!s.backend->idle());
  for (const uint64_t given : {read, device, event}) CHECK(!s.sink.has_result(given));
  CHECK_EQUAL(s.sink.progress_of(0), progress);
  s.backend->fence();  // again, as for a recovery that starts over
  s.restore({.allocations = {{a, 4096, 1}}, .streams = {{kA, 1, 0}}, .events = {{kEvent, 0}, {kOther, 0}}});
  CHECK_EQUAL(int{s.byte(a)}, 0);
  s.wait(kEvent, kA);
  CHECK_EQUAL(s.synchronize_event(kOther).status, 0u);
  CHECK_EQUAL(s.sink.wait_result(s.get(a, 1, kA)).status, 0u);
  CHECK(s.backend->idle());
  s.fill(a, 1, 1, kB);  // was not restored
  CHECK_EQUAL(s.sink.wait_fault().status, 400u);
}

CASE(fence_again_and_again_under_load) {
  Session s;
  s.stream(kA);
  s.stream(kB);
  const uint64_t a = s.allocate(4096);  // op 3
  s.event(kEvent);
  const Resources wanted{
      .allocations = {{a, 4096, 3}}, .streams = {{kA, 1, 0}, {kB, 1, 0}}, .events = {{kEvent, 0}}};
  for (int round = 0; round < 30; ++round) {
    std::thread fencing([&] { s.backend->fence(); });
    for (uint32_t i = 0; i < 60; ++i) {
      s.fill(a + 4 + i % 2 * 4, 4, i, i % 2 ? kA : kB);  // each stream a place of its own
      s.record(kEvent, kA);
      s.wait(kEvent, kB);
      s.fill(a, 4, i);
    }
    fencing.join();
    s.restore(wanted);
    s.fill(a, 4, 77, kA);
    CHECK(s.backend->idle());
    CHECK_EQUAL(int{s.byte(a)}, 77);
  }
}

CASE(fence_and_go_on_without_restore) {
  Session s;
  const uint64_t a = s.allocate(4096);
  s.stream(kA);
  s.fill(a, 64, 1, kA);
  CHECK(s.backend->idle());
  s.backend->fence();
  s.backend->unfence();
  s.fill(a, 64, 2, kA);
  CHECK_EQUAL(s.sink.wait_result(s.get(a, 1, kA)).value<uint8_t>(), uint8_t{2});
}

CASE(commit_gives_freed_memory_back) {
  Session s;
  const uint64_t free_before = s.free_memory();
  const uint64_t a = s.allocate(4 * kBlock);  // op 2
  s.fill(a, kBlock, 7);
  s.release(a);
  s.synchronize();
  s.backend->commit();
  CHECK_EQUAL(s.backend->memory_used(), 0u);
  CHECK_EQUAL(s.free_memory(), free_before);
  CHECK_EQUAL(s.try_allocate(a, 4 * kBlock), 0u);  // its addresses too
  s.restore({.allocations = {{a, 4 * kBlock, 2}}});
  CHECK_EQUAL(int{s.byte(a)}, 0);  // made again, its content is gone
}

CASE(commit_while_work_is_queued_keeps_what_it_uses) {
  Session s;
  const uint64_t a = s.allocate(kBlock), b = s.allocate(kBlock);
  s.fill(a, kBlock, 8);
  s.synchronize();
  StreamGate gate(s);
  s.copy(b, a, kBlock);
  s.release(a);
  s.backend->commit();
  gate.open();
  s.synchronize();
  CHECK_EQUAL(int{s.byte(b)}, 8);
  s.backend->commit();
  CHECK(s.sink.faults().empty());
}

CASE(injected_faults_pass_in_copies) {
  Session s;
  std::vector<uint64_t> seen;
  s.sink.on_injection = [&](const ops::OpHeader& op, std::string_view phase) {
    CHECK(phase == "copy");
    seen.push_back(op.sequence);
  };
  const uint64_t a = s.allocate(4096);
  const std::vector<uint64_t> given{s.put(a, {1, 2, 3}), s.copy(a + 64, a, 3), s.get(a, 3)};
  s.synchronize();
  CHECK(seen == given);
}

}  // namespace jitc::test
