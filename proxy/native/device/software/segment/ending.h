// How a communicator that the program aborts ends: which of its collectives are done, and which are not.
//
// A collective under way stops between two of its steps, later ones do nothing, and no stream goes on before
// the journal has that as the abort's result. In a replay the result is known beforehand: the same
// collectives stop at the same step, whatever the other ranks do meanwhile. So ranks that have what they need
// from this one get it again, and those that wait go on waiting.
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

/// A collective among those of its communicator. The launch of a graph gives several with one sequence.
struct CollectivePosition {
  uint64_t sequence = 0, index = 0;
  auto operator<=>(const CollectivePosition&) const = default;
};

/// The first collective that is not done, and how many of its steps are, by item of its group. Without steps
/// it never began.
struct Cut {
  CollectivePosition first;
  std::vector<uint64_t> steps;

  bool excludes(const CollectivePosition& at) const { return steps.empty() ? at >= first : at > first; }
  std::vector<std::byte> pack() const;
  static Cut unpack(std::span<const std::byte> bytes);
};

class Ending {
 public:
  /// A replay: this is how it ended. Before the first collective is given.
  void expect(Cut cut);

  // Collectives. given() in order, by one thread at a time.
  CollectivePosition given(uint64_t sequence);
  /// Known not to be done.
  bool excluded(const CollectivePosition& at) const;
  /// Its turn has come. False: it is not to be done.
  bool begin(const CollectivePosition& at);
  /// In a replay: the steps, by item, that it may do.
  std::optional<std::vector<uint64_t>> limits(const CollectivePosition& at) const;
  void done(const CollectivePosition& at);
  void stopped(const CollectivePosition& at, std::vector<uint64_t> steps);

  /// The program's abort. All collectives up to the sequence were given, later ones perhaps not yet.
  void end(uint64_t sequence);
  /// Whether what is under way is to stop. Not in a replay, which does what was done.
  bool ends() const { return ends_.load(); }
  /// Nothing of it is under way any more.
  bool settled() const;
  /// Once settled.
  Cut outcome() const;
  void record() { recorded_.store(true); }
  /// The journal has the outcome: streams may go on.
  bool recorded() const { return recorded_.load(); }

 private:
  bool excluded_locked(const CollectivePosition& at) const;

  mutable std::mutex mutex_;  // what is no atomic
  std::optional<Cut> expected_, stopped_;
  CollectivePosition last_, after_;         // given; of the abort: what comes from here on
  std::deque<CollectivePosition> pending_;  // given, not done
  bool under_way_ = false;                  // the first of them
  std::atomic<bool> ends_{false}, recorded_{false};
};

}  // namespace jitc::software
