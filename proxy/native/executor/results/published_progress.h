// The worker's side of the progress page (jitc/progress_page.h): what its client may read without asking.
//
// Promises: what was published of a stream does not go back, also when a replay runs its work again; nothing
// is taken from the page but that somebody sleeps there. Called by: Progress, with its lock held; back
// ends have the doorbell.
#pragma once
#include <atomic>
#include <cstdint>

#include "device/backend_options.h"
#include "device/progress_doorbell.h"
#include "jitc/progress_page.h"

namespace jitc {

class PublishedProgress {
 public:
  /// Of a session without pinned memory nothing is published.
  explicit PublishedProgress(const PinnedRange& pinned);

  /// The stream has executed everything up to sequence. One caller at a time.
  void publish(uint64_t stream, uint64_t sequence);
  ProgressDoorbell& progress_doorbell() { return doorbell_; }

 private:
  using Place = ProgressPage::Place;
  void take(Place& place, uint64_t stream, uint64_t sequence);

  ProgressPage* const page_;
  ProgressDoorbell doorbell_;
};

}  // namespace jitc
