// Memory, copies, fills, limits.
#include <thread>

#include "harness.h"

namespace jitc::test {

CASE(memory_copies_round_trip) {
  Session s;
  const uint64_t a = s.allocate(2 * kBlock), b = s.allocate(2 * kBlock);
  for (const size_t bytes : {size_t{1}, size_t{1000}, size_t{4096}, size_t{70'000}, size_t{1} << 20}) {
    const auto data = pattern(bytes);
    s.put(a + 8, data);
    s.copy(b, a + 8, bytes);
    const Reply reply = s.sink.wait_result(s.get(b, bytes));
    CHECK_EQUAL(reply.status, 0u);
    CHECK(reply.bytes() == data);
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

CASE(memory_slices) {
  Session s;
  const uint64_t a = s.allocate(4096), b = s.allocate(4096);
  s.put(a, pattern(4096));
  s.fill(b, 4096, 0);
  ops::Copy3d slices;
  slices.destination = b + 3;
  slices.destination_pitch = 16;
  slices.destination_slice = 100;  // not a whole number of rows
  slices.source = a + 5;
  slices.source_pitch = 50;
  slices.source_slice = 301;
  slices.width = 12;
  slices.height = 3;
  slices.depth = 4;
  s.give(slices);
  slices.depth = 0;
  s.give(slices);
  s.synchronize();
  const auto from = s.download<uint8_t>(a, 4096), to = s.download<uint8_t>(b, 4096);
  std::vector<uint8_t> wanted(4096);
  for (size_t slice = 0; slice < 4; ++slice)
    for (size_t row = 0; row < 3; ++row)
      for (size_t i = 0; i < 12; ++i)
        wanted[3 + slice * 100 + row * 16 + i] = from[5 + slice * 301 + row * 50 + i];
  CHECK(to == wanted);
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
  const auto slices = [](uint64_t slice, uint64_t depth) {
    return [=](Session& s, uint64_t a) {
      ops::Copy3d op{};
      op.destination = op.source = a;
      op.destination_pitch = op.source_pitch = op.width = 16;
      op.height = 4;
      op.destination_slice = op.source_slice = slice;
      op.depth = depth;
      s.give(op);
    };
  };
  faults(slices(63, 2), 1);
  faults(slices(uint64_t{1} << 40, uint64_t{1} << 40), 1);
  faults(slices(kBlock, 2), 700);
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
  CHECK(contains(fault.message, "not multiples of its width"));
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

CASE(memory_kept_of_freed_blocks_gives_way_to_the_program) {
  Session s({.limit = 4 * kBlock});
  const uint64_t a = s.allocate(kBlock), b = s.allocate(kBlock);  // ops 1 and 2
  s.fill(a, kBlock, 1);
  s.fill(b, kBlock, 2);
  s.release(a);
  s.release(b);
  CHECK_EQUAL(s.free_memory(), 4 * kBlock);
  const uint64_t large = s.base + 4 * kBlock;
  CHECK_EQUAL(s.try_allocate(large, 3 * kBlock), 0u);  // one of the freed ones has to go
  CHECK_EQUAL(s.try_allocate(s.base + 8 * kBlock, 2 * kBlock), 2u);
  CHECK_EQUAL(s.free_memory(), kBlock);
  s.release(large);
  s.synchronize();
  s.restore({.allocations = {{a, kBlock, 1}, {b, kBlock, 2}}});
  CHECK_EQUAL(int{s.byte(a)}, 0);
  CHECK_EQUAL(int{s.byte(b)}, 2);
}

CASE(memory_addresses_are_taken_again_only_when_nothing_uses_them) {
  Session s;
  const uint64_t a = s.allocate(kBlock), b = s.allocate(kBlock);
  s.fill(a, kBlock, 1);
  s.synchronize();
  StreamGate gate(s);
  s.copy(b, a, kBlock);  // held up: still uses the first block when its addresses are asked for
  s.release(a);
  s.copy(b + 64, b, 16);
  std::thread opener([&] { gate.open(); });
  CHECK_EQUAL(s.try_allocate(a, kBlock), 0u);
  opener.join();
  s.fill(a, kBlock, 2);
  s.synchronize();
  CHECK_EQUAL(int{s.byte(b)}, 1);
  CHECK_EQUAL(int{s.byte(a)}, 2);
  CHECK(s.sink.faults().empty());
}

CASE(memory_a_bad_address_is_a_fault_that_names_it_and_ends_with_a_fence) {
  Session s;
  const uint64_t a = s.allocate(4096);
  s.fill(a, 4096, 0);
  const uint64_t sequence = s.copy(a, a + kBlock, 16);
  const auto fault = s.sink.wait_fault();
  CHECK(fault.sequence == sequence && fault.status == 700u);
  for (const char* const part : {"copy_d2d", "0x"}) CHECK(contains(fault.message, part));
  CHECK(!s.backend->idle());
  s.fill(a, 16, 1);  // nothing runs any more
  s.backend->fence();
  s.backend->unfence();
  CHECK_EQUAL(int{s.byte(a)}, 0);
  s.fill(a, 16, 1);
  CHECK(s.backend->idle());
  CHECK_EQUAL(int{s.byte(a)}, 1);
  CHECK_EQUAL(s.sink.faults().size(), 1u);
}

CASE(memory_a_small_block_owns_its_granule) {
  Session s;
  CHECK_EQUAL(s.try_allocate(s.base, kBlock + 4096), 0u);
  CHECK_EQUAL(s.try_allocate(s.base + kBlock, 4096), 1u);
  CHECK_EQUAL(s.try_allocate(s.base + 2 * kBlock, 4096), 0u);
}

}  // namespace jitc::test
