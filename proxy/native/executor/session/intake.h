// Intake of a client's ops into the journal: checked, in order, once, and never more than there is room for.
//
// Promises: an op that is in the journal is acknowledged; a client that runs too far ahead waits here, and so
// does one whose journal is full while a boundary may still free it. Called by: Session, from the stream's
// reader.
#pragma once
#include <chrono>
#include <cstddef>
#include <mutex>
#include <span>

#include "executor/journal/wire.h"

namespace jitc {

class Checkpoints;
class Replay;
class SessionCore;

class Intake {
 public:
  Intake(SessionCore& core, Checkpoints& checkpoints, const Replay& replay)
      : core_(core), checkpoints_(checkpoints), replay_(replay) {}

  enum class Wait : bool { no, yes };
  /// Takes one message of the op stream. Throws Error if it is malformed, or does not follow the one before.
  /// Returns false, only without waiting, if there is no room; what is in the journal is skipped next time.
  bool submit(std::span<const std::byte> message, Wait wait);

 private:
  void check_order(const wire::Batch& batch) const;
  void check_pinned(const wire::OpView& op) const;
  bool store_all(const wire::Batch& batch, Wait wait);
  bool store(const wire::OpView& op, Wait wait);
  bool append(const wire::OpView& op);
  void announce(const wire::OpView& op);
  bool has_room(const wire::OpView& op) const;
  bool is_far_ahead() const;
  bool wait_for_room();
  bool linger(const wire::OpView& op);
  bool wait_for_change(bool give_up = false, std::chrono::microseconds longest = kLookAgain);

  static constexpr std::chrono::milliseconds kLookAgain{50};

  SessionCore& core_;
  Checkpoints& checkpoints_;
  const Replay& replay_;
  std::mutex mutex_;  // one message at a time
};

}  // namespace jitc
