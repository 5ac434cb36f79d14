// Fence, restore, undone frees, commit of the cuda device.
#include <thread>

#include "harness.h"

namespace jitc::test {
namespace {
constexpr uint64_t kA = 0x1001, kB = 0x1002, kEvent = 0x2001, kOther = 0x2002;

void restore(Session& s, const Resources& resources) {
  std::string error;
  s.backend->fence();
  if (!s.backend->restore(resources, error)) throw Failure{error};
  s.backend->unfence();
}

uint8_t first_byte(Session& s, uint64_t address) { return s.download<uint8_t>(address, 1)[0]; }
}  // namespace

CASE(restore_undoes_frees_with_their_content) {
  Session s;
  const uint64_t a = s.allocate(kBlock), b = s.allocate(3 * kBlock);
  s.fill(a, kBlock, 1);
  s.fill(b, 3 * kBlock, 2);
  s.synchronize();
  s.backend->commit();
  s.release(a);
  s.release(b);
  CHECK_EQUAL(s.backend->memory_used(), 0u);
  CHECK_EQUAL(s.try_allocate(b, kBlock), 0u);  // the addresses are given out again
  s.fill(b, kBlock, 9);
  s.synchronize();
  restore(s, {{{a, kBlock, 1}, {b, 3 * kBlock, 2}}, {}, {}, {}});
  CHECK_EQUAL(int{first_byte(s, a)}, 1);
  CHECK_EQUAL(int{first_byte(s, b)}, 2);
  CHECK_EQUAL(int{first_byte(s, b + 2 * kBlock)}, 2);
  CHECK_EQUAL(s.backend->memory_used(), 4 * kBlock);
}

CASE(restore_takes_the_block_that_is_meant) {
  Session s;
  const uint64_t a = s.allocate(kBlock);  // op 1
  s.fill(a, kBlock, 1);
  s.release(a);
  CHECK_EQUAL(s.try_allocate(a, kBlock), 0u);  // op 4
  s.fill(a, kBlock, 2);
  s.synchronize();
  restore(s, {{{a, kBlock, 1}}, {}, {}, {}});
  CHECK_EQUAL(int{first_byte(s, a)}, 1);
}

CASE(restore_gives_up_what_came_later) {
  Session s;
  const uint64_t a = s.allocate(kBlock), b = s.allocate(kBlock);
  s.stream(kA);
  s.event(kEvent);
  s.synchronize();
  restore(s, {{{a, kBlock, 1}}, {}, {}, {}});
  CHECK_EQUAL(s.backend->memory_used(), kBlock);
  CHECK(!s.backend->write(b, std::as_bytes(std::span("x", 1))));
  CHECK_EQUAL(s.ask(ops::StreamSynchronize{}, kA).status, 400u);
  s.stream(kA);  // the handles are free again
  s.event(kEvent);
  CHECK(s.sink.faults().empty());
}

CASE(restore_in_a_fresh_device_puts_everything_back) {
  const Resources resources{{{kBase, kBlock, 3}, {kBase + 4 * kBlock, 4096, 4}},
                            {{kA, 1, -1}, {kB, 0, 0}},
                            {{kEvent, 0}, {kOther, 2}},
                            {}};
  Session s;
  s.backend->fence();  // as Session does when it takes over a journal
  std::string error;
  CHECK(s.backend->restore(resources, error));
  const std::vector<uint8_t> content(kBlock, 6);
  CHECK(s.backend->write(kBase, std::as_bytes(std::span(content))));
  s.backend->unfence();
  s.go_back_to(100);
  s.copy(kBase + 4 * kBlock, kBase, 4096, kA);
  s.record(kOther, kA);
  s.wait(kOther, kB);
  CHECK_EQUAL(s.sink.wait_result(s.get(kBase + 4 * kBlock, 1, kB)).value<uint8_t>(), uint8_t{6});
  ops::EventElapsed time;  // recorded before the worker was lost
  time.start = time.end = kEvent;
  CHECK_EQUAL(s.ask(time).status, 0u);
}

CASE(restore_needs_a_fence) {
  Session s;
  std::string error;
  CHECK(!s.backend->restore({}, error));
  CHECK(!error.empty());
}

CASE(restore_that_cannot_be_done_says_why) {
  setenv("JITC_FAKE_MEMORY", std::to_string(4 * kBlock).c_str(), 1);
  Session s;
  s.backend->fence();
  std::string error;
  CHECK(!s.backend->restore({{{kBase, 5 * kBlock, 1}}, {}, {}, {}}, error));
  CHECK(error.find("memory") != std::string::npos);
  CHECK(!s.backend->restore({{{kBase + 1, kBlock, 1}}, {}, {}, {}}, error));
  CHECK(!s.backend->restore({{}, {{kA, 77, 0}}, {}, {}}, error));
  CHECK(s.backend->restore({{{kBase, 4 * kBlock, 1}}, {}, {}, {}}, error));
}

CASE(restore_makes_room_for_what_was_freed_long_ago) {
  setenv("JITC_FAKE_MEMORY", std::to_string(4 * kBlock).c_str(), 1);
  Session s;
  const uint64_t a = s.allocate(2 * kBlock);
  s.release(a);
  const uint64_t b = s.allocate(2 * kBlock);
  s.synchronize();
  restore(s, {{{b + 8 * kBlock, 4 * kBlock, 50}}, {}, {}, {}});
  CHECK_EQUAL(s.backend->memory_used(), 4 * kBlock);
}

CASE(fence_drops_what_waits_and_nothing_is_told_after_it) {
  Session s;
  const uint64_t a = s.allocate(4096);
  s.stream(kA);
  s.synchronize();
  auto gate = std::make_unique<StreamGate>();
  const uint64_t result = s.get(a, 64);
  const uint64_t synchronize = s.give(ops::DeviceSynchronize{});
  std::thread fencing([&] { s.backend->fence(); });
  gate->open();
  fencing.join();
  const bool told = s.sink.has_result(result), also = s.sink.has_result(synchronize);
  const uint64_t progress = s.sink.progress_of(0);
  s.fill(a, 64, 1);  // not executed
  s.backend->flush();
  CHECK(!s.backend->idle());
  CHECK_EQUAL(s.sink.has_result(result), told);
  CHECK_EQUAL(s.sink.has_result(synchronize), also);
  CHECK_EQUAL(s.sink.progress_of(0), progress);
  s.backend->fence();  // again, as for a recovery that starts over
}

CASE(fence_ends_waits_of_the_dispatcher) {
  Session s;
  const uint64_t a = s.allocate(4096);
  auto gate = std::make_unique<StreamGate>();
  s.fill(a, 64, 1);
  bool idle = true;
  std::thread dispatcher([&] { idle = s.backend->idle(); });
  std::thread fencing([&] { s.backend->fence(); });
  dispatcher.join();  // although the gate is closed
  gate->open();
  fencing.join();
  CHECK(!idle);
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

CASE(restore_to_earlier_sequences_tells_progress_again) {
  Session s;
  s.stream(kA);
  const uint64_t a = s.allocate(4096);
  const uint64_t before = s.sequence();
  for (int i = 0; i < 100; ++i) s.fill(a, 64, 1, kA);
  s.synchronize();
  s.backend->fence();
  std::string error;
  CHECK(s.backend->restore({{{a, 4096, 2}}, {{kA, 1, 0}}, {}, {}}, error));
  s.backend->unfence();
  s.go_back_to(before);
  s.sink.forget();
  StreamGate gate;
  s.event(kEvent);
  s.record(kEvent, 0);
  s.wait(kEvent, kA);
  const uint64_t held = s.get(a, 1, kA);  // an old mark must not count for it
  s.backend->flush();
  CHECK(!s.sink.has_result(held));
  gate.open();
  CHECK_EQUAL(s.sink.wait_result(held).status, 0u);
}

CASE(commit_while_work_is_queued_keeps_what_it_uses) {
  Session s;
  const uint64_t a = s.allocate(kBlock), b = s.allocate(kBlock);
  s.fill(a, kBlock, 8);
  s.synchronize();
  StreamGate gate;
  s.copy(b, a, kBlock);
  s.release(a);
  s.backend->commit();
  gate.open();
  s.synchronize();
  CHECK_EQUAL(int{first_byte(s, b)}, 8);
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
  CHECK(seen == given);
}

CASE(restore_waits_for_memory_that_a_lost_worker_had) {
  prepare_failures();
  std::string written;
  const int status = run_child(
      [] {
        Session s({0, 0, 5});
        s.backend->fence();
        ask_for_failures("cuMemCreate:1=2,cuMemCreate:2=2,cuMemCreate:3=2");
        std::string error;
        CHECK(s.backend->restore({{{kBase, kBlock, 1}}, {}, {}, {}}, error));
        CHECK_EQUAL(s.backend->memory_used(), kBlock);
      },
      written);
  CHECK_EQUAL(status, 0);
  CHECK(written.find("s for memory that a lost worker had") != std::string::npos);
}

CASE(restore_does_not_wait_for_ever) {
  prepare_failures();
  Session s({0, 0, 0.2});
  s.backend->fence();
  ask_for_failures("cuMemCreate:1+=2");
  std::string error;
  CHECK(!s.backend->restore({{{kBase, kBlock, 1}}, {}, {}, {}}, error));
  CHECK(error.find("no memory for all allocations to restore") != std::string::npos);
}

}  // namespace jitc::test
