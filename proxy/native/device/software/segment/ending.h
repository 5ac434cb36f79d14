// End of a communicator that the program aborts: which of its collectives are done, and which are not.
//
// A collective in flight stops between two of its steps, later ones do nothing, and no stream continues
// before the journal has that as the abort's result. In a replay the result is known beforehand: the same
// collectives stop at the same step, independently of the other ranks. So ranks that have this one's
// contribution get it again, and those that wait keep waiting.
//
// Lock rule: a mutex of its own; any thread. Waiting is the communicator's business (WaitHub).
// Called by: Group (streams' threads), Communicators (dispatcher, the abort's own thread).
#pragma once
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace jitc::software {

/// Collective among those of its communicator. The launch of a graph gives several with one sequence.
struct CollectivePosition {
  uint64_t sequence = 0, index = 0;
  auto operator<=>(const CollectivePosition&) const = default;
};

/// First collective that is not done, and how many of its steps are, by item of its group. Without steps it
/// never began.
struct Cut {
  CollectivePosition first;
  std::vector<uint64_t> steps;

  bool excludes(const CollectivePosition& at) const { return steps.empty() ? at >= first : at > first; }
  std::vector<std::byte> pack() const;
  static Cut unpack(std::span<const std::byte> bytes);
};

class Ending {
 public:
  /// Supplies the ending in a replay, before the first collective is submitted.
  void expect(Cut cut);

  // Functions for collectives. given() in order, by one thread at a time.
  CollectivePosition given(uint64_t sequence);
  /// Returns whether the collective is known not to be done.
  bool excluded(const CollectivePosition& at) const;
  /// Begins a collective when its turn has come. False: it is not to be done.
  bool begin(const CollectivePosition& at);
  /// Returns the steps, by item, that it may do in a replay.
  std::optional<std::vector<uint64_t>> limits(const CollectivePosition& at) const;
  void done(const CollectivePosition& at);
  void stopped(const CollectivePosition& at, std::vector<uint64_t> steps);

  /// Ends it on the program's abort. All collectives up to the sequence were submitted, maybe not later ones.
  void end(uint64_t sequence);
  /// Returns whether collectives in flight must stop. False in a replay, which repeats the original.
  bool ends() const { return ends_.load(); }
  /// Returns whether none of its collectives is in flight.
  bool settled() const;
  /// Returns the outcome. Requires settled().
  Cut outcome() const;
  void record() { recorded_.store(true); }
  /// Returns whether the journal has the outcome: streams may continue.
  bool recorded() const { return recorded_.load(); }

 private:
  bool excluded_locked(const CollectivePosition& at) const;

  mutable std::mutex mutex_;  // guards all but atomics
  std::optional<Cut> expected_, stopped_;
  CollectivePosition last_, after_;         // submitted; of the abort: the first position after it
  std::deque<CollectivePosition> pending_;  // submitted, not done
  bool under_way_ = false;                  // the first of them
  std::atomic<bool> ends_{false}, recorded_{false};
};

}  // namespace jitc::software
