// A boundary whose copies are made while the device does the next minibatch.
//
// Only blocks wait that nothing writes before the next optimizer step, as far as was seen at the first
// boundaries and now and then after. When all is copied their content is hashed again, on the device: if one
// of its blocks has changed meanwhile the boundary is void, and that block waits no more. Until it is
// published the boundary counts as one that was skipped, so a fault rolls back to the one before. Promises:
// it is published, or given up, before the next step begins; what is published is whole. State: of the
// dispatcher's thread, and of commands while it is parked; a thread of its own waits for the copies. Called
// by: BoundaryMaker (begin), StepGate (learn, finish), Dispatcher (finish), Recovery (give_up).
#pragma once
#include <atomic>
#include <future>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "device/transfers.h"
#include "executor/boundary/boundary_state.h"

namespace jitc {

class Checkpoints;
class Drain;
class RowCopies;
class SessionCore;

/// Blocks that nothing writes between a boundary and the next step. Pure except for what it has seen.
class SteadyBlocks {
 public:
  /// Notes the content of these rows of the boundary now that the next step begins.
  void saw(std::span<const LiveRow> rows, std::span<const Hash> now);
  void has_changed(const LiveRow& row) { restless_.insert(row.block.ordinal); }
  bool has(const LiveRow& row) const;
  /// Returns whether the minibatch after this boundary is to be examined.
  static bool looks_after(uint64_t boundaries) { return (boundaries - 1) % kEvery < kLooks; }

 private:
  /// Minibatches examined in a row, and boundaries from one such round to the next.
  static constexpr uint64_t kLooks = 3, kEvery = 1000;
  std::unordered_map<uint64_t, uint64_t> times_;  // ordinal -> checks that found it unchanged
  std::unordered_set<uint64_t> restless_;         // changed while taken for steady: never again
};

class LateBoundary {
 public:
  LateBoundary(SessionCore& core, Checkpoints& checkpoints, RowCopies& copies, Drain& drain)
      : core_(core), checkpoints_(checkpoints), copies_(copies), drain_(drain) {}
  ~LateBoundary() { stop(); }
  LateBoundary(const LateBoundary&) = delete;
  LateBoundary& operator=(const LateBoundary&) = delete;
  /// Ends waiting for the device. Called before the device ends.
  void stop();

  /// Returns whether the device supports it.
  bool usable() const;
  bool may_wait(const LiveRow& row) const { return row.block.bytes > Policy::kSmall && steady_.has(row); }
  /// Examines the newest boundary's blocks at the begin of a step, if it is one to learn from. Returns false
  /// if the session stops.
  bool learn(uint64_t step);

  /// Begins copies of these blocks; the state's rows have room for all of their copies. Returns false if the
  /// session stops.
  bool begin(BoundaryState state, std::vector<BlockCopy> blocks);
  /// Returns whether all is copied. Any thread.
  bool is_ready() const { return ready_; }
  /// Waits, and publishes the boundary in progress. Returns false if the session stops.
  bool finish();
  /// Gives up the boundary. Requires a fenced device.
  void give_up();

 private:
  bool wait_for_copies();
  bool await();
  bool is_whole(const BoundaryState& state);

  SessionCore& core_;
  Checkpoints& checkpoints_;
  RowCopies& copies_;
  Drain& drain_;
  SteadyBlocks steady_;
  std::optional<BoundaryState> state_;
  std::unordered_set<uint64_t> late_;  // addresses of its blocks that are copied beside the work

  std::atomic<bool> ready_{false};
  std::future<bool> copying_;  // false: the device has failed
};

}  // namespace jitc
