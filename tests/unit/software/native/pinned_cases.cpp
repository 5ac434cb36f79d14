// Pinned memory that the program shares, on the software device.
#include <thread>

#include "base/checksum.h"
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

CASE(pinned_results_are_written_and_hashed) {
  PinnedMap map;
  Session s(nullptr, 0, 1u << 30, "", map.range);
  const uint64_t a = s.upload(letters("abc"));
  const Reply reply = s.ask(d2h(map.range.base + 5, a, 3));
  CHECK_EQUAL(reply.status, 0u);
  CHECK_EQUAL(map.text(4, 5), std::string("\0abc\0", 5));
  const auto hash = hash_bytes(std::as_bytes(std::span("abc", 3)));
  CHECK(reply.value<Hash>() == hash && reply.payload.size() == hash.size());
}

CASE(pinned_results_that_the_program_has_are_only_hashed) {
  PinnedMap map;
  Session s(nullptr, 0, 1u << 30, "", map.range);
  const uint64_t a = s.upload(letters("abc"));  // op 1
  const Reply first = s.ask(d2h(map.range.base, a, 3));
  map.write(0, "xyz");
  s.sink.known = 3;
  const Reply again = s.ask(d2h(map.range.base, a, 3));
  CHECK(again.payload == first.payload);
  CHECK_EQUAL(map.text(0, 3), std::string("xyz"));
}

CASE(pinned_copies_outside_of_it_are_refused) {
  PinnedMap map;
  Session s(nullptr, 0, 1u << 30, "", map.range);
  const uint64_t a = s.allocate(4096);
  const uint64_t end = map.range.base + map.range.bytes;
  for (const uint64_t to : {map.range.base - 1, end - 7, end, uint64_t{0}, UINT64_MAX - 3, a})
    CHECK_EQUAL(s.ask(d2h(to, a, 8)).status, 1u);
  CHECK_EQUAL(s.ask(d2h(map.range.base, a + 4090, 8)).status, 700u);
  Session without(nullptr, 1);
  const uint64_t b = without.allocate(4096);
  CHECK_EQUAL(without.ask(d2h(map.range.base, b, 8)).status, 1u);
  CHECK_EQUAL(without.ask(host_register(map.range.base, 4096)).status, 1u);
  CHECK(s.sink.faults().empty() && without.sink.faults().empty());
}

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

CASE(pinned_ranges_stay_until_what_was_given_is_done) {
  PinnedMap map;
  Session s(nullptr, 0, 1u << 30, "", map.range);
  const uint64_t a = s.allocate(4096), pinned = map.range.base;
  map.write(0, "slow");
  CHECK_EQUAL(s.ask(host_register(pinned, 4096)).status, 0u);
  Gate gate;
  s.sink.on_injection = [&](const ops::OpHeader&, std::string_view) { gate.pass(); };
  s.give(d2d(a, pinned, 2));
  s.give(d2d(a + 2, pinned + 2, 2));
  std::thread opener([&] { gate.open(); });
  CHECK_EQUAL(s.ask(host_unregister(pinned)).status, 0u);
  opener.join();
  CHECK(s.download<char>(a, 4) == letters("slow"));
  CHECK(s.sink.faults().empty());
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
