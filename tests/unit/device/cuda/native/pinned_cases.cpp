// Pinned memory that the program shares: what only the cuda device has, and what its log of calls must say.
#include "base/checksum.h"
#include "kernels.h"
#include "pinned_ops.h"

namespace jitc::test {
namespace {
Options with(const PinnedMap& map) {
  Options options;
  options.pinned = map.range;
  return options;
}

bool restore(Session& s, const Resources& resources, std::string& error) {
  s.backend->fence();
  const bool done = s.backend->restore(resources, error);
  s.backend->unfence();
  return done;
}
}  // namespace

CASE(pinned_kernels_use_the_address_of_the_program) {
  PinnedMap map;
  KernelSession s(with(map));
  s.begin();
  const uint64_t pinned = map.range.base + 4096;
  CHECK_EQUAL(s.ask(host_register(pinned, 4096)).status, 0u);
  s.add(pinned, 7, 2, KernelSession::kStream);
  s.add(pinned, 1, 1, KernelSession::kStream);
  s.synchronize();
  CHECK_EQUAL(map.text(4096, 24), std::string("\x08\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24));
  CHECK_EQUAL(s.ask(host_unregister(pinned)).status, 0u);
}

CASE(pinned_results_go_straight_to_the_program) {
  PinnedMap map;
  Session s(with(map));
  const uint64_t a = s.upload(std::vector<uint8_t>{'a', 'b', 'c'});
  CHECK_EQUAL(s.ask(host_register(map.range.base, 4096)).status, 0u);
  const Reply reply = s.ask(d2h(map.range.base + 5, a, 3));
  CHECK_EQUAL(reply.status, 0u);
  CHECK_EQUAL(map.text(4, 5), std::string("\0abc\0", 5));
  const auto hash = hash_bytes(std::as_bytes(std::span("abc", 3)));
  CHECK(reply.value<Hash>() == hash && reply.payload.size() == hash.size());
  CHECK_EQUAL(s.ask(d2h(map.range.base, a, 0)).status, 0u);
  CHECK_EQUAL(s.ask(d2h(map.range.base, a, (1u << 20) + 1)).status, 1u);
}

CASE(pinned_ranges_are_those_of_the_state_that_comes_back) {
  PinnedMap map;
  KernelSession s(with(map));
  s.begin();
  const uint64_t first = map.range.base, second = first + 8192, third = first + 16384;
  CHECK_EQUAL(s.ask(host_register(first, 4096)).status, 0u);
  CHECK_EQUAL(s.ask(host_register(second, 4096)).status, 0u);
  Resources resources;
  resources.host_ranges = {{second, 4096}, {third, 4096}};
  std::string error;
  CHECK(restore(s, resources, error));
  CHECK_EQUAL(s.ask(host_unregister(first)).status, 1u);
  CHECK_EQUAL(s.ask(host_unregister(second)).status, 0u);
  CHECK_EQUAL(s.ask(host_unregister(third)).status, 0u);
}

CASE(pinned_range_that_cannot_be_registered_is_a_result) {
  prepare_failures();
  PinnedMap map;
  Session s(with(map));
  s.synchronize();
  ask_for_failures("cuMemHostRegister_v2:1=2");
  CHECK_EQUAL(s.ask(host_register(map.range.base, 4096)).status, 2u);
  CHECK_EQUAL(s.ask(host_unregister(map.range.base)).status, 1u);
  ask_for_failures("cuMemHostRegister_v2:1=2");
  Resources resources;
  resources.host_ranges = {{map.range.base, 4096}};
  std::string error;
  CHECK(!restore(s, resources, error));
  CHECK(error.find("cuMemHostRegister") != std::string::npos);
  CHECK(restore(s, resources, error));
}

CASE(pinned_range_that_the_gpu_sees_elsewhere_is_given_back) {
  prepare_failures();
  PinnedMap map;
  Session s(with(map));
  s.synchronize();
  ask_for_failures("cuMemHostGetDevicePointer_v2:1=1");
  CHECK_EQUAL(s.ask(host_register(map.range.base, 4096)).status, 1u);
  CHECK_EQUAL(s.ask(host_register(map.range.base, 4096)).status, 0u);
}

}  // namespace jitc::test
