// Pinned memory that the program shares.
#include <thread>

#include "base/checksum.h"
#include "harness.h"
#include "pinned_ops.h"

namespace jitc::test {
namespace {
std::vector<char> letters(std::string_view text) { return {text.begin(), text.end()}; }
}  // namespace

CASE(pinned_results_are_written_and_hashed) {
  PinnedMap map;
  Session s({.pinned = map.range});
  const uint64_t a = s.upload(letters("abc"));
  CHECK_EQUAL(s.ask(host_register(map.range.base, 4096)).status, 0u);
  const Reply reply = s.ask(d2h(map.range.base + 5, a, 3));
  CHECK_EQUAL(reply.status, 0u);
  CHECK_EQUAL(map.text(4, 5), std::string("\0abc\0", 5));
  const auto hash = hash_bytes(std::as_bytes(std::span("abc", 3)));
  CHECK(reply.value<Hash>() == hash && reply.payload.size() == hash.size());
  CHECK_EQUAL(s.ask(d2h(map.range.base, a, 0)).status, 0u);
}

CASE(pinned_results_that_the_program_has_are_only_hashed) {
  PinnedMap map;
  Session s({.pinned = map.range});
  const uint64_t a = s.upload(letters("abc"));
  const Reply first = s.ask(d2h(map.range.base, a, 3));
  map.write(0, "xyz");
  s.sink.known = s.sequence() + 1;
  const Reply again = s.ask(d2h(map.range.base, a, 3));
  CHECK(again.payload == first.payload);
  CHECK_EQUAL(map.text(0, 3), std::string("xyz"));
}

CASE(pinned_copies_outside_of_it_are_refused) {
  PinnedMap map;
  Session s({.pinned = map.range});
  const uint64_t a = s.allocate(4096);
  const uint64_t end = map.range.base + map.range.bytes;
  for (const uint64_t to : {map.range.base - 1, end - 7, end, uint64_t{0}, UINT64_MAX - 3, a})
    CHECK_EQUAL(s.ask(d2h(to, a, 8)).status, 1u);
  CHECK_EQUAL(s.ask(d2h(map.range.base, a + 4090, 8)).status, 700u);
  const std::pair<uint64_t, uint64_t> bad[] = {
      {end, 4096}, {map.range.base + 1, 4096}, {map.range.base, 100}, {map.range.base, 0}, {a, 4096}};
  for (const auto& [address, bytes] : bad) CHECK_EQUAL(s.ask(host_register(address, bytes)).status, 1u);
  CHECK_EQUAL(s.ask(host_unregister(map.range.base)).status, 1u);
  Session without({.slot = 1});
  const uint64_t b = without.allocate(4096);
  CHECK_EQUAL(without.ask(d2h(map.range.base, b, 8)).status, 1u);
  CHECK_EQUAL(without.ask(host_register(map.range.base, 4096)).status, 1u);
  CHECK(s.sink.faults().empty() && without.sink.faults().empty());
}

CASE(pinned_results_have_a_limit) {
  PinnedMap map;
  Session s({.pinned = map.range});
  const uint64_t most = 1u << 20, a = s.allocate(2 * kBlock);
  s.fill(a, most + 1, 7);
  map.write(most, "x");
  CHECK_EQUAL(s.ask(d2h(map.range.base, a, most)).status, 0u);
  CHECK_EQUAL(map.text(most - 1, 2), std::string("\7x"));
  map.write(0, "untouched");
  const Reply refused = s.ask(d2h(map.range.base, a, most + 1));
  CHECK_EQUAL(refused.status, 1u);
  const auto* const text = reinterpret_cast<const char*>(refused.payload.data());
  CHECK(std::string_view(text, refused.payload.size()).find("more than 1 MiB") != std::string_view::npos);
  CHECK_EQUAL(map.text(0, 9), std::string("untouched"));
  CHECK(s.sink.faults().empty());
}

CASE(pinned_ranges_are_those_of_the_state_that_comes_back) {
  PinnedMap map;
  Session s({.pinned = map.range});
  const uint64_t first = map.range.base, second = first + 8192, third = first + 16384;
  CHECK_EQUAL(s.ask(host_register(first, 4096)).status, 0u);
  CHECK_EQUAL(s.ask(host_register(second, 4096)).status, 0u);
  s.restore({.host_ranges = {{second, 4096}, {third, 4096}}});
  CHECK_EQUAL(s.ask(host_unregister(first)).status, 1u);
  CHECK_EQUAL(s.ask(host_unregister(second)).status, 0u);
  CHECK_EQUAL(s.ask(host_unregister(third)).status, 0u);
}

CASE(pinned_ranges_stay_until_what_was_given_is_done) {
  PinnedMap map;
  Session s({.pinned = map.range});
  const uint64_t a = s.upload(letters("slow"));
  CHECK_EQUAL(s.ask(host_register(map.range.base, 4096)).status, 0u);
  StreamGate gate(s);
  const uint64_t copy = s.give(d2h(map.range.base, a, 4));
  std::thread opener([&] { gate.open(); });
  CHECK_EQUAL(s.ask(host_unregister(map.range.base)).status, 0u);
  opener.join();
  CHECK(s.sink.has_result(copy));
  CHECK_EQUAL(map.text(0, 4), std::string("slow"));
}

}  // namespace jitc::test
