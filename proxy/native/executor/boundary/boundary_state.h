// The state kept of a boundary, and of the begin of an optimizer step: enough to roll back to it.
//
// A state is packed into the journal when it is made, and unpacked by the worker that takes over, or by the
// reader of a boundary without a worker (executor/export/). Called by: Checkpoints, BoundaryMaker, StepGate,
// Restorer and BoundaryLoader.
#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/hash.h"
#include "device/services.h"
#include "jitc/generated_ops.h"
#include "policy.h"

namespace jitc {

/// One live block, and what is known of its content.
struct LiveRow {
  ops::LiveBlock block;
  Hash hash{};    // of its content at the boundary (in a StepState: at the step's begin); of its copy too
  Hash before{};  // of its place at the begin of the step before the boundary; zeros: not measured
  uint64_t copy = kNoCopy;  // extent in the arena (snapshot.h)

  static constexpr uint64_t kNoCopy = UINT64_MAX;
  bool copied() const { return copy != kNoCopy; }
  /// Device variables are kept like blocks, always with a copy, behind all blocks; `before` is the hash at
  /// the previous boundary. Only the executor sees them.
  static constexpr uint64_t kVariable = uint64_t{1} << 63;
  bool variable() const { return block.ordinal & kVariable; }
  /// Returns whether a variable was the same at the previous boundary.
  bool settled() const { return hash != Hash{} && hash == before; }
  bool same_place(const LiveRow& other) const {
    return block.address == other.block.address && block.bytes == other.block.bytes;
  }
};
static_assert(sizeof(LiveRow) == 64, "EarlierTables counts on it");

/// Returns the row of the same place, or nullptr; rows are in the order of their ordinals.
const LiveRow* row_of(std::span<const LiveRow> rows, const LiveRow& live);

struct BoundaryState {
  uint64_t number = 0;
  uint64_t sequence = 0;  // of the boundary op: all ops up to it are in the state
  uint64_t position = 0;  // of its record in the journal
  // Boundaries that the worker makes between two ops (executor/step/meeting.h) have no op: this many up to
  // it. Such a boundary has the sequence of the op before it, and the position of the op after it.
  uint64_t own = 0, between = 0;
  // Events between the step's begin and this boundary; allocations are only written, nobody decides by them:
  uint32_t step_waits = 0, step_collectives = 0, step_allocations = 0;
  uint32_t measured = 0;  // not only copies were hashed: `before` may be known
  Policy policy;          // the boundary was made by
  Resources resources;
  std::vector<LiveRow> rows;

  /// Returns whether all of it is in copies: a roll-back to it needs no peer.
  bool whole() const;
  std::vector<std::byte> pack() const;
  /// Unpacks a state; `images` is that of unpack_resources.
  static BoundaryState unpack(std::span<const std::byte> bytes, ImageSource* images);
};

/// Returns a variable whose content after a step is unknown without running the step: it changed between the
/// last two boundaries, or base lacks it. Null if there is none.
const Resources::Variable* unsettled_variable(const Resources& resources, const BoundaryState* base);

/// Rows of measured boundaries to which no roll-back is possible any more. A job whose steps take
/// milliseconds commits a boundary before the service has asked all ranks for its rows; with the last few
/// tables kept here, the service gets two boundaries in a row from all ranks, however late it asks.
///
/// Memory: at most kTables tables, and at most kRows rows (64 bytes each, so 4 MiB) in all of them; the
/// oldest are dropped first, also when a single table is larger. The tables are this worker's own: a worker
/// that takes over begins without any. Called by: Checkpoints.
class EarlierTables {
 public:
  static constexpr size_t kTables = 8, kRows = size_t{1} << 16;

  /// Adds a boundary whose copies have been freed. Parts that were not measured are of no use later.
  void add(BoundaryState state);
  const BoundaryState* find(uint64_t number) const;

 private:
  std::deque<BoundaryState> tables_;  // oldest first
  size_t rows_ = 0;                   // in all of them
};

/// Live blocks before an optimizer step, kept for use after it. A block that only this rank has carries a
/// copy; one that other ranks also have carries its hash, if it changed since the previous boundary. A block
/// of that kind without a row here is unchanged since that boundary.
struct StepState {
  uint64_t step = 0;
  std::vector<LiveRow> rows;

  std::vector<std::byte> pack() const;
  static StepState unpack(std::span<const std::byte> bytes);
};

/// Boundaries, oldest first.
using Boundaries = std::deque<BoundaryState>;

}  // namespace jitc
