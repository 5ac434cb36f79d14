// See held_memory.h.
#include "held_memory.h"

#include <numeric>

namespace jitc::test {
namespace {
constexpr uint64_t kFirst = 0x71, kSecond = 0x72, kThird = 0x73;

uint64_t free_block(Client& s, uint64_t address) {
  ops::Free op;
  op.address = address;
  return s.give(op);
}

uint64_t fill(Client& s, uint64_t address, uint64_t bytes, uint32_t value) {
  ops::Fill op;
  op.address = address;
  op.bytes = bytes;
  op.value = value;
  op.width = 1;
  return s.give(op);
}

uint64_t free_memory(Client& s) { return s.ask(ops::MemoryInfo{}).value<uint64_t>(); }

uint8_t first_byte(Client& s, uint64_t address) { return s.download<uint8_t>(address, 1)[0]; }

/// Holds and maps blocks of that size one behind the other, from the session's base on.
void map_in_a_row(Client& s, const std::vector<uint64_t>& handles, uint64_t bytes = kBlock) {
  uint64_t address = s.base;
  for (const uint64_t handle : handles) {
    CHECK_EQUAL(hold(s, handle, bytes), 0u);
    map_memory(s, handle, address);
    address += bytes;
  }
}

void restore(Client& s, const Resources& wanted) {
  std::string error;
  s.backend->fence();
  if (!s.backend->restore(wanted, error)) throw Failure{error};
  s.backend->unfence();
}
}  // namespace

uint32_t hold(Client& client, uint64_t handle, uint64_t bytes) {
  ops::MemoryHold op;
  op.handle = handle;
  op.bytes = bytes;
  return client.ask(op).status;
}

uint64_t map_memory(Client& client, uint64_t handle, uint64_t address) {
  ops::MemoryMap op;
  op.handle = handle;
  op.address = address;
  return client.give(op);
}

uint64_t drop_memory(Client& client, uint64_t handle) {
  ops::MemoryDrop op;
  op.handle = handle;
  return client.give(op);
}

void held_memory_becomes_blocks_that_are_as_one(const MakeClient& make) {
  const auto made = make(0);
  Client& s = *made;
  map_in_a_row(s, {kFirst, kSecond, kThird});
  std::vector<uint8_t> data(3 * kBlock - 100);
  std::iota(data.begin(), data.end(), uint8_t{3});
  const auto bytes = std::as_bytes(std::span(data));
  CHECK(s.backend->write(s.base + 100, bytes));
  CHECK(!s.backend->write(s.base + 101, bytes));
  const uint64_t other = s.base + 16 * kBlock;
  ops::Allocate allocate;
  allocate.address = other;
  allocate.bytes = 3 * kBlock;
  CHECK_EQUAL(s.ask(allocate).status, 0u);
  ops::CopyD2d copy;
  copy.destination = other;
  copy.source = s.base + 100;
  copy.bytes = data.size();
  s.give(copy);
  s.synchronize();
  CHECK(s.download<uint8_t>(other, data.size()) == data);
  CHECK(s.hash(other, data.size()) == s.hash(s.base + 100, data.size()));
  CHECK(s.hash(s.base, 3 * kBlock + 1) == kNoHash);
  free_block(s, s.base + kBlock);  // a gap
  s.synchronize();
  CHECK(s.hash(s.base, 3 * kBlock) == kNoHash);
  CHECK(s.hash(s.base, kBlock) != kNoHash);
  fill(s, s.base, kBlock + 1, 0);
  CHECK_EQUAL(s.sink.wait_fault().status, 700u);
}

void held_memory_counts_and_can_be_given_up(const MakeClient& make) {
  const auto made = make(8 * kBlock);
  Client& s = *made;
  CHECK_EQUAL(hold(s, kFirst, 5 * kBlock), 0u);
  CHECK_EQUAL(s.backend->memory_used(), 5 * kBlock);
  CHECK_EQUAL(free_memory(s), 3 * kBlock);
  CHECK_EQUAL(hold(s, kSecond, 4 * kBlock), 2u);
  drop_memory(s, kFirst);
  CHECK_EQUAL(free_memory(s), 8 * kBlock);
  CHECK_EQUAL(hold(s, kSecond, 4 * kBlock), 0u);
  map_memory(s, kSecond, s.base);
  CHECK_EQUAL(s.backend->memory_used(), 4 * kBlock);
  CHECK_EQUAL(hold(s, kThird, 5 * kBlock), 2u);
  free_block(s, s.base);
  CHECK_EQUAL(hold(s, kThird, 5 * kBlock), 0u);
  CHECK_EQUAL(s.backend->memory_used(), 5 * kBlock);
  CHECK(s.sink.faults().empty());
}

void held_memory_bad_ops_are_refused(const MakeClient& make) {
  auto calm = make(0);
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{100}, ~uint64_t{4095}, kRange + kBlock})
    CHECK_EQUAL(hold(*calm, kFirst, bytes), 1u);
  CHECK_EQUAL(hold(*calm, kFirst, kBlock), 0u);
  CHECK_EQUAL(hold(*calm, kFirst, kBlock), 1u);
  CHECK(calm->sink.faults().empty());
  calm.reset();
  const auto faults = [&](uint32_t status, const std::function<uint64_t(Client&)>& give) {
    const auto s = make(0);
    CHECK_EQUAL(hold(*s, kFirst, 2 * kBlock), 0u);
    CHECK_EQUAL(hold(*s, kSecond, kBlock), 0u);
    map_memory(*s, kSecond, s->base + kBlock);
    const uint64_t sequence = give(*s);
    const auto fault = s->sink.wait_fault();
    CHECK_EQUAL(fault.sequence, sequence);
    CHECK_EQUAL(fault.status, status);
  };
  faults(400, [](Client& s) { return map_memory(s, kThird, s.base + 4 * kBlock); });
  faults(400, [](Client& s) { return map_memory(s, kSecond, s.base + 4 * kBlock); });  // mapped already
  faults(400, [](Client& s) { return drop_memory(s, kSecond); });
  faults(400, [](Client& s) { return drop_memory(s, kThird); });
  faults(1, [](Client& s) { return map_memory(s, kFirst, s.base); });  // reaches into the other
  faults(1, [](Client& s) { return map_memory(s, kFirst, s.base + 4 * kBlock + 4096); });
  faults(1, [](Client& s) { return map_memory(s, kFirst, s.base - kBlock); });
  faults(1, [](Client& s) { return map_memory(s, kFirst, s.base + kRange - kBlock); });
  faults(1, [](Client& s) { return map_memory(s, kFirst, ~uint64_t{0} - kBlock + 1); });
  faults(1, [](Client& s) { return free_block(s, s.base + kBlock + 4096); });
}

