// Selects which of the kept boundaries stay as reserves (policy.h).
//
// Called by: Checkpoints, which keeps them; Pairing, BoundaryMaker and commands, which count.
#pragma once
#include <cstdint>
#include <vector>

#include "boundary_state.h"
#include "policy.h"

namespace jitc {

class Journal;

/// Returns the numbers of the boundaries that stay and can be restored without a peer.
std::vector<uint64_t> reserves_in(const Boundaries& boundaries, const Policy& policy);
/// Counts the boundaries after the committed one; they belong with none of other ranks so far.
uint64_t count_after(const Boundaries& boundaries, uint64_t number);
/// Usual maximum of that count: a rank with this many has boundaries that belong with none of another's.
inline constexpr uint64_t kFew = 3;

/// Reserves (policy.h): older whole boundaries that stay beside those that the group still needs. Pure except
/// for what was given up. Called by: Checkpoints.
class Reserves {
 public:
  /// Returns whether a boundary stays; those older than `first` stay as reserves only.
  bool stays(const BoundaryState& one, uint64_t first, const Policy& policy) const;
  /// Records in the journal that all boundaries before the first are void, except these.
  void name_first(Journal& journal, uint64_t first, const Boundaries& boundaries, const Policy& policy) const;
  /// Gives up reserves up to this one, for lack of room.
  void give_up(uint64_t until) { given_up_ = until; }

 private:
  uint64_t given_up_ = 0;
};

}  // namespace jitc
