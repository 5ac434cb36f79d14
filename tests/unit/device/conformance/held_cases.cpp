// Memory that is held first and mapped later.
#include <numeric>
#include <thread>

#include "harness.h"

namespace jitc::test {
namespace {
constexpr uint64_t kFirst = 0x71, kSecond = 0x72, kThird = 0x73;

/// Holds and maps blocks of that size one behind the other, from the session's base on.
void map_in_a_row(Session& s, const std::vector<uint64_t>& handles, uint64_t bytes = kBlock) {
  uint64_t address = s.base;
  for (const uint64_t handle : handles) {
    CHECK_EQUAL(s.hold(handle, bytes), 0u);
    s.map(handle, address);
    address += bytes;
  }
}

}  // namespace

CASE(held_becomes_blocks_that_are_as_one) {
  Session s;
  map_in_a_row(s, {kFirst, kSecond, kThird});
  std::vector<uint8_t> data(3 * kBlock - 100);
  std::iota(data.begin(), data.end(), uint8_t{3});
  const auto bytes = std::as_bytes(std::span(data));
  CHECK(s.backend->write(s.base + 100, bytes));
  CHECK(!s.backend->write(s.base + 101, bytes));
  const uint64_t other = s.base + 16 * kBlock;
  CHECK_EQUAL(s.try_allocate(other, 3 * kBlock), 0u);
  s.copy(other, s.base + 100, data.size());
  s.synchronize();
  CHECK(s.download<uint8_t>(other, data.size()) == data);
  CHECK(s.hash(other, data.size()) == s.hash(s.base + 100, data.size()));
  CHECK(s.hash(s.base, 3 * kBlock + 1) == kNoHash);
  s.release(s.base + kBlock);  // a gap
  s.synchronize();
  CHECK(s.hash(s.base, 3 * kBlock) == kNoHash);
  CHECK(s.hash(s.base, kBlock) != kNoHash);
  s.fill(s.base, kBlock + 1, 0);
  CHECK_EQUAL(s.sink.wait_fault().status, 700u);
}

CASE(held_counts_and_can_be_given_up) {
  Session s({.limit = 8 * kBlock});
  CHECK_EQUAL(s.hold(kFirst, 5 * kBlock), 0u);
  CHECK_EQUAL(s.backend->memory_used(), 5 * kBlock);
  CHECK_EQUAL(s.free_memory(), 3 * kBlock);
  CHECK_EQUAL(s.hold(kSecond, 4 * kBlock), 2u);
  s.drop(kFirst);
  CHECK_EQUAL(s.free_memory(), 8 * kBlock);
  CHECK_EQUAL(s.hold(kSecond, 4 * kBlock), 0u);
  s.map(kSecond, s.base);
  CHECK_EQUAL(s.backend->memory_used(), 4 * kBlock);
  CHECK_EQUAL(s.hold(kThird, 5 * kBlock), 2u);
  s.release(s.base);
  CHECK_EQUAL(s.hold(kThird, 5 * kBlock), 0u);
  CHECK_EQUAL(s.backend->memory_used(), 5 * kBlock);
  CHECK(s.sink.faults().empty());
}

CASE(held_bad_ops_are_refused) {
  Session calm;
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{100}, ~uint64_t{4095}, kRange + kBlock})
    CHECK_EQUAL(calm.hold(kFirst, bytes), 1u);
  CHECK_EQUAL(calm.hold(kFirst, kBlock), 0u);
  CHECK_EQUAL(calm.hold(kFirst, kBlock), 1u);
  CHECK(calm.sink.faults().empty());
  const auto faults = [](uint32_t status, const std::function<uint64_t(Session&)>& give) {
    Session s({.slot = 1});
    CHECK_EQUAL(s.hold(kFirst, 2 * kBlock), 0u);
    CHECK_EQUAL(s.hold(kSecond, kBlock), 0u);
    s.map(kSecond, s.base + kBlock);
    const uint64_t sequence = give(s);
    const auto fault = s.sink.wait_fault();
    CHECK_EQUAL(fault.sequence, sequence);
    CHECK_EQUAL(fault.status, status);
  };
  faults(400, [](Session& s) { return s.map(kThird, s.base + 4 * kBlock); });
  faults(400, [](Session& s) { return s.map(kSecond, s.base + 4 * kBlock); });  // mapped already
  faults(400, [](Session& s) { return s.drop(kSecond); });
  faults(400, [](Session& s) { return s.drop(kThird); });
  faults(1, [](Session& s) { return s.map(kFirst, s.base); });  // reaches into the other
  faults(1, [](Session& s) { return s.map(kFirst, s.base + 4 * kBlock + 4096); });
  faults(1, [](Session& s) { return s.map(kFirst, s.base - kBlock); });
  faults(1, [](Session& s) { return s.map(kFirst, s.base + kRange - kBlock); });
  faults(1, [](Session& s) { return s.map(kFirst, ~uint64_t{0} - kBlock + 1); });
  faults(1, [](Session& s) { return s.release(s.base + kBlock + 4096); });
}

