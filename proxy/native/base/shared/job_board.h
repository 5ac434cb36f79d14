// State on which the ranks of a job agree, in memory that they share: one slot per session. They agree on the
// newest boundaries that belong together (tally.h), and wait for each other before an optimizer step.
//
// A job may have sessions on other nodes: each of them has a *mirror slot* here, which the node service
// enters and the bridge keeps up to date (proxy/native/bridge). Readers see no difference.
//
// Called by: sessions; the service and the bridge, for mirror slots. Promise: all fields are atomics; a
// worker that changes something that others wait for rings the doorbell (a futex), and that of the bridge, if
// there is one. A group: the sessions that communicators connect, directly or through others, and those that
// Resume names. Nothing here is specific to one node: such state is on the other part of the board
// (node_board.h).
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/shared/doorbell.h"
#include "base/tally.h"

namespace jitc {

struct alignas(64) JobSlot {
  std::atomic<uint64_t> session;      // 0: free
  std::atomic<uint64_t> epoch;        // of its newest Resume: in an epoch, the next three only grow
  std::atomic<uint64_t> prepared;     // newest boundary whose copies are complete
  std::atomic<uint64_t> reached;      // optimizer steps whose begin is reached, with the copies before it
  std::atomic<uint64_t> begun;        // optimizer steps that have changed state
  std::atomic<uint64_t> unskippable;  // the step that peers cannot finish without this rank, 0: none
  // Number of its newest boundaries that belong with none of other ranks (executor/step/meeting.h).
  std::atomic<uint64_t> alone;
  std::atomic<uint32_t> communicators;  // names in use (JobNames), free ones among them
};
static_assert(sizeof(JobSlot) == 64);

/// Counters of a slot, as they were or shall be.
struct JobCounters {
  uint64_t prepared = 0, reached = 0, begun = 0, unskippable = 0, alone = 0;
  bool operator==(const JobCounters&) const = default;
};

/// Names (tally.h) of the communicators that a slot's session belongs to, and of those that it has left and
/// may roll back to. 0: free.
using JobNames = std::array<std::atomic<uint64_t>, 8192>;

/// Boundaries that a slot's session shows (RankHistory), as words that its worker alone writes. A reader that
/// meets a write, or the unfinished write of a worker that ended, finds nothing.
struct JobHistory {
  static constexpr size_t kWords = 131070;
  std::atomic<uint64_t> revision;                   // odd: being written
  std::atomic<uint64_t> count;                      // of words
  std::array<std::atomic<uint64_t>, kWords> words;  // the first one: RankHistory::version
};
static_assert(sizeof(JobHistory) == 1 << 20);

struct JobDoorbells {
  alignas(64) std::atomic<uint32_t> ranks;    // of all sessions on this node: a futex
  alignas(64) std::atomic<uint32_t> bridged;  // 1: a bridge shows slots to other nodes
  alignas(64) Doorbell bridge;
};
static_assert(sizeof(JobDoorbells) <= 4096);

class JobBoard {
 public:
  static constexpr uint32_t kSlots = 256;
  static constexpr uint64_t kDoorbell = kSlots * sizeof(JobSlot), kHistories = kDoorbell + 4096;
  /// Histories are hardly ever full: unwritten words take no memory.
  static constexpr uint64_t kNames = kHistories + kSlots * sizeof(JobHistory);
  static constexpr uint64_t kBytes = kNames + kSlots * sizeof(JobNames);

  /// Uses `memory`: kBytes that outlive it.
  explicit JobBoard(std::byte* memory) : memory_(memory) {}

  JobSlot& slot(uint32_t index) const { return reinterpret_cast<JobSlot*>(memory_)[index]; }
  /// Notes that the slot's session belongs to the communicator. Returns false if there is no place left. Any
  /// process.
  bool join(uint32_t slot, uint64_t communicator) const;
  /// Notes that the communicator connects the session with no other any more.
  void part(uint32_t slot, uint64_t communicator) const;
  /// Returns the names in use.
  std::vector<uint64_t> names(uint32_t slot) const;
  /// Returns the slots of the group that the slot belongs to, itself included.
  std::vector<uint32_t> group(uint32_t slot, const std::vector<uint32_t>& named) const;
  /// Returns the smallest value of a counter over the slots.
  uint64_t least(const std::vector<uint32_t>& slots, std::atomic<uint64_t> JobSlot::* counter) const;
  /// Shows a history, as the next version of its session. Returns false if it is too long to be shown: other
  /// ranks then find nothing that belongs with this one's boundaries.
  bool show(uint32_t slot, const RankHistory& history) const;
  /// Returns the history shown; nothing if none can be read now.
  std::optional<RankHistory> history(uint32_t slot) const;
  /// Returns the versions shown in the group that the names alone connect with the slot.
  std::vector<Version> seen_from(uint32_t slot) const;
  /// Returns the version that the slot shows, Version::kUnknown if it shows nothing.
  uint64_t version(uint32_t slot) const;
  /// Shows a history by its words, at most JobHistory::kWords; none: readers find nothing.
  void show_words(uint32_t slot, std::span<const uint64_t> words) const;
  /// A history's words, and the revision that another one would have changed.
  struct Shown {
    uint64_t revision = 0;
    std::vector<uint64_t> words;
  };
  /// Returns the history shown; nothing if it is being written.
  std::optional<Shown> shown(uint32_t slot) const;
  /// Returns the revision alone.
  uint64_t revision(uint32_t slot) const { return history_of(slot).revision.load(); }
  /// Takes the session out of its group.
  void leave(uint32_t slot) const;

  // Mirror slots.
  /// Gives the slot to a session of another node, with what is known of it: all else is 0. If the slot is
  /// that session's already, only names are added. Returns false if there is no place left for them.
  bool enter(uint32_t slot, uint64_t session, uint64_t epoch, std::span<const uint64_t> names) const;
  /// Sets the slot to the begin of an epoch: counters exactly, even if they are lower, and no history. No
  /// other process writes to the slot meanwhile.
  void begin_epoch(uint32_t slot, uint64_t epoch, const JobCounters& counters) const;

  /// Returns the doorbell, to be read before the slots. wait returns once it has rung, or after the time.
  uint32_t doorbell() const { return doorbells().ranks.load(); }
  /// Rings the doorbell of the sessions here, and the bridge's.
  void ring() const;
  /// Rings that of the sessions here alone.
  void wake() const;
  void wait(uint32_t seen, int milliseconds) const;

  /// Returns the bridge's doorbell, which ranks of communicators ring as well.
  Doorbell& bridge() const { return doorbells().bridge; }
  /// Says whether there is a bridge. Rings before that are lost: it looks at the slots afterwards.
  void set_bridged(bool bridged) const { doorbells().bridged.store(bridged); }
  /// Rings the bridge's doorbell, if there is one.
  void tell_bridge() const {
    if (doorbells().bridged.load() != 0) bridge().ring();
  }

 private:
  JobHistory& history_of(uint32_t index) const {
    return reinterpret_cast<JobHistory*>(memory_ + kHistories)[index];
  }
  JobNames& names_of(uint32_t index) const { return reinterpret_cast<JobNames*>(memory_ + kNames)[index]; }
  JobDoorbells& doorbells() const { return *reinterpret_cast<JobDoorbells*>(memory_ + kDoorbell); }

  std::byte* memory_;
};

}  // namespace jitc
