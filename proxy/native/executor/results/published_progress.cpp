#include "published_progress.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace jitc {

PublishedProgress::PublishedProgress(const PinnedRange& pinned)
    : page_(reinterpret_cast<ProgressPage*>(
          pinned.find(pinned.base + ProgressPage::kOffset, sizeof(ProgressPage)))),
      doorbell_(page_ != nullptr ? &page_->waiters : nullptr) {}

void PublishedProgress::publish(uint64_t stream, uint64_t sequence) {
  if (page_ == nullptr || !page_->waiters.are_there()) return;
  Place& place = page_->places[ProgressPage::place_of(stream)];
  // A version that is odd was left by a worker that ended here.
  if (place.stream.load(std::memory_order_relaxed) != stream + 1 || place.version.load() % 2 != 0)
    take(place, stream, sequence);
  else if (place.executed.load(std::memory_order_relaxed) < sequence)
    place.executed.store(sequence);  // in one order with the sleepers' count
  else
    return;
  if (place.sleepers.load() == 0) return;
  place.version.fetch_add(2);
  syscall(SYS_futex, &place.version, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Takes the place. A reader that sees a part of this sees another version afterwards, or an odd one.
void PublishedProgress::take(Place& place, uint64_t stream, uint64_t sequence) {
  place.version.store(place.version.load(std::memory_order_relaxed) | 1);
  place.stream.store(stream + 1);
  place.executed.store(sequence);
  place.version.fetch_add(1);
}

}  // namespace jitc
