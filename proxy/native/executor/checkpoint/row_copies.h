// Content of live allocations: hashed where it is, or copied to the snapshot arena.
//
// Promises: every copy has a hash, by which it is known to be whole when it is needed; an allocation that
// does not exist stops the session with the program's mistake. Called by: the dispatcher's thread
// (boundaries, steps), and commands while it is parked.
#pragma once
#include <span>
#include <vector>

#include "boundary_state.h"

namespace jitc {

class Shared;

class RowCopies {
 public:
  explicit RowCopies(Shared& shared) : shared_(shared) {}

  std::vector<Hash> hashes_of(std::span<const LiveRow> rows);
  /// Gives each row the hash of its content. sequence: of the op that is at fault when there is none.
  bool measure(std::span<LiveRow> rows, uint64_t sequence);
  /// As measure(), with a copy of the content. Throws SnapshotFull.
  bool copy(LiveRow& row, uint64_t sequence);
  /// The rows' copies are not needed any more.
  void drop(const std::vector<LiveRow>& rows);

 private:
  bool refuse(const LiveRow& row, uint64_t sequence);

  Shared& shared_;
};

}  // namespace jitc
