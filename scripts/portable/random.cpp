// A hidden arc4random for libstdc++.a, whose std::random_device calls it and which glibc has since 2.36 only.
// Called by: nobody else. Linked into every library that is made portable (portable.cmake).
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

// NOLINTNEXTLINE: the C library's name
extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() {
  std::uint32_t value = 0;
  ssize_t got = 0;
  do {
    got = getrandom(&value, sizeof value, 0);
  } while (got < 0 && errno == EINTR);
  // Four bytes come whole or not at all; without a source of randomness nothing may go on with zeros.
  if (got != sizeof value) std::abort();
  return value;
}
