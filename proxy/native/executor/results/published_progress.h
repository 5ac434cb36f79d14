// The worker's side of the progress page (jitc/progress_page.h), which its client reads without asking.
//
// Promises: published progress of a stream does not go back, also when a replay runs its work again; the page
// is read only for whether a client sleeps there. Called by: Progress, with its lock held; back ends have the
// doorbell.
#pragma once
#include <atomic>
#include <cstdint>

#include "device/backend_options.h"
#include "device/progress_doorbell.h"
#include "jitc/progress_page.h"

namespace jitc {

class PublishedProgress {
 public:
  /// Publishes nothing for a session without pinned memory.
  explicit PublishedProgress(const PinnedRange& pinned);

  /// Publishes that the stream has executed everything up to sequence. One caller at a time.
  void publish(uint64_t stream, uint64_t sequence);
  ProgressDoorbell& progress_doorbell() { return doorbell_; }

 private:
  using Place = ProgressPage::Place;
  void take(Place& place, uint64_t stream, uint64_t sequence);

  ProgressPage* const page_;
  ProgressDoorbell doorbell_;
};

}  // namespace jitc