CASE(held_is_restored) {
  Session s({.limit = 8 * kBlock});
  map_in_a_row(s, {kFirst, kSecond});  // ops 1 to 4
  CHECK_EQUAL(s.hold(kThird, 2 * kBlock), 0u);
  s.fill(s.base, 2 * kBlock, 1);
  s.synchronize();
  s.backend->commit();
  const Resources then{.allocations = {{s.base, kBlock, 2}, {s.base + kBlock, kBlock, 4}},
                       .held = {{kThird, 2 * kBlock}}};
  // Everything else than it was: the held one mapped, a block in the place of another, one more held.
  s.release(s.base + kBlock);
  s.map(kThird, s.base + kBlock);
  CHECK_EQUAL(s.hold(0x99, kBlock), 0u);
  s.fill(s.base, 3 * kBlock, 2);
  s.synchronize();
  s.restore(then);
  CHECK_EQUAL(s.backend->memory_used(), 4 * kBlock);
  CHECK_EQUAL(int{s.byte(s.base + kBlock)}, 1);  // its content, not the other's
  s.map(kThird, s.base + 4 * kBlock);
  CHECK_EQUAL(s.hold(0x99, kBlock), 0u);
  s.synchronize();
  s.restore(then);
  s.drop(kThird);
  s.synchronize();
  CHECK_EQUAL(s.backend->memory_used(), 2 * kBlock);
  s.restore(then);
  CHECK_EQUAL(s.backend->memory_used(), 4 * kBlock);
  CHECK_EQUAL(s.hold(kThird, kBlock), 1u);  // it is there
  CHECK(s.sink.faults().empty());
}

CASE(held_is_restored_in_a_fresh_device) {
  Session s({.limit = 8 * kBlock});
  s.restore({.allocations = {{s.base, kBlock, 7}, {s.base + kBlock, kBlock, 9}}, .held = {{kThird, kBlock}}});
  const std::vector<uint8_t> content(2 * kBlock, 6);
  CHECK(s.backend->write(s.base, std::as_bytes(std::span(content))));
  s.map(kThird, s.base + 2 * kBlock);
  s.fill(s.base + kBlock, 2 * kBlock, 8);
  s.synchronize();
  CHECK_EQUAL(int{s.byte(s.base)}, 6);
  CHECK_EQUAL(int{s.byte(s.base + 3 * kBlock - 1)}, 8);
  CHECK_EQUAL(s.backend->memory_used(), 3 * kBlock);
  s.refused_restore({.held = {{kFirst, 9 * kBlock}}});
}

CASE(held_takes_the_addresses_of_freed_blocks) {
  Session s;
  map_in_a_row(s, {kFirst, kSecond});
  s.fill(s.base, 2 * kBlock, 1);
  s.synchronize();
  s.release(s.base);
  s.release(s.base + kBlock);
  CHECK_EQUAL(s.hold(kThird, 2 * kBlock), 0u);
  s.map(kThird, s.base);
  s.fill(s.base, 2 * kBlock, 2);
  s.synchronize();
  CHECK_EQUAL(int{s.byte(s.base + kBlock)}, 2);
  s.restore({.allocations = {{s.base, kBlock, 2}, {s.base + kBlock, kBlock, 4}}});
  CHECK_EQUAL(int{s.byte(s.base + kBlock)}, 1);
}

CASE(held_waits_for_the_addresses_of_what_is_in_use) {
  Session s;
  const uint64_t a = s.allocate(kBlock), b = s.allocate(kBlock);
  CHECK_EQUAL(s.hold(kFirst, kBlock), 0u);
  s.fill(a, kBlock, 1);
  s.synchronize();
  StreamGate gate(s);
  s.copy(b, a, kBlock);  // held up: still uses the first block when its addresses are asked for
  s.release(a);
  std::thread opener([&] { gate.open(); });
  s.map(kFirst, a);
  opener.join();
  s.fill(a, kBlock, 2);
  s.synchronize();
  CHECK_EQUAL(int{s.byte(b)}, 1);
  CHECK_EQUAL(int{s.byte(a)}, 2);
  CHECK(s.sink.faults().empty());
}

}  // namespace jitc::test
