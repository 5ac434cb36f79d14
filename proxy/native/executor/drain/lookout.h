// Detects whether a standing rank is in a circle with others, by what the board shows of them.
//
// Work that was submitted and is not done may be behind something else in its stream: where that may close a
// circle, and none of the ranks makes progress, a circle is assumed after a while. Called by: Drain and
// Meeting, again and again while the rank stands, in the dispatcher's thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "executor/pairing/circles.h"

namespace jitc {

class Checkpoints;
class SessionCore;

class Lookout {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kDoubt{200};
  /// Takes the time until ranks without progress that may be in a circle are assumed to be in one.
  Lookout(SessionCore& core, const Checkpoints& checkpoints, Clock::duration doubt = kDoubt)
      : core_(core), checkpoints_(checkpoints), doubt_(doubt) {}

  bool is_in_circle();
  /// Returns whether the circle found is only assumed.
  bool is_doubtful() const { return doubtful_; }
  /// Returns for how long this rank's standing has not changed.
  Clock::duration still() const { return Clock::now() - mine_since_; }

 private:
  std::optional<Stander> stander(uint32_t slot) const;

  SessionCore& core_;
  const Checkpoints& checkpoints_;
  const Clock::duration doubt_;
  bool doubtful_ = false;
  std::vector<Stander> ranks_;  // at the last look, this one first
  Clock::time_point since_ = Clock::now(), mine_since_ = since_;
};

}  // namespace jitc
