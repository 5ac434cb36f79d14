// See doorbell.h. A doorbell is a futex shared between processes; sleepers register first.
#include "doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace jitc {

void Doorbell::ring() {
  rung_.fetch_add(1);
  if (sleepers_.load() != 0) syscall(SYS_futex, &rung_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Doorbell::sleep(uint32_t seen, int64_t microseconds) {
  const timespec time{microseconds / 1000000, microseconds % 1000000 * 1000};
  sleepers_.fetch_add(1);
  syscall(SYS_futex, &rung_, FUTEX_WAIT, seen, &time, nullptr, 0);
  sleepers_.fetch_sub(1);
}

}  // namespace jitc
