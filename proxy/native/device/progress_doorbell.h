// Ends the nap of a thread that looks at the device now and then, as soon as somebody waits for what it will
// find.
//
// Called by: the cuda device's completion poller, which naps; PublishedProgress has it. The words are shared
// with the program (jitc/progress_page.h), which rings it too; what it writes there only makes naps shorter
// or longer, and none is longer than it was asked for.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdint>

#include "jitc/progress_page.h"

namespace jitc {

class ProgressDoorbell {
 public:
  explicit ProgressDoorbell(ProgressPage::Waiters& words) : words_(words) {}

  /// A thread of the program sleeps until some stream has come further.
  bool is_awaited() const { return words_.sleepers.load() != 0; }
  /// To be asked before the last look at what there is to do.
  uint32_t rings() const { return words_.rings.load(); }
  /// Returns when it rings, or has rung since rings() was asked, and after that time.
  void nap(uint32_t rings, std::chrono::microseconds longest) {
    const timespec time{longest.count() / 1'000'000, longest.count() % 1'000'000 * 1000};
    words_.napping.store(1);
    syscall(SYS_futex, &words_.rings, FUTEX_WAIT, rings, &time, nullptr, 0);
    words_.napping.store(0);
  }
  void ring() {
    words_.rings.fetch_add(1);
    if (words_.napping.load() != 0)
      syscall(SYS_futex, &words_.rings, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

 private:
  ProgressPage::Waiters& words_;
};

}  // namespace jitc
