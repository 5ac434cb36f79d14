// Which of the boundaries that are kept stay as reserves (policy.h).
//
// Called by: Checkpoints, which keeps them; Pairing, BoundaryMaker and commands, which count.
#pragma once
#include <cstdint>
#include <vector>

#include "boundary_state.h"
#include "policy.h"

namespace jitc {

class Journal;

/// Numbers of those that can be gone back to without a peer, and stay.
std::vector<uint64_t> reserves_in(const Boundaries& boundaries, const Policy& policy);
/// Those after the committed one belong with none of other ranks so far.
uint64_t count_after(const Boundaries& boundaries, uint64_t number);
/// Usually there are fewer: so many are of a rank whose boundaries belong with none of another's.
inline constexpr uint64_t kFew = 3;

/// Reserves (policy.h): older boundaries that stay, whole, beside those that the group still needs. Pure but
/// for what was given up. Called by: Checkpoints.
class Reserves {
 public:
  /// first: older ones stay as reserves only.
  bool stays(const BoundaryState& one, uint64_t first, const Policy& policy) const;
  /// Has the journal say that all before the first are void, but for these.
  void name_first(Journal& journal, uint64_t first, const Boundaries& boundaries, const Policy& policy) const;
  /// For want of room: up to this one.
  void give_up(uint64_t until) { given_up_ = until; }

 private:
  uint64_t given_up_ = 0;
};

}  // namespace jitc