void held_memory_is_restored(const MakeClient& make) {
  const auto made = make(8 * kBlock);
  Client& s = *made;
  map_in_a_row(s, {kFirst, kSecond});  // ops 1 to 4
  CHECK_EQUAL(hold(s, kThird, 2 * kBlock), 0u);
  fill(s, s.base, 2 * kBlock, 1);
  s.synchronize();
  s.backend->commit();
  const Resources then{.allocations = {{s.base, kBlock, 2}, {s.base + kBlock, kBlock, 4}},
                       .held = {{kThird, 2 * kBlock}}};
  // Everything else than it was: the held one mapped, a block in the place of another, one more held.
  free_block(s, s.base + kBlock);
  map_memory(s, kThird, s.base + kBlock);
  CHECK_EQUAL(hold(s, 0x99, kBlock), 0u);
  fill(s, s.base, 3 * kBlock, 2);
  s.synchronize();
  restore(s, then);
  CHECK_EQUAL(s.backend->memory_used(), 4 * kBlock);
  CHECK_EQUAL(int{first_byte(s, s.base + kBlock)}, 1);  // its content, not the other's
  map_memory(s, kThird, s.base + 4 * kBlock);
  CHECK_EQUAL(hold(s, 0x99, kBlock), 0u);
  s.synchronize();
  restore(s, then);
  drop_memory(s, kThird);
  s.synchronize();
  CHECK_EQUAL(s.backend->memory_used(), 2 * kBlock);
  restore(s, then);
  CHECK_EQUAL(s.backend->memory_used(), 4 * kBlock);
  CHECK_EQUAL(hold(s, kThird, kBlock), 1u);  // it is there
  CHECK(s.sink.faults().empty());
}

void held_memory_is_restored_in_a_fresh_device(const MakeClient& make) {
  const auto made = make(8 * kBlock);
  Client& s = *made;
  restore(s,
          {.allocations = {{s.base, kBlock, 7}, {s.base + kBlock, kBlock, 9}}, .held = {{kThird, kBlock}}});
  const std::vector<uint8_t> content(2 * kBlock, 6);
  CHECK(s.backend->write(s.base, std::as_bytes(std::span(content))));
  map_memory(s, kThird, s.base + 2 * kBlock);
  fill(s, s.base + kBlock, 2 * kBlock, 8);
  s.synchronize();
  CHECK_EQUAL(int{first_byte(s, s.base)}, 6);
  CHECK_EQUAL(int{first_byte(s, s.base + 3 * kBlock - 1)}, 8);
  CHECK_EQUAL(s.backend->memory_used(), 3 * kBlock);
  std::string error;
  s.backend->fence();
  CHECK(!s.backend->restore({.held = {{kFirst, 9 * kBlock}}}, error));
  CHECK(!error.empty());
}

void held_memory_takes_the_addresses_of_freed_blocks(const MakeClient& make) {
  const auto made = make(0);
  Client& s = *made;
  map_in_a_row(s, {kFirst, kSecond});
  fill(s, s.base, 2 * kBlock, 1);
  s.synchronize();
  free_block(s, s.base);
  free_block(s, s.base + kBlock);
  CHECK_EQUAL(hold(s, kThird, 2 * kBlock), 0u);
  map_memory(s, kThird, s.base);
  fill(s, s.base, 2 * kBlock, 2);
  s.synchronize();
  CHECK_EQUAL(int{first_byte(s, s.base + kBlock)}, 2);
  restore(s, {.allocations = {{s.base, kBlock, 2}, {s.base + kBlock, kBlock, 4}}});
  CHECK_EQUAL(int{first_byte(s, s.base + kBlock)}, 1);
}

}  // namespace jitc::test
