// Ends the nap of a thread that polls the device as soon as a waiter needs its result.
//
// Called by: the cuda device's completion poller, which naps; PublishedProgress owns it. The words are shared
// with the program (jitc/progress_page.h), which also rings it; its writes only make naps shorter or longer,
// and none is longer than requested.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdint>
#include <utility>

#include "jitc/progress_page.h"

namespace jitc {

class ProgressDoorbell {
 public:
  using Words = ProgressPage::Waiters;
  /// nullptr: not shared with a program.
  explicit ProgressDoorbell(Words* shared) : shared_(shared) {}

  /// Returns whether a thread of the program sleeps until some stream makes progress.
  bool is_awaited() const { return words().sleepers.load() != 0; }
  /// Returns the number of rings; read it before the last check for work.
  uint32_t rings() const { return words().rings.load(); }
  /// Returns at a ring since `rings` was read, at the latest after that time.
  void nap(uint32_t rings, std::chrono::microseconds longest) {
    const timespec time{longest.count() / 1'000'000, longest.count() % 1'000'000 * 1000};
    Words& here = words();
    here.napping.store(1);
    syscall(SYS_futex, &here.rings, FUTEX_WAIT, rings, &time, nullptr, 0);
    here.napping.store(0);
  }
  void ring() {
    Words& here = words();
    here.rings.fetch_add(1);
    if (here.napping.load() != 0) syscall(SYS_futex, &here.rings, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

 private:
  const Words& words() const { return shared_ != nullptr && shared_->are_there() ? *shared_ : own_; }
  Words& words() { return const_cast<Words&>(std::as_const(*this).words()); }

  Words* const shared_;
  Words own_{};  // until the program has the page
};

}  // namespace jitc
