// Pinned memory that the program shares: what only the software device has.
#include "harness.h"
#include "pinned_ops.h"

namespace jitc::test {
namespace {
ops::CopyD2d d2d(uint64_t to, uint64_t from, uint64_t bytes) {
  ops::CopyD2d op;
  op.destination = to;
  op.source = from;
  op.bytes = bytes;
  return op;
}
std::vector<char> letters(std::string_view text) { return {text.begin(), text.end()}; }
}  // namespace

CASE(pinned_ranges_are_operands_while_they_are_registered) {
  PinnedMap map;
  Session s(nullptr, 0, 1u << 30, "", map.range);
  const uint64_t a = s.allocate(4096), pinned = map.range.base + 4096;
  map.write(4096, "from the program");
  CHECK_EQUAL(s.ask(host_register(pinned, 4096)).status, 0u);
  CHECK_EQUAL(s.ask(host_register(pinned - 4096, 8192)).status, 1u);
  CHECK_EQUAL(s.ask(host_register(pinned, 4096)).status, 1u);
  s.give(d2d(a, pinned, 16));
  s.synchronize();
  CHECK(s.download<char>(a, 16) == letters("from the program"));
  CHECK_EQUAL(s.ask(host_unregister(pinned)).status, 0u);
  CHECK_EQUAL(s.ask(host_unregister(pinned)).status, 1u);
  s.give(d2d(a, pinned, 16));
  CHECK_EQUAL(s.sink.wait_fault().status, 700u);
}

CASE(pinned_ranges_are_those_of_the_state_that_comes_back) {
  PinnedMap map;
  Session s(nullptr, 0, 1u << 30, "", map.range);
  const uint64_t a = s.allocate(4096), first = map.range.base, second = first + 8192;
  CHECK_EQUAL(s.ask(host_register(first, 4096)).status, 0u);
  s.backend->fence();
  std::string error;
  CHECK(s.backend->restore({.allocations = {{a, 4096}}, .host_ranges = {{second, 4096}}}, error));
  s.backend->unfence();
  map.write(8192, "back");
  s.give(d2d(a, second, 4));
  s.synchronize();
  CHECK(s.download<char>(a, 4) == letters("back"));
  s.give(d2d(a, first, 4));
  CHECK_EQUAL(s.sink.wait_fault().status, 700u);
}

}  // namespace jitc::test
