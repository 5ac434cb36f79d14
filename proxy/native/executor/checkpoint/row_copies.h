// Content of live allocations: hashed where it is, or copied to the snapshot arena.
//
// Promises: every copy has a hash that proves it whole when it is needed; an allocation that does not exist
// stops the session as the program's mistake. Called by: the dispatcher's thread (boundaries, steps), and
// commands while it is parked.
#pragma once
#include <functional>
#include <span>
#include <unordered_set>
#include <vector>

#include "device/transfers.h"
#include "executor/boundary/boundary_state.h"

namespace jitc {

class SessionCore;

class RowCopies {
 public:
  /// A row to be copied, and the row of the same allocation at the previous boundary, or nullptr.
  struct Wanted {
    LiveRow* row;
    const LiveRow* earlier;
  };

  /// Copies to be made beside the work (BlockCopier::begin), of rows that may wait; `blocks` lists them.
  struct Later {
    std::function<bool(const LiveRow&)> may_wait;
    std::vector<BlockCopy> blocks;
  };

  explicit RowCopies(SessionCore& core) : core_(core) {}

  std::vector<Hash> hashes_of(std::span<const LiveRow> rows);
  /// Hashes the content of each row. sequence: the op at fault if an allocation does not exist.
  bool measure(std::span<LiveRow> rows, uint64_t sequence);
  /// Measures a row and copies its content. Throws SnapshotFull.
  bool copy(LiveRow& row, uint64_t sequence);
  /// Copies many rows. Content that did not change since the previous boundary shares one copy. If it throws
  /// or fails, some rows may have copies. With `later`, rows that may wait only get room for a copy.
  bool copy_all(std::span<const Wanted> wanted, uint64_t sequence, Later* later = nullptr);
  /// Frees the rows' copies.
  void drop(const std::vector<LiveRow>& rows);

 private:
  bool measure_steady(std::span<const Wanted> wanted);
  bool reuse(const Wanted& one);
  bool read_all(std::span<const Wanted> wanted, uint64_t sequence, Later* later);
  bool read_or_reuse(std::span<const Wanted> wanted, uint64_t sequence);
  void take_room(LiveRow& row);
  bool read(LiveRow& row) const;
  bool read(LiveRow& row, uint64_t sequence);
  bool without_copy(LiveRow& row, uint64_t sequence);
  bool refuse(const LiveRow& row, uint64_t sequence);

  SessionCore& core_;
  /// Ordinals that did not change at the last boundary, on a device that hashes no faster than it copies:
  /// hashing alone will show whether they changed.
  std::unordered_set<uint64_t> steady_;
};

}  // namespace jitc
