// Which boundaries of this rank belong together with which of other ranks (base/tally.h), as the board shows
// it.
//
// Promises: what a rank keeps is shown before other ranks can rely on it, and a communicator before it can be
// joined; only boundaries that belong together are committed. A rank whose steps do not correspond to those
// of its peers is found, whether it makes more of them, fewer, or none: `uneven` stays set from then on.
// Called by: Checkpoints, StepGate, Dispatcher and Recovery, in the dispatcher's thread or while it is
// parked.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/tally.h"
#include "executor/boundary/boundary_state.h"

namespace jitc {

class SessionCore;

class Pairing {
 public:
  explicit Pairing(SessionCore& core) : core_(core) {}

  /// Shows other ranks what this one keeps.
  void show(const Boundaries& boundaries);
  /// Before the op is issued: other ranks may have joined, and made boundaries, as soon as it is.
  void will_join(const ops::CommunicatorCreate& op, const Boundaries& boundaries);
  /// Ranks that make no steps look out for this one when many of its boundaries belong with none of theirs.
  void say_alone(const Boundaries& boundaries) const;
  /// The program has come to a boundary, whether it is kept or not.
  void step_ends();
  /// Nothing has been done with other ranks since.
  bool at_end_of_step() const;
  /// A boundary without anything to go back to: others need not wait for one.
  void pass(uint64_t boundary);
  /// From a journal: a communicator that was joined. What the newest boundary knows of it counts more.
  void load(const ops::CommunicatorCreate& op) { joined_.push_back(op); }

  /// The newest boundary of this rank for which each rank of the group (slots) has one that belongs with it.
  /// Nothing: there is none, or it cannot be seen now.
  std::optional<uint64_t> newest_common(const std::vector<uint32_t>& group, const Boundaries& boundaries);

  /// The rank stands until what this one waits for is done, or goes on (nothing).
  void stand(Standing standing, const Boundaries& boundaries);
  const Standing& standing() const { return standing_; }
  bool stands() const { return standing_ != Standing{}; }

  /// The begin of a step is reached.
  void reach(uint64_t step, const Boundaries& boundaries);
  enum class Gathering { waits, together, uneven };
  /// Of a group in which ranks wait for each other before the step.
  Gathering gathering(const std::vector<uint32_t>& group, uint64_t step) const;

  bool uneven() const { return uneven_; }
  bool has_uneven_peer(const std::vector<uint32_t>& group) const;
  void find_uneven(const Boundaries& boundaries);
  RankHistory history(const Boundaries& boundaries) const;
  /// Drops communicators that all ranks have left, wherever they may go back to.
  void forget_left(const std::vector<uint32_t>& group, const Boundaries& boundaries);

 private:
  bool connect(const Tally& tally);

  SessionCore& core_;
  std::optional<KeptTally> passed_;
  std::optional<Tally> end_of_step_;
  std::vector<ops::CommunicatorCreate> joined_;
  uint64_t step_ = 0;
  Tally at_step_;
  Standing standing_;
  bool connected_ = true;  // all of its communicators are on the board
  bool told_full_ = false;
  std::atomic<bool> uneven_{false};
};

}  // namespace jitc
