// The snapshot arena of a session: extents in shared memory that hold copies of live blocks.
//
// Called by: RowCopies and Checkpoints (one thread at a time). Freed extents keep their memory for the next
// boundary, which needs about the same again; what exceeds that is given back, so that memory stays flat. An
// extent may be part of several boundaries: nothing is written to it any more then.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/shared_map.h"

namespace jitc {

/// The arena has no room for a copy.
struct SnapshotFull {};

class Snapshot {
 public:
  static constexpr uint64_t kNone = UINT64_MAX;

  Snapshot(const std::string& path, uint64_t bytes) : map_(path, bytes) { free_[0] = bytes; }

  /// Told of memory that is about to go back to the system.
  void before_release(std::function<void(std::span<std::byte>)> told) { before_release_ = std::move(told); }

  /// An extent, or kNone when the arena is full.
  uint64_t take(uint64_t bytes);
  /// Marks an extent that an earlier worker took; false when it overlaps another or lies outside.
  bool claim(uint64_t offset, uint64_t bytes);
  /// One more owner of the extent; each gives it back.
  void share(uint64_t offset) { ++further_owners_[offset]; }
  void give_back(uint64_t offset, uint64_t bytes);
  /// Returns memory of free extents to the system, when there is more of it than of used ones.
  void trim();

  std::span<std::byte> bytes(uint64_t offset, uint64_t size) const { return {map_.data() + offset, size}; }
  std::span<std::byte> whole() const { return {map_.data(), map_.size()}; }
  uint64_t used() const { return used_; }

 private:
  static uint64_t rounded(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }
  void release(uint64_t offset, uint64_t size) const;

  SharedMap map_;
  std::function<void(std::span<std::byte>)> before_release_;
  std::map<uint64_t, uint32_t> further_owners_;  // offset of an extent that has several -> all but one
  std::map<uint64_t, uint64_t> free_;            // offset -> bytes, neighbours merged
  std::atomic<uint64_t> used_{0};                // read by anybody
  uint64_t touched_ = 0;  // memory beyond this offset was never written, or has been given back
};

}  // namespace jitc
