// Memory, copies, fills, limits of the cuda device.
#include "harness.h"

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

CASE(memory_a_small_block_owns_its_granule) {
  Session s;
  CHECK_EQUAL(s.try_allocate(s.base, kBlock + 4096), 0u);
  CHECK_EQUAL(s.try_allocate(s.base + kBlock, 4096), 1u);
  CHECK_EQUAL(s.try_allocate(s.base + 2 * kBlock, 4096), 0u);
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
  faults([](Session& s, uint64_t a) { s.fill(a + 1, 4, 0, 0, 2); }, 1);
  faults([](Session& s, uint64_t a) { s.fill(a, 7, 0, 0, 2); }, 1);
  faults([](Session& s, uint64_t a) { s.fill(a, 9, 0, 0, 3); }, 1);
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

CASE(memory_bad_reads_are_results) {
  Session s;
  const uint64_t a = s.allocate(4096);
  CHECK_EQUAL(s.sink.wait_result(s.get(a + 4000, 200)).status, 700u);
  CHECK_EQUAL(s.sink.wait_result(s.get(a, (1u << 20) + 1)).status, 1u);
  CHECK_EQUAL(s.sink.wait_result(s.get(a, 8)).status, 0u);
  CHECK(s.sink.faults().empty());
}

CASE(memory_unknown_and_truncated_records) {
  Session s;
  ops::OpHeader bare{};
  const uint64_t unknown = s.give_record(&bare, sizeof bare, 0xeeee, 0, nullptr, 0);
  CHECK_EQUAL(s.sink.wait_fault().sequence, unknown);
  CHECK_EQUAL(s.sink.wait_fault().status, 801u);
  Session other({1});
  const auto id = static_cast<uint16_t>(ops::OpId::copy_d2h);
  CHECK_EQUAL(other.sink.wait_result(other.give_record(&bare, sizeof bare, id, 0, nullptr, 0)).status, 1u);
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

CASE(memory_the_driver_out_of_memory_is_a_result) {
  setenv("JITC_FAKE_MEMORY", std::to_string(8 * kBlock).c_str(), 1);
  Session s;
  CHECK_EQUAL(s.try_allocate(s.base, 9 * kBlock), 2u);
  CHECK_EQUAL(s.try_allocate(s.base, 8 * kBlock), 0u);
  CHECK_EQUAL(s.try_allocate(s.base + 8 * kBlock, 4096), 2u);
  CHECK_EQUAL(s.ask(ops::MemoryInfo{}).value<uint64_t>(), 0u);
  CHECK(s.sink.faults().empty());
}

CASE(memory_of_fewer_addresses_where_the_driver_gives_no_more) {
  setenv("JITC_FAKE_MEMORY", std::to_string(8 * kBlock).c_str(), 1);
  setenv("JITC_FAKE_FAIL", "cuMemAddressReserve:1=2,cuMemAddressReserve:2=2", 1);
  Session s;
  const uint64_t quarter = kRange / 4;
  CHECK_EQUAL(s.try_allocate(s.base + quarter - kBlock, kBlock), 0u);
  CHECK_EQUAL(s.try_allocate(s.base + quarter, kBlock), 1u);
  CHECK(s.sink.faults().empty());
}

CASE(memory_that_cannot_be_mapped_for_rdma_serves_all_the_same) {
  for (const char* const rdma : {"works", "refused"}) {
    setenv("JITC_FAKE_RDMA", rdma, 1);
    Session s;
    CHECK_EQUAL(s.try_allocate(s.base, kBlock), 0u);
    CHECK_EQUAL(s.try_allocate(s.base + kBlock, kBlock), 0u);
    CHECK(s.sink.faults().empty());
  }
}

CASE(memory_what_is_held_back_is_given_up_for_an_allocation) {
  setenv("JITC_FAKE_MEMORY", std::to_string(8 * kBlock).c_str(), 1);
  Session s;
  CHECK_EQUAL(s.try_allocate(s.base, 4 * kBlock), 0u);
  CHECK_EQUAL(s.try_allocate(s.base + 4 * kBlock, 4 * kBlock), 0u);
  s.release(s.base);
  CHECK_EQUAL(s.ask(ops::MemoryInfo{}).value<uint64_t>(), 4 * kBlock);
  CHECK_EQUAL(s.try_allocate(s.base + 8 * kBlock, 3 * kBlock), 0u);
  CHECK_EQUAL(s.try_allocate(s.base + 12 * kBlock, 2 * kBlock), 2u);
  CHECK_EQUAL(s.ask(ops::MemoryInfo{}).value<uint64_t>(), kBlock);
}

CASE(memory_a_commit_gives_freed_memory_back) {
  Session s;
  const uint64_t free_before = s.ask(ops::MemoryInfo{}).value<uint64_t>();
  const uint64_t a = s.allocate(4 * kBlock);
  s.release(a);
  s.synchronize();
  s.backend->commit();
  CHECK_EQUAL(s.backend->memory_used(), 0u);
  CHECK_EQUAL(s.ask(ops::MemoryInfo{}).value<uint64_t>(), free_before);
  CHECK_EQUAL(s.try_allocate(a, 4 * kBlock), 0u);  // its addresses too
}

CASE(memory_addresses_are_taken_again_only_when_nothing_uses_them) {
  Session s;
  const uint64_t a = s.allocate(kBlock), b = s.allocate(kBlock);
  s.fill(a, kBlock, 1);
  s.synchronize();
  StreamGate gate;
  s.copy(b, a, kBlock);  // held up: still uses the first block when its addresses are asked for
  s.release(a);
  std::thread opener([&] { gate.open(); });
  CHECK_EQUAL(s.try_allocate(a, kBlock), 0u);
  opener.join();
  s.fill(a, kBlock, 2);
  s.synchronize();
  CHECK_EQUAL(int{s.download<uint8_t>(b, 1)[0]}, 1);
  CHECK_EQUAL(int{s.download<uint8_t>(a, 1)[0]}, 2);
}

CASE(memory_more_is_on_its_way_than_fits_the_staging_memory) {
  Session s;
  const uint64_t a = s.allocate(1u << 20), b = s.allocate(1u << 20);
  const auto data = pattern(1u << 20);
  uint64_t last = 0;
  for (int i = 0; i < 120; ++i) {  // 120 MiB up: more than the pinned memory for it
    s.put(a, data);
    if (i % 10 == 0) s.copy(b, a, data.size());
  }
  last = s.get(b, data.size());
  CHECK(bytes_of(s.sink.wait_result(last)) == data);
  CHECK(s.sink.faults().empty());
}

CASE(memory_direct_access) {
  Session s;
  const uint64_t a = s.allocate(10u << 20);  // more than two pieces of a transfer
  const auto data = pattern(10u << 20);
  CHECK(s.backend->write(a, std::as_bytes(std::span(data))));
  CHECK(s.download<uint8_t>(a, data.size()) == data);
  CHECK(!s.backend->write(a + 1, std::as_bytes(std::span(data))));
}

}  // namespace jitc::test
