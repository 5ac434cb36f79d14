// How far a session's streams have got, and which results of the program's past a replay has given again.
//
// Called by: OpIssuer in the dispatcher's thread (what is given), Session in back end threads (what is done),
// Delivery and Replay (what a replay gives again). Promises: no call waits; progress never goes back, but in
// restore(); what is done is published at once.
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

  /// The op is now the newest that the stream was given.
  void give(uint64_t stream, uint64_t sequence);
  void done(uint64_t stream, uint64_t sequence);
  /// All that was given has run, this op too.
  void drained(uint64_t stream, uint64_t sequence);
  /// The state after this op was restored: everything up to it has run.
  void restore(uint64_t sequence, std::span<const Resources::Stream> streams);
  /// The state after this op has come from elsewhere: nothing up to it is waited for any more.
  void raise_floor(uint64_t sequence);

  /// Newest op before which everything has run; dispatched: the newest given to any stream.
  uint64_t executed(uint64_t dispatched) const;
  /// Everything up to this op had run when the state was restored, on whatever stream; 0: nothing was
  /// restored.
  uint64_t floor() const;
  /// Of every stream, for a client that knows nothing.
  std::vector<StreamProgress> all() const;

  /// A result that the program has is there again.
  void note_again(uint64_t sequence);
  bool noted_again(uint64_t sequence) const;
  ProgressDoorbell& progress_doorbell() { return published_.progress_doorbell(); }
  /// Whether every stream has got as far as was reported, once all ops of before that have been given.
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
