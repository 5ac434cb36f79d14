// Content of live allocations: hashed where it is, or copied to the snapshot arena.
//
// Promises: every copy has a hash, by which it is known to be whole when it is needed; an allocation that
// does not exist stops the session with the program's mistake. Called by: the dispatcher's thread
// (boundaries, steps), and commands while it is parked.
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
  /// A row to be copied, and the same allocation's at the boundary before, or nullptr.
  struct Wanted {
    LiveRow* row;
    const LiveRow* earlier;
  };

  /// Copies that are to be made beside the work (BlockCopier::begin): of rows that may wait. What they are to
  /// be is in blocks then.
  struct Later {
    std::function<bool(const LiveRow&)> may_wait;
    std::vector<BlockCopy> blocks;
  };

  explicit RowCopies(SessionCore& core) : core_(core) {}

  std::vector<Hash> hashes_of(std::span<const LiveRow> rows);
  /// Gives each row the hash of its content. sequence: of the op that is at fault when there is none.
  bool measure(std::span<LiveRow> rows, uint64_t sequence);
  /// As measure(), with a copy of the content. Throws SnapshotFull.
  bool copy(LiveRow& row, uint64_t sequence);
  /// As copy(), of many. Content that did not change since then has one copy for both. Where it throws or
  /// fails, some rows may have copies. Where there is a later, rows that wait have room for a copy only.
  bool copy_all(std::span<const Wanted> wanted, uint64_t sequence, Later* later = nullptr);
  /// The rows' copies are not needed any more.
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
  /// Of a device that hashes no faster than it copies: what did not change at the last boundary, which
  /// hashing alone will show again. By ordinal.
  std::unordered_set<uint64_t> steady_;
};

}  // namespace jitc
