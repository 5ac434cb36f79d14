// Policy of keeping a session's live blocks: all copied at every boundary, or only those that peers cannot
// supply. The node service sets it (worker.proto, Policy); boundaries keep it for a worker that takes over.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace jitc {

class Packer;
class Unpacker;

struct Policy {
  bool copy_all = true;  // else peer mode
  bool barrier = false;  // no rank begins a step before all have reached it; pre-step copies are made
  // Classes of blocks. On the wire and in JSON: volatile_ordinals, unique_ordinals, known_ordinals.
  std::set<uint64_t> mutable_ordinals;     // change before the step: copied at every boundary
  std::set<uint64_t> rank_local_ordinals;  // no peer has them: copied at every boundary, and before the step
  /// Blocks that have a class. All others are treated as mutable and rank-local.
  std::set<uint64_t> classified_ordinals;
  uint64_t measure_every = 0;  // boundaries between measurements, 0: none
  // Copy mode: makes only boundaries that it divides, so that copies take no more than their share of the
  // time. Across a change, ranks that learn of it at different times have some in common.
  uint64_t make_every = 1;
  // Peer mode: boundaries (0: none) that need no peer. `reserve` is kept beside newer ones, in case all ranks
  // are lost that have what those need; `next_reserve` is still to be made so, and is then kept as well.
  uint64_t reserve = 0, next_reserve = 0;

  bool peer_mode() const { return barrier || !copy_all; }
  bool makes(uint64_t boundary) const {
    return peer_mode() || make_every < 2 || boundary % make_every == 0 || measures(boundary) ||
           measures(boundary + 1);
  }
  bool measures(uint64_t boundary) const { return measure_every && boundary % measure_every == 0; }
  bool reserves(uint64_t boundary) const {
    return boundary && (boundary == reserve || boundary == next_reserve);
  }
  bool classified(uint64_t ordinal) const { return classified_ordinals.contains(ordinal); }
  /// Returns whether another rank has the same bytes, as far as is known.
  bool has_replica(uint64_t ordinal) const {
    return classified(ordinal) && !rank_local_ordinals.contains(ordinal);
  }
  /// Small blocks are always copied, at boundaries and before steps: it costs next to nothing, loss scales
  /// change only now and then, and counters of ranks are equal for a while.
  static constexpr uint64_t kSmall = 1024;
  bool wants_copy(uint64_t ordinal, uint64_t bytes) const {
    return copy_all || bytes <= kSmall || !classified(ordinal) || mutable_ordinals.contains(ordinal) ||
           rank_local_ordinals.contains(ordinal);
  }
  /// Returns whether a classified block is copied before the step, too.
  bool wants_copy_before_step(uint64_t ordinal, uint64_t bytes) const {
    return bytes <= kSmall || rank_local_ordinals.contains(ordinal);
  }

  void pack(Packer& packer) const;
  static Policy unpack(Unpacker& unpacker);
};

/// The policy that was set, and the policy of the step or boundary in progress.
class Plan {
 public:
  using Pointer = std::shared_ptr<const Policy>;

  /// Returns the policy that was set. Any thread.
  Pointer wanted() const;
  /// Sets the policy from the next step or boundary on. Learned classes stay: at worst, more is copied than
  /// needed.
  void want(Policy policy);
  /// Sets make_every from the next step or boundary on, and leaves the rest of the policy alone.
  void space(uint64_t every);

  // Functions for the dispatcher, and for commands while it is parked. begin: a step or boundary begins.
  void begin() { current_ = wanted(); }
  const Policy& current() const { return *current_; }
  /// Learns blocks that change before the step: from now on they are copied at every boundary.
  void learn_mutable(const std::vector<uint64_t>& ordinals);
  /// Replaces the current and the wanted policy from now on.
  void adopt(Policy policy);

 private:
  mutable std::mutex mutex_;
  Pointer wanted_ = std::make_shared<Policy>();
  Pointer current_ = wanted_;
};

}  // namespace jitc
