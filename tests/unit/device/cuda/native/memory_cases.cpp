// Memory: what only the cuda device has.
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

CASE(memory_a_fill_that_is_not_aligned_is_a_fault) {
  Session s;
  const uint64_t a = s.allocate(4096);
  s.fill(a + 1, 4, 0, 0, 2);
  CHECK_EQUAL(s.sink.wait_fault().status, 1u);
}

CASE(memory_a_small_block_owns_its_granule) {
  Session s;
  CHECK_EQUAL(s.try_allocate(s.base, kBlock + 4096), 0u);
  CHECK_EQUAL(s.try_allocate(s.base + kBlock, 4096), 1u);
  CHECK_EQUAL(s.try_allocate(s.base + 2 * kBlock, 4096), 0u);
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

CASE(memory_that_cannot_be_mapped_for_rdma_or_exported_serves_all_the_same) {
  for (const char* const rdma : {"works", "refused"})
    for (const char* const exports : {"none", "works", "refused"}) {
      setenv("JITC_FAKE_RDMA", rdma, 1);
      setenv("JITC_FAKE_EXPORTS", exports, 1);
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
