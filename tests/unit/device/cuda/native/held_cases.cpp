// Memory that is held first and mapped later: what only this device has.
#include <thread>

#include "harness.h"
#include "held_memory.h"

namespace jitc::test {
CASE(held_waits_for_the_addresses_of_what_is_in_use) {
  Session s;
  const uint64_t a = s.allocate(kBlock), b = s.allocate(kBlock);
  CHECK_EQUAL(hold(s, 1, kBlock), 0u);
  s.fill(a, kBlock, 1);
  s.synchronize();
  StreamGate gate;
  s.copy(b, a, kBlock);  // held up: still uses the first block when its addresses are asked for
  s.release(a);
  std::thread opener([&] { gate.open(); });
  map_memory(s, 1, a);
  opener.join();
  s.fill(a, kBlock, 2);
  s.synchronize();
  CHECK_EQUAL(int{s.download<uint8_t>(b, 1)[0]}, 1);
  CHECK_EQUAL(int{s.download<uint8_t>(a, 1)[0]}, 2);
}

CASE(held_gets_what_is_held_back) {
  setenv("JITC_FAKE_MEMORY", std::to_string(8 * kBlock).c_str(), 1);
  Session s;
  CHECK_EQUAL(hold(s, 1, 6 * kBlock), 0u);
  map_memory(s, 1, s.base);
  s.release(s.base);
  CHECK_EQUAL(hold(s, 2, 7 * kBlock), 0u);  // the freed block's memory is given up
  CHECK_EQUAL(hold(s, 3, 2 * kBlock), 2u);
  CHECK(s.sink.faults().empty());
}

CASE(held_that_the_driver_does_not_map_is_a_fault) {
  prepare_failures();
  Session s;
  CHECK_EQUAL(hold(s, 1, kBlock), 0u);
  ask_for_failures("cuMemMap:1=999");
  const uint64_t sequence = map_memory(s, 1, s.base);
  const auto fault = s.sink.wait_fault();
  CHECK_EQUAL(fault.sequence, sequence);
  CHECK(fault.message.find("cuMemMap") != std::string::npos);
  CHECK_EQUAL(s.backend->memory_used(), 0u);
}

}  // namespace jitc::test
