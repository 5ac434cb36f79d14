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
#include <utility>

#include "jitc/progress_page.h"

namespace jitc {

class ProgressDoorbell {
 public:
  using Words = ProgressPage::Waiters;
  /// nullptr: no program shares them.
  explicit ProgressDoorbell(Words* shared) : shared_(shared) {}

  /// A thread of the program sleeps until some stream has come further.
  bool is_awaited() const { return words().sleepers.load() != 0; }
  /// To be asked before the last look at what there is to do.
  uint32_t rings() const { return words().rings.load(); }
  /// Returns when it rings, or has rung since rings() was asked, and after that time.
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
