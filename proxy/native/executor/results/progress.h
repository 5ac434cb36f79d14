// Progress of a session's streams, and results of the program's past that a replay has yielded again.
//
// Called by: OpIssuer in the dispatcher's thread (submitted ops), Session in back end threads (completed
// ops), Delivery and Replay (what a replay yields again). Promises: no call waits; progress never goes back,
// except in restore(); completed work is published at once.
#pragma once
#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "completion_queue.h"
#include "device/backend_options.h"
#include "device/progress_doorbell.h"
#include "device/resources.h"
#include "published_progress.h"

namespace jitc {

class Progress {
 public:
  explicit Progress(const PinnedRange& pinned) : published_(pinned) {}

  /// Notes the op as the newest submitted to the stream.
  void give(uint64_t stream, uint64_t sequence);
  void done(uint64_t stream, uint64_t sequence);
  /// Notes that all submitted ops have run, including this one.
  void drained(uint64_t stream, uint64_t sequence);
  /// Restores the state after this op: everything up to it has run.
  void restore(uint64_t sequence, std::span<const Resources::Stream> streams);
  /// Notes that the state after this op has come from elsewhere: nothing up to it is waited for any more.
  void raise_floor(uint64_t sequence);

  /// Returns the newest op before which everything has run; dispatched: the newest submitted to any stream.
  uint64_t executed(uint64_t dispatched) const;
  /// Returns the op up to which everything on all streams had run when the state was restored; 0: nothing was
  /// restored.
  uint64_t floor() const;
  /// Returns the progress of every stream, for a client that knows nothing.
  std::vector<StreamProgress> all() const;

  /// Notes that a replay has yielded a result that the program has.
  void note_again(uint64_t sequence);
  bool noted_again(uint64_t sequence) const;
  ProgressDoorbell& progress_doorbell() { return published_.progress_doorbell(); }
  /// Returns whether every stream has come as far as was reported, with all earlier ops submitted.
  bool reached(std::span<const StreamProgress> reported) const;

 private:
  struct Reached {
    uint64_t given = 0, done = 0;
  };
  bool reached(const StreamProgress& reported) const;

  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Reached> streams_;
  uint64_t floor_ = 0;
  std::set<uint64_t> again_;  // since then
  PublishedProgress published_;
};

}  // namespace jitc
