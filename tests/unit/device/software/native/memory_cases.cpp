// Memory, copies, restore: what only the software device has, or does in a way of its own.
#include <fstream>
#include <thread>

#include "device/software/device/device.h"
#include "harness.h"

namespace jitc::test {
namespace {
ops::CopyD2d d2d(uint64_t to, uint64_t from, uint64_t bytes) {
  ops::CopyD2d op;
  op.destination = to;
  op.source = from;
  op.bytes = bytes;
  return op;
}
ops::Fill fill(uint64_t address, uint64_t bytes, uint32_t value, uint32_t width) {
  ops::Fill op;
  op.address = address;
  op.bytes = bytes;
  op.value = value;
  op.width = width;
  return op;
}
ops::Free free_of(uint64_t address) {
  ops::Free op;
  op.address = address;
  return op;
}
/// Of this process.
size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}
uint32_t try_allocate(Session& session, uint64_t address, uint64_t bytes) {
  ops::Allocate op;
  op.address = address;
  op.bytes = bytes;
  return session.ask(op).status;
}
}  // namespace

CASE(memory_overlapping_copies_are_memmove) {
  Session s;
  std::vector<uint32_t> data(1000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint32_t>(i);
  for (const auto& [to, from] : {std::pair{0, 333}, {333, 0}, {1, 0}, {0, 1}}) {
    const uint64_t a = s.upload(data);
    auto expected = data;
    std::memmove(expected.data() + to, expected.data() + from, 600 * 4);
    s.give(d2d(a + static_cast<uint64_t>(to) * 4, a + static_cast<uint64_t>(from) * 4, 2400));
    s.synchronize();
    CHECK(s.download<uint32_t>(a, data.size()) == expected);
  }
}

CASE(memory_bad_address_is_a_fault_that_names_it) {
  Session s;
  const uint64_t a = s.allocate(4096);
  const uint64_t sequence = s.give(d2d(a, a + 8192, 16));
  const auto fault = s.sink.wait_fault();
  CHECK_EQUAL(fault.sequence, sequence);
  CHECK_EQUAL(fault.status, 700u);
  CHECK(fault.message.find("copy_d2d") != std::string::npos);
  CHECK(fault.message.find("0x") != std::string::npos);
  CHECK(!s.backend->idle());
  s.give(fill(a, 16, 1, 1));  // nothing runs any more
  s.backend->fence();
  s.backend->unfence();
  CHECK_EQUAL(int{s.download<uint8_t>(a, 1)[0]}, 0);
  s.give(fill(a, 16, 1, 1));
  CHECK(s.backend->idle());
  CHECK_EQUAL(int{s.download<uint8_t>(a, 1)[0]}, 1);
  CHECK_EQUAL(s.sink.faults().size(), 1u);
}

CASE(memory_free_waits_for_work_before_it) {
  Session s;
  constexpr uint64_t kLong = 32 << 10;  // a short copy may run before give() returns
  const uint64_t a = s.allocate(kBlock), b = s.allocate(kBlock);
  Gate gate;
  s.sink.on_injection = [&](const ops::OpHeader&, std::string_view) { gate.pass(); };
  s.give(d2d(b, a, kLong));
  s.give(d2d(b, a, kLong));
  s.give(free_of(a));
  s.give(d2d(b + 64, b, 16));
  std::thread opener([&] { gate.open(); });
  CHECK_EQUAL(try_allocate(s, a, kBlock), 0u);  // same place: comes after the copies
  opener.join();
  s.synchronize();
  CHECK(s.sink.faults().empty());
  s.give(d2d(b, a + 2 * kBlock, 16));
  CHECK_EQUAL(s.sink.wait_fault().status, 700u);
}

CASE(memory_restore_undoes_frees_and_allocations) {
  Session s;
  const uint64_t a = s.upload(std::vector<int>{1, 2, 3}), b = s.upload(std::vector<int>{4});
  s.backend->commit();
  s.give(free_of(a));
  CHECK_EQUAL(try_allocate(s, a, 4096), 0u);  // another one at the same place, of the same size
  CHECK_EQUAL(s.download<int>(a, 1)[0], 0);
  s.give(fill(a, 4096, 9, 1));
  s.give(free_of(a));
  CHECK_EQUAL(try_allocate(s, a, kBlock), 0u);
  const uint64_t c = s.allocate(4096);
  s.backend->fence();
  std::string error;
  CHECK(s.backend->restore({.allocations = {{a, 4096}, {b, 4096}}}, error));
  s.backend->unfence();
  CHECK((s.download<int>(a, 3) == std::vector<int>{1, 2, 3}));
  CHECK_EQUAL(s.download<int>(b, 1)[0], 4);
  std::byte byte;
  CHECK(!s.backend->read(c, {&byte, 1}));
  CHECK_EQUAL(s.backend->memory_used(), 2 * kBlock);  // it counts in units of a block
  s.give(fill(a, 4096, 7, 1));
  s.synchronize();
  CHECK_EQUAL(int{s.download<uint8_t>(a, 1)[0]}, 7);
}

CASE(memory_kept_of_freed_blocks_gives_way_to_the_program) {
  Session s(nullptr, 0, 4 * kBlock);
  const uint64_t a = s.upload(std::vector<int>{1}), b = s.upload(std::vector<int>{2});
  s.give(free_of(a));
  s.give(free_of(b));
  CHECK_EQUAL(try_allocate(s, s.base + 4 * kBlock, 3 * kBlock), 0u);  // one of the freed ones has to go
  CHECK_EQUAL(try_allocate(s, s.base + 8 * kBlock, 2 * kBlock), 2u);
  s.give(free_of(s.base + 4 * kBlock));
  s.backend->fence();
  std::string error;
  CHECK(s.backend->restore({.allocations = {{a, 4096}, {b, 4096}}}, error));
  CHECK_EQUAL(s.download<int>(a, 1)[0], 0);
  CHECK_EQUAL(s.download<int>(b, 1)[0], 2);
}

CASE(memory_of_thousands_of_small_blocks_takes_few_mappings) {
  constexpr uint64_t kCount = 3000;
  Session s(nullptr, 0, 8ull << 30);
  const size_t before = mappings();
  for (uint64_t i = 0; i < kCount; ++i) {  // every second one first: neighbours must still become one
    const uint64_t address = s.base + (2 * i < kCount ? 2 * i : 2 * i - kCount + 1) * kBlock;
    CHECK_EQUAL(try_allocate(s, address, 4096), 0u);
    CHECK(s.backend->write(address, std::as_bytes(std::span(&i, 1))));
  }
  CHECK(mappings() < before + 50);
  CHECK_EQUAL(s.download<uint64_t>(s.base + 2 * kBlock, 1)[0], 1u);
  std::byte byte;
  CHECK(!s.backend->read(s.base + 4096, {&byte, 1}));  // no block is there, whatever pages are
  Resources::Allocation kept{s.base, 4096};
  s.backend->fence();
  std::string error;
  CHECK(s.backend->restore({.allocations = {kept}}, error));
  CHECK(mappings() < before + 50);
}

CASE(memory_restore_takes_the_block_of_the_given_sequence) {
  Session s;
  const uint64_t a = s.upload(std::vector<int>{1});  // sequence 1
  s.give(free_of(a));
  CHECK_EQUAL(try_allocate(s, a, 4096), 0u);  // sequence 3
  s.give(fill(a, 4096, 5, 4));
  s.synchronize();
  std::string error;
  s.backend->fence();
  CHECK(s.backend->restore({.allocations = {{a, 4096, 3}}}, error));
  CHECK_EQUAL(s.download<int>(a, 1)[0], 5);
  CHECK(s.backend->restore({.allocations = {{a, 4096, 1}}}, error));
  CHECK_EQUAL(s.download<int>(a, 1)[0], 1);
}

CASE(memory_commit_lets_freed_memory_go) {
  Session s;
  const uint64_t a = s.upload(std::vector<int>{1});
  s.give(free_of(a));
  s.backend->commit();
  s.backend->fence();
  std::string error;
  CHECK(s.backend->restore({.allocations = {{a, 4096}}}, error));
  CHECK_EQUAL(s.download<int>(a, 1)[0], 0);  // made again, content gone
}

CASE(memory_restore_over_the_limit_fails) {
  Session s(nullptr, 0, 4 * kBlock);
  s.backend->fence();
  std::string error;
  CHECK(
      !s.backend->restore({.allocations = {{s.base, 3 * kBlock}, {s.base + 3 * kBlock, 2 * kBlock}}}, error));
  CHECK(error.find("limit") != std::string::npos);
  CHECK(!s.backend->restore({.allocations = {{s.base + 1, 4096}}}, error));
}

CASE(memory_hash_is_of_the_content) {
  Session s;
  const uint64_t a = s.upload(std::vector<int>(5000, 3)), b = s.upload(std::vector<int>(5000, 3));
  const Hash first = s.hash(a, 20000);
  CHECK(first != kNoHash && s.hash(b, 20000) == first && s.hash(a, 19999) != first);
  s.give(fill(b + 10000, 1, 4, 1));
  s.synchronize();
  const MemoryRange ranges[] = {{a, 20000}, {a, 1u << 20}, {b, 20000}, {b, 0}};
  std::array<Hash, 4> hashes;
  hashes.fill(first);
  s.backend->hash_all(ranges, hashes);  // what is not allocated has none, the others have
  CHECK(hashes[0] == first && hashes[1] == kNoHash && hashes[2] != first && hashes[2] != kNoHash);
  CHECK(hashes[3] == kNoHash);
}

CASE(device_broken_stays_broken) {
  Session s;
  const uint64_t a = s.allocate(4096);
  software::break_device(214);
  s.give(fill(a, 16, 1, 1));
  CHECK_EQUAL(s.sink.wait_fault().status, 214u);
  s.backend->fence();
  s.backend->unfence();
  s.give(ops::DeviceSynchronize{});
  software::break_device(0);
  CHECK_EQUAL(s.sink.faults().size(), 2u);
}
}  // namespace jitc::test
