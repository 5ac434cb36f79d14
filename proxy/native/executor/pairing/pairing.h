// Pairs boundaries of this rank with those of other ranks that belong together (base/tally.h), as the board
// shows them.
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

  /// Shows other ranks what this one keeps, and what it sees of them.
  void show(const Boundaries& boundaries);
  /// Shows the same with newer counts alone: what it keeps depends on nothing else than before.
  void show_counts(const Boundaries& boundaries);
  /// Shows anew what this rank sees of others if it says something of one that has ended, or that it can see
  /// only now: others wait for that.
  void renew(const Boundaries& boundaries);
  /// Shows a communicator before its op is issued: from then on other ranks may join, and make boundaries.
  void will_join(const ops::CommunicatorCreate& op, const Boundaries& boundaries);
  /// Shows ranks that make no steps when many boundaries of this one belong with none of theirs.
  void say_alone(const Boundaries& boundaries) const;
  /// Notes that the program has come to a boundary, whether it is kept or not.
  void step_ends();
  /// Returns whether nothing has been done with other ranks since.
  bool at_end_of_step() const;
  /// Passes a boundary with nothing to roll back to: others need not wait for one.
  void pass(uint64_t boundary);
  /// Loads a joined communicator from a journal. The newest boundary's knowledge of it takes precedence.
  void load(const ops::CommunicatorCreate& op) { joined_.push_back(op); }

  /// Returns the newest boundary of this rank for which each rank of its group has one that belongs with it;
  /// nothing if there is none, or it cannot be seen now. named: slots of the group beside those that
  /// communicators connect.
  std::optional<uint64_t> newest_common(const std::vector<uint32_t>& named, const Boundaries& boundaries);

  /// Shows that the rank stands until what it waits for is done, or (nothing) that it continues.
  void stand(Standing standing, const Boundaries& boundaries);
  const Standing& standing() const { return standing_; }
  bool stands() const { return standing_ != Standing{}; }

  /// Shows that the begin of a step is reached.
  void reach(uint64_t step, const Boundaries& boundaries);
  enum class Gathering { waits, together, uneven };
  /// Returns the gathering of a group in which ranks wait for each other before the step.
  Gathering gathering(const std::vector<uint32_t>& named, uint64_t step) const;

  bool uneven() const { return uneven_; }
  bool has_uneven_peer(const std::vector<uint32_t>& group) const;
  void find_uneven(const Boundaries& boundaries);
  RankHistory history(const Boundaries& boundaries) const;
  /// Drops communicators that all ranks have left, at every boundary that they may roll back to.
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
  std::vector<Version> seen_;  // as shown last
  std::atomic<bool> uneven_{false};
};

}  // namespace jitc
