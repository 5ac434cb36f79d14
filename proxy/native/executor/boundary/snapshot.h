// The snapshot arena of a session: extents in shared memory that hold copies of live blocks.
//
// Called by: RowCopies and Checkpoints (one thread at a time). Freed extents keep as much memory for the next
// boundaries as the last ones needed: new memory is slow. Memory beyond that is released, and all of it where
// the node's memory for copies becomes scarce. An extent may be part of several boundaries: it is not written
// to any more then.
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

/// Thrown if the arena, or the node, has no room for a copy.
struct SnapshotFull {};

class Snapshot {
 public:
  static constexpr uint64_t kNone = UINT64_MAX;
  /// Number of boundaries remembered: copies made once in so many find their memory here.
  static constexpr size_t kRemembered = 32;

  /// Opens the arena. bytes: limit of all copies on the node, and so of the arena.
  Snapshot(const std::string& path, uint64_t bytes, const NodeBoard& board, uint32_t slot);

  /// Sets the function that is notified of memory before it is returned to the system.
  void before_release(std::function<void(std::span<std::byte>)> told) { before_release_ = std::move(told); }

  /// Takes an extent; returns kNone if there is no room for it.
  uint64_t take(uint64_t bytes);
  /// Marks an extent that an earlier worker took. Returns false if it overlaps another or lies outside.
  bool claim(uint64_t offset, uint64_t bytes);
  /// Adds an owner to the extent; each owner frees it once.
  void share(uint64_t offset) { ++further_owners_[offset]; }
  void give_back(uint64_t offset, uint64_t bytes);
  /// Returns memory of free extents to the system after a boundary, where it is more than any of the last
  /// kRemembered boundaries needed, or scarce; all of it if the session now has far less to copy.
  void trim();

  std::span<std::byte> bytes(uint64_t offset, uint64_t size) const { return {map_.data() + offset, size}; }
  std::span<std::byte> whole() const { return {map_.data(), map_.size()}; }
  uint64_t used() const { return used_; }
  /// Returns the budget of the node's memory for copies: its room, and what is taken of it.
  CopiesBudget& budget() { return budget_; }

 private:
  using Ranges = std::map<uint64_t, uint64_t>;  // offset -> bytes, neighbours merged

  static uint64_t rounded(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }
  static void add(Ranges& ranges, uint64_t offset, uint64_t size);
  static void remove(Ranges& ranges, uint64_t offset, uint64_t size);
  static uint64_t common(const Ranges& ranges, uint64_t offset, uint64_t size);
  Ranges::const_iterator room_for(uint64_t size) const;
  void count_used(uint64_t more);
  /// Releases free memory, from the end of the arena, until the arena holds no more than `keep`.
  void release_free(uint64_t keep);

  SharedMap map_;
  std::function<void(std::span<std::byte>)> before_release_;
  std::map<uint64_t, uint32_t> further_owners_;  // offset of an extent that has several -> all but one
  Ranges free_;
  Ranges bare_;  // takes no memory
  CopiesBudget budget_;
  std::atomic<uint64_t> used_{0};  // read by any thread
  uint64_t most_used_ = 0;         // since the last trim
  std::deque<uint64_t> needed_;    // most_used_ of the last boundaries
};

}  // namespace jitc
