// Memory, copies, fills, limits.
#include "harness.h"
#include "held_memory.h"

namespace jitc::test {
namespace {
std::vector<uint8_t> pattern(size_t bytes, uint8_t start = 1) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(start + i * 7 + i / 251);
  return data;
}

std::vector<uint8_t> bytes_of(const Reply& reply) {
  std::vector<uint8_t> bytes(reply.payload.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), reply.payload.data(), bytes.size());
  return bytes;
}

std::unique_ptr<Client> make(uint64_t limit) { return std::make_unique<Session>(Options{.limit = limit}); }
}  // namespace

CASE(memory_copies_round_trip) {
  Session s;
  const uint64_t a = s.allocate(2 * kBlock), b = s.allocate(2 * kBlock);
  for (const size_t bytes : {size_t{1}, size_t{1000}, size_t{4096}, size_t{70'000}, size_t{1} << 20}) {
    const auto data = pattern(bytes);
    s.put(a + 8, data);
    s.copy(b, a + 8, bytes);
    const Reply reply = s.sink.wait_result(s.get(b, bytes));
    CHECK_EQUAL(reply.status, 0u);
    CHECK(bytes_of(reply) == data);
  }
  CHECK(s.sink.faults().empty());
}

CASE(memory_copies_of_nothing_are_done) {
  Session s;
  s.put(0, {});
  s.copy(0, 0, 0);
  s.fill(0, 0, 0);
  const Reply reply = s.sink.wait_result(s.get(0, 0));
  CHECK_EQUAL(reply.status, 0u);
  CHECK(reply.payload.empty() && s.sink.faults().empty());
}

CASE(memory_fill_and_2d) {
  Session s;
  const uint64_t a = s.allocate(4096), b = s.allocate(4096);
  s.fill(b, 4096, 0);
  s.fill(a, 4096, 0x01020304, 0, 4);
  s.fill(a + 100, 10, 0xabcd, 0, 2);
  s.fill(a + 7, 1, 0xff);
  ops::Copy2d rows;
  rows.destination = b;
  rows.destination_pitch = 16;
  rows.source = a;
  rows.source_pitch = 50;
  rows.width = 12;
  rows.height = 3;
  s.give(rows);
  s.synchronize();
  const auto from = s.download<uint8_t>(a, 4096), to = s.download<uint8_t>(b, 4096);
  CHECK_EQUAL(int{from[0]}, 4);
  CHECK_EQUAL(int{from[7]}, 0xff);
  CHECK_EQUAL(int{from[100]}, 0xcd);
  CHECK_EQUAL(int{from[109]}, 0xab);
  for (size_t row = 0; row < 3; ++row)
    for (size_t i = 0; i < 16; ++i) CHECK_EQUAL(int{to[row * 16 + i]}, i < 12 ? int{from[row * 50 + i]} : 0);
}

CASE(memory_bad_allocations_are_refused) {
  Session s;
  CHECK_EQUAL(s.try_allocate(s.base, kBlock), 0u);
  const std::pair<uint64_t, uint64_t> bad[] = {{s.base, 4096},
                                               {s.base + kBlock, 0},
                                               {s.base + kBlock, 100},
                                               {s.base + kBlock + 4096, 4096},
                                               {s.base - kBlock, 2 * kBlock},
                                               {0, 4096},
                                               {s.base + kBlock, ~uint64_t{4095}},
                                               {UINT64_MAX - kBlock + 1, kBlock},
                                               {s.base + kRange - kBlock, 2 * kBlock}};
  for (const auto& [address, bytes] : bad) CHECK_EQUAL(s.try_allocate(address, bytes), 1u);
  CHECK_EQUAL(s.try_allocate(s.base + kBlock, 4096), 0u);
  CHECK_EQUAL(s.backend->memory_used(), 2 * kBlock);
  CHECK(s.sink.faults().empty());
}

CASE(memory_bad_ranges_are_faults_not_crashes) {
  const auto faults = [](const std::function<void(Session&, uint64_t)>& give, uint32_t status) {
    Session s;
    const uint64_t a = s.allocate(4096);
    give(s, a);
    const auto fault = s.sink.wait_fault();
    CHECK_EQUAL(fault.status, status);
    CHECK_EQUAL(fault.sequence, s.sequence());
  };
  faults([](Session& s, uint64_t a) { s.put(a + 4090, pattern(100)); }, 700);
  faults([](Session& s, uint64_t a) { s.copy(a, a + kBlock, 8); }, 700);
  faults([](Session& s, uint64_t a) { s.copy(a, a, ~uint64_t{0}); }, 700);
  faults([](Session& s, uint64_t a) { s.fill(a, 8192, 0); }, 700);
  faults([](Session& s, uint64_t a) { s.fill(a, 7, 0, 0, 2); }, 1);
  faults([](Session& s, uint64_t a) { s.fill(a, 9, 0, 0, 3); }, 1);
  faults([](Session& s, uint64_t a) { s.fill(a, 8, 0, 0, 0); }, 1);
  faults([](Session& s, uint64_t a) { s.fill(a + 1, 8, 0, 0, 2); }, 1);
  faults([](Session& s, uint64_t a) { s.fill(a + 2, 8, 0, 0, 4); }, 1);
  faults([](Session& s, uint64_t a) { s.fill(a + 2, 0, 0, 0, 4); }, 1);
  faults([](Session& s, uint64_t a) { s.release(a + 4096); }, 1);
  faults(
      [](Session& s, uint64_t a) {
        ops::Copy2d rows{};
        rows.destination = rows.source = a;
        rows.destination_pitch = rows.source_pitch = rows.width = uint64_t{1} << 40;
        rows.height = uint64_t{1} << 40;
        s.give(rows);
      },
      1);
  faults(
      [](Session& s, uint64_t a) {
        ops::CopyH2d op;
        op.address = a;
        op.bytes = 4096;
        s.give(op, 0, "short", 5);
      },
      1);
}

CASE(memory_fills_that_are_refused_change_nothing) {
  Session s;
  const uint64_t a = s.allocate(4096);
  s.fill(a, 4096, 5);
  s.fill(a + 2, 4, 0xffffffff, 0, 4);
  const auto fault = s.sink.wait_fault();
  CHECK(fault.message.find("not multiples of its width") != std::string::npos);
  s.backend->fence();
  std::vector<uint8_t> content(4096);
  CHECK(s.backend->read(a, std::as_writable_bytes(std::span(content))));
  CHECK(content == std::vector<uint8_t>(4096, 5));
}

CASE(memory_bad_reads_are_results) {
  Session s;
  const uint64_t a = s.allocate(4096);
  CHECK_EQUAL(s.sink.wait_result(s.get(a + 4000, 200)).status, 700u);
  CHECK_EQUAL(s.sink.wait_result(s.get(a, (1u << 20) + 1)).status, 1u);
  CHECK_EQUAL(s.sink.wait_result(s.get(a, 8)).status, 0u);
  CHECK(s.sink.faults().empty());
}

CASE(memory_limit_is_shared_and_reported) {
  const auto budget = std::make_shared<LocalBudget>();
  Session first({.slot = 0, .limit = 8 * kBlock, .budget = budget});
  Session second({.slot = 1, .limit = 8 * kBlock, .budget = budget});
  CHECK_EQUAL(first.try_allocate(first.base, 5 * kBlock), 0u);
  CHECK_EQUAL(second.try_allocate(second.base, 4 * kBlock), 2u);
  CHECK_EQUAL(second.try_allocate(second.base, 3 * kBlock), 0u);
  CHECK_EQUAL(second.try_allocate(second.base + 3 * kBlock, 4096), 2u);
  CHECK_EQUAL(second.ask(ops::MemoryInfo{}).value<uint64_t>(), 0u);
  CHECK_EQUAL(second.ask(ops::MemoryInfo{}).value<uint64_t>(8), 8 * kBlock);
  first.release(first.base);
  CHECK_EQUAL(second.ask(ops::MemoryInfo{}).value<uint64_t>(), 5 * kBlock);
  CHECK_EQUAL(second.backend->memory_used(), 3 * kBlock);
  CHECK(first.sink.faults().empty() && second.sink.faults().empty());
}

CASE(held_becomes_blocks_that_are_as_one) { held_memory_becomes_blocks_that_are_as_one(make); }
CASE(held_counts_and_can_be_given_up) { held_memory_counts_and_can_be_given_up(make); }
CASE(held_bad_ops_are_refused) { held_memory_bad_ops_are_refused(make); }
CASE(held_is_restored) { held_memory_is_restored(make); }
CASE(held_is_restored_in_a_fresh_device) { held_memory_is_restored_in_a_fresh_device(make); }
CASE(held_takes_the_addresses_of_freed_blocks) { held_memory_takes_the_addresses_of_freed_blocks(make); }

}  // namespace jitc::test
