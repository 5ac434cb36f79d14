// Memory, held memory and restores: what only the cuda device has.
#include "harness.h"

namespace jitc::test {

CASE(memory_the_driver_out_of_memory_is_a_result) {
  setenv("JITC_FAKE_MEMORY", std::to_string(8 * kBlock).c_str(), 1);
  Session s;
  CHECK_EQUAL(s.try_allocate(s.base, 9 * kBlock), 2u);
  CHECK_EQUAL(s.try_allocate(s.base, 8 * kBlock), 0u);
  CHECK_EQUAL(s.try_allocate(s.base + 8 * kBlock, 4096), 2u);
  CHECK_EQUAL(s.free_memory(), 0u);
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
  CHECK(s.sink.wait_result(last).bytes() == data);
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

CASE(held_gets_what_is_held_back) {
  setenv("JITC_FAKE_MEMORY", std::to_string(8 * kBlock).c_str(), 1);
  Session s;
  CHECK_EQUAL(s.hold(1, 6 * kBlock), 0u);
  s.map(1, s.base);
  s.release(s.base);
  CHECK_EQUAL(s.hold(2, 7 * kBlock), 0u);  // the freed block's memory is given up
  CHECK_EQUAL(s.hold(3, 2 * kBlock), 2u);
  CHECK(s.sink.faults().empty());
}

CASE(held_that_the_driver_does_not_map_is_a_fault) {
  prepare_failures();
  Session s;
  CHECK_EQUAL(s.hold(1, kBlock), 0u);
  ask_for_failures("cuMemMap:1=999");
  const uint64_t sequence = s.map(1, s.base);
  const auto fault = s.sink.wait_fault();
  CHECK_EQUAL(fault.sequence, sequence);
  CHECK(contains(fault.message, "cuMemMap"));
  CHECK_EQUAL(s.backend->memory_used(), 0u);
}

CASE(restore_that_the_driver_has_no_memory_for_says_so) {
  setenv("JITC_FAKE_MEMORY", std::to_string(4 * kBlock).c_str(), 1);
  Session s;
  const std::string error = s.refused_restore({.allocations = {{kBase, 5 * kBlock, 1}}});
  CHECK(contains(error, "memory"));
  s.refused_restore({.streams = {{0x1001, 77, 0}}});
  s.restore({.allocations = {{kBase, 4 * kBlock, 1}}});
}

CASE(restore_waits_for_memory_that_a_lost_worker_had) {
  prepare_failures();
  std::string written;
  const int status = run_child(
      [] {
        Session s({0, 0, 5});
        ask_for_failures("cuMemCreate:1=2,cuMemCreate:2=2,cuMemCreate:3=2");
        s.restore({.allocations = {{kBase, kBlock, 1}}});
        CHECK_EQUAL(s.backend->memory_used(), kBlock);
      },
      written);
  CHECK_EQUAL(status, 0);
  CHECK(contains(written, "s for memory that a lost worker had"));
}

CASE(restore_does_not_wait_for_ever) {
  prepare_failures();
  Session s({0, 0, 0.2});
  ask_for_failures("cuMemCreate:1+=2");
  const std::string error = s.refused_restore({.allocations = {{kBase, kBlock, 1}}});
  CHECK(contains(error, "no memory for all allocations to restore"));
}

}  // namespace jitc::test
