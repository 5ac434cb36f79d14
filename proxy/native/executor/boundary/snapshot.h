// The snapshot arena of a session: extents in shared memory that hold copies of live blocks.
//
// Called by: RowCopies and Checkpoints (one thread at a time). Freed extents keep their memory for the next
// boundaries, as much as the last ones needed: new memory is slow. What exceeds that is given back, and all
// of it where the node's memory for copies becomes scarce. An extent may be part of several boundaries:
// nothing is written to it any more then.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/shared/memory_budget.h"
#include "base/shared/shared_map.h"

namespace jitc {

/// The arena, or the node, has no room for a copy.
struct SnapshotFull {};

class Snapshot {
 public:
  static constexpr uint64_t kNone = UINT64_MAX;
  /// Copies that are made at every such boundary find their memory there.
  static constexpr size_t kRemembered = 32;

  /// bytes: of all copies on the node at most, and so of the arena.
  Snapshot(const std::string& path, uint64_t bytes, const NodeBoard& board, uint32_t slot);

  /// Told of memory that is about to go back to the system.
  void before_release(std::function<void(std::span<std::byte>)> told) { before_release_ = std::move(told); }

  /// An extent, or kNone when there is no room for it.
  uint64_t take(uint64_t bytes);
  /// Marks an extent that an earlier worker took; false when it overlaps another or lies outside.
  bool claim(uint64_t offset, uint64_t bytes);
  /// One more owner of the extent; each gives it back.
  void share(uint64_t offset) { ++further_owners_[offset]; }
  void give_back(uint64_t offset, uint64_t bytes);
  /// After a boundary: returns memory of free extents to the system, where it is more than any of the last
  /// kRemembered boundaries needed, or scarce; all of it where the session now has far less to copy.
  void trim();

  std::span<std::byte> bytes(uint64_t offset, uint64_t size) const { return {map_.data() + offset, size}; }
  std::span<std::byte> whole() const { return {map_.data(), map_.size()}; }
  uint64_t used() const { return used_; }
  /// What the node's memory for copies has room for, and what is taken of it.
  CopiesBudget& budget() { return budget_; }

 private:
  using Ranges = std::map<uint64_t, uint64_t>;  // offset -> bytes, neighbours merged

  static uint64_t rounded(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }
  static void add(Ranges& ranges, uint64_t offset, uint64_t size);
  static void remove(Ranges& ranges, uint64_t offset, uint64_t size);
  static uint64_t common(const Ranges& ranges, uint64_t offset, uint64_t size);
  Ranges::const_iterator room_for(uint64_t size) const;
  void count_used(uint64_t more);
  /// Gives back free memory until the arena holds no more than that, from its end on.
  void release_free(uint64_t keep);

  SharedMap map_;
  std::function<void(std::span<std::byte>)> before_release_;
  std::map<uint64_t, uint32_t> further_owners_;  // offset of an extent that has several -> all but one
  Ranges free_;
  Ranges bare_;  // takes no memory
  CopiesBudget budget_;
  std::atomic<uint64_t> used_{0};  // read by anybody
  uint64_t most_used_ = 0;         // since the last trim
  std::deque<uint64_t> needed_;    // most_used_ of the last boundaries
};

}  // namespace jitc
