// How a session's live blocks are kept: all copied at every boundary, or only what peers cannot give back.
// Set by the node service (worker.proto, Policy); kept with each boundary for a worker that takes over.
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
  // Of copy mode: only boundaries that it divides are made, so that copies take no more than their share of
  // the time. From one number to another, ranks that hear of it at different times have some in common.
  uint64_t make_every = 1;
  // Of peer mode: boundaries (0: none) that need no peer. The one is kept beside newer ones, in case that all
  // ranks are lost that have what those need; the other is to be made so, and kept like it.
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
  /// Another rank has the same bytes, as far as is known.
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
  /// Of a classified block: a copy is made before the step, too.
  bool wants_copy_before_step(uint64_t ordinal, uint64_t bytes) const {
    return bytes <= kSmall || rank_local_ordinals.contains(ordinal);
  }

  void pack(Packer& packer) const;
  static Policy unpack(Unpacker& unpacker);
};

/// The policy that was set, and the one that the step or boundary under way goes by.
class Plan {
 public:
  using Pointer = std::shared_ptr<const Policy>;

  /// Any thread.
  Pointer wanted() const;
  /// From the next step or boundary on. What was learned here stays learned: more is copied than needed at
  /// worst.
  void want(Policy policy);
  /// make_every, from the next step or boundary on, whatever else is wanted.
  void space(uint64_t every);

  // The dispatcher's, and of commands while it is parked.
  /// A step or boundary begins.
  void begin() { current_ = wanted(); }
  const Policy& current() const { return *current_; }
  /// These change before the step: from now on they are copied at every boundary.
  void learn_mutable(const std::vector<uint64_t>& ordinals);
  /// From now on, whatever was wanted.
  void adopt(Policy policy);

 private:
  mutable std::mutex mutex_;
  Pointer wanted_ = std::make_shared<Policy>();
  Pointer current_ = wanted_;
};

}  // namespace jitc
