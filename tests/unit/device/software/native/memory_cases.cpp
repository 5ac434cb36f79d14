// Memory and copies: what only the software device has, or does in a way of its own.
#include <fstream>

#include "device/software/device/device.h"
#include "harness.h"
#include "pinned_ops.h"

namespace jitc::test {
namespace {
/// Of this process.
size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
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
    s.copy(a + static_cast<uint64_t>(to) * 4, a + static_cast<uint64_t>(from) * 4, 2400);
    s.synchronize();
    CHECK(s.download<uint32_t>(a, data.size()) == expected);
  }
}

CASE(memory_of_thousands_of_small_blocks_takes_few_mappings) {
  constexpr uint64_t kCount = 3000;
  Session s({.limit = 8ull << 30});
  const size_t before = mappings();
  for (uint64_t i = 0; i < kCount; ++i) {  // every second one first: neighbours must still become one
    const uint64_t address = s.base + (2 * i < kCount ? 2 * i : 2 * i - kCount + 1) * kBlock;
    CHECK_EQUAL(s.try_allocate(address, 4096), 0u);
    CHECK(s.backend->write(address, std::as_bytes(std::span(&i, 1))));
  }
  CHECK(mappings() < before + 50);
  CHECK_EQUAL(s.download<uint64_t>(s.base + 2 * kBlock, 1)[0], 1u);
  std::byte byte;
  CHECK(!s.backend->read(s.base + 4096, {&byte, 1}));  // no block is there, whatever pages are
  s.restore({.allocations = {{s.base, 4096}}});
  CHECK(mappings() < before + 50);
}

CASE(memory_of_the_program_is_an_operand_while_it_is_registered) {
  PinnedMap map;
  Session s({.pinned = map.range});
  const uint64_t a = s.allocate(4096), pinned = map.range.base + 4096, other = pinned + 4096;
  const std::string text = "from the program";
  const auto check_copied = [&](uint64_t from) {
    s.copy(a, from, text.size());
    s.synchronize();
    const auto got = s.download<char>(a, text.size());
    CHECK_EQUAL(std::string(got.begin(), got.end()), text);
  };
  map.write(4096, text);
  map.write(8192, text);
  CHECK_EQUAL(s.ask(host_register(pinned, 4096)).status, 0u);
  CHECK_EQUAL(s.ask(host_register(pinned - 4096, 8192)).status, 1u);
  CHECK_EQUAL(s.ask(host_register(pinned, 4096)).status, 1u);
  check_copied(pinned);
  s.restore({.allocations = {{a, 4096}}, .host_ranges = {{other, 4096}}});
  check_copied(other);
  CHECK_EQUAL(s.ask(host_unregister(pinned)).status, 1u);
  s.copy(a, pinned, 16);
  CHECK_EQUAL(s.sink.wait_fault().status, 700u);
}

CASE(memory_hash_is_of_the_content) {
  Session s;
  const uint64_t a = s.upload(std::vector<int>(5000, 3)), b = s.upload(std::vector<int>(5000, 3));
  const Hash first = s.hash(a, 20000);
  CHECK(first != kNoHash && s.hash(b, 20000) == first && s.hash(a, 19999) != first);
  s.fill(b + 10000, 1, 4);
  s.synchronize();
  const MemoryRange ranges[] = {{a, 20000}, {a, 1u << 20}, {b, 20000}, {b, 0}};
  std::array<Hash, 4> hashes;
  hashes.fill(first);
  s.backend->hash_all(ranges, hashes);  // what is not allocated has none, the others have
  CHECK(hashes[0] == first && hashes[1] == kNoHash && hashes[2] != first && hashes[2] != kNoHash);
  CHECK(hashes[3] == kNoHash);
}

CASE(held_copies_over_blocks_that_a_later_free_takes) {
  Session s;
  const uint64_t a = s.base, other = a + 8 * kBlock;
  for (const uint64_t handle : {1, 2}) {
    CHECK_EQUAL(s.hold(handle, kBlock), 0u);
    s.map(handle, a + (handle - 1) * kBlock);
  }
  const std::vector<uint8_t> data(2 * kBlock, 5);
  CHECK(s.backend->write(a, std::as_bytes(std::span(data))));
  CHECK_EQUAL(s.try_allocate(other, 2 * kBlock), 0u);
  Gate gate;
  s.sink.on_injection = [&](const ops::OpHeader&, std::string_view) { gate.pass(); };
  s.copy(other, a, 2 * kBlock);
  s.copy(other, a, 2 * kBlock);  // looks its memory up after the free was placed
  s.release(a + kBlock);
  gate.open();
  s.synchronize();
  CHECK(s.sink.faults().empty());
  CHECK(s.download<uint8_t>(other, 2 * kBlock) == data);
}

CASE(device_broken_stays_broken) {
  Session s;
  const uint64_t a = s.allocate(4096);
  software::break_device(214);
  s.fill(a, 16, 1);
  CHECK_EQUAL(s.sink.wait_fault().status, 214u);
  s.backend->fence();
  s.backend->unfence();
  s.give(ops::DeviceSynchronize{});
  software::break_device(0);
  CHECK_EQUAL(s.sink.faults().size(), 2u);
}
}  // namespace jitc::test
