// Pinned memory that the program shares: what only the cuda device has.
#include "kernel/kernels.h"
#include "pinned_ops.h"

namespace jitc::test {
CASE(pinned_kernels_use_the_address_of_the_program) {
  PinnedMap map;
  KernelSession s({.pinned = map.range});
  s.begin();
  const uint64_t pinned = map.range.base + 4096;
  CHECK_EQUAL(s.ask(host_register(pinned, 4096)).status, 0u);
  s.add(pinned, 7, 2, KernelSession::kStream);
  s.add(pinned, 1, 1, KernelSession::kStream);
  s.synchronize();
  CHECK_EQUAL(map.text(4096, 24), std::string("\x08\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24));
  CHECK_EQUAL(s.ask(host_unregister(pinned)).status, 0u);
}

CASE(pinned_range_that_cannot_be_registered_is_a_result) {
  prepare_failures();
  PinnedMap map;
  Session s({.pinned = map.range});
  s.synchronize();
  ask_for_failures("cuMemHostRegister_v2:1=2");
  CHECK_EQUAL(s.ask(host_register(map.range.base, 4096)).status, 2u);
  CHECK_EQUAL(s.ask(host_unregister(map.range.base)).status, 1u);
  ask_for_failures("cuMemHostRegister_v2:1=2");
  const Resources resources{.host_ranges = {{map.range.base, 4096}}};
  CHECK(s.refused_restore(resources).find("cuMemHostRegister") != std::string::npos);
  s.restore(resources);
}

CASE(pinned_range_that_the_gpu_sees_elsewhere_is_given_back) {
  prepare_failures();
  PinnedMap map;
  Session s({.pinned = map.range});
  s.synchronize();
  ask_for_failures("cuMemHostGetDevicePointer_v2:1=1");
  CHECK_EQUAL(s.ask(host_register(map.range.base, 4096)).status, 1u);
  CHECK_EQUAL(s.ask(host_register(map.range.base, 4096)).status, 0u);
}

}  // namespace jitc::test
