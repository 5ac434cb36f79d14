// Memory that is held first and mapped later: what only this device has.
#include <thread>

#include "harness.h"
#include "held_memory.h"

namespace jitc::test {
CASE(held_waits_for_the_addresses_of_what_is_in_use) {
  Session s;
  const uint64_t a = s.upload(std::vector<uint8_t>(kBlock, 7)), b = s.allocate(kBlock);
  CHECK_EQUAL(hold(s, 1, kBlock), 0u);
  Gate gate;
  s.sink.on_injection = [&](const ops::OpHeader&, std::string_view) { gate.pass(); };
  ops::CopyD2d copy;
  copy.destination = b;
  copy.source = a;
  copy.bytes = kBlock;
  s.give(copy);
  ops::Free gone;
  gone.address = a;
  s.give(gone);
  std::thread opener([&] { gate.open(); });
  map_memory(s, 1, a);
  opener.join();
  s.synchronize();
  CHECK(s.sink.faults().empty());
  CHECK_EQUAL(int{s.download<uint8_t>(b, kBlock)[kBlock - 1]}, 7);
  CHECK_EQUAL(int{s.download<uint8_t>(a, 1)[0]}, 0);
}

CASE(held_copies_over_blocks_that_a_later_free_takes) {
  Session s;
  const uint64_t a = s.base;
  CHECK_EQUAL(hold(s, 1, kBlock), 0u);
  CHECK_EQUAL(hold(s, 2, kBlock), 0u);
  map_memory(s, 1, a);
  map_memory(s, 2, a + kBlock);
  const std::vector<uint8_t> data(2 * kBlock, 5);
  CHECK(s.backend->write(a, std::as_bytes(std::span(data))));
  ops::Allocate other;
  other.address = a + 8 * kBlock;
  other.bytes = 2 * kBlock;
  CHECK_EQUAL(s.ask(other).status, 0u);
  Gate gate;
  s.sink.on_injection = [&](const ops::OpHeader&, std::string_view) { gate.pass(); };
  ops::CopyD2d copy;
  copy.destination = other.address;
  copy.source = a;
  copy.bytes = 2 * kBlock;
  s.give(copy);
  s.give(copy);  // looks its memory up after the free was placed
  ops::Free gone;
  gone.address = a + kBlock;
  s.give(gone);
  gate.open();
  s.synchronize();
  CHECK(s.sink.faults().empty());
  CHECK(s.download<uint8_t>(other.address, 2 * kBlock) == data);
}

}  // namespace jitc::test
