// State on which the ranks of a job agree, in memory that they share: one slot per session. They agree on the
// newest boundaries that belong together (tally.h), and wait for each other before an optimizer step.
//
// Called by: sessions. Promise: all fields are atomics; a worker that changes something that others wait for
// rings the doorbell (a futex). A group: the sessions that communicators connect, directly or through others,
// and those that Resume names. Nothing here is specific to one node: such state is on the other part of the
// board (node_board.h).
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/tally.h"

namespace jitc {

struct alignas(64) JobSlot {
  std::atomic<uint64_t> session;  // 0: free
  std::atomic<uint64_t> epoch;
  std::atomic<uint64_t> prepared;     // newest boundary whose copies are complete
  std::atomic<uint64_t> reached;      // optimizer steps whose begin is reached, with the copies before it
  std::atomic<uint64_t> begun;        // optimizer steps that have changed state
  std::atomic<uint64_t> unskippable;  // the step that peers cannot finish without this rank, 0: none
  // Number of its newest boundaries that belong with none of other ranks (executor/step/meeting.h).
  std::atomic<uint64_t> alone;
  std::atomic<uint32_t> communicators;  // names in use (JobNames), free ones among them
};
static_assert(sizeof(JobSlot) == 64);

/// Names (tally.h) of the communicators that a slot's session belongs to, and of those that it has left and
/// may roll back to. 0: free.
using JobNames = std::array<std::atomic<uint64_t>, 8192>;

/// Boundaries that a slot's session shows (RankHistory), as words that its worker alone writes. A reader that
/// meets a write, or the unfinished write of a worker that ended, finds nothing.
struct JobHistory {
  static constexpr size_t kWords = 131070;
  std::atomic<uint64_t> revision;  // odd: being written
  std::atomic<uint64_t> count;     // of words
  std::array<std::atomic<uint64_t>, kWords> words;
};
static_assert(sizeof(JobHistory) == 1 << 20);

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
  /// Notes that the slot's session belongs to the communicator. Returns false if there is no place left.
  bool join(uint32_t slot, uint64_t communicator) const;
  /// Notes that the communicator connects the session with no other any more.
  void part(uint32_t slot, uint64_t communicator) const;
  /// Returns the slots of the group that the slot belongs to, itself included.
  std::vector<uint32_t> group(uint32_t slot, const std::vector<uint32_t>& named) const;
  /// Returns the smallest value of a counter over the slots.
  uint64_t least(const std::vector<uint32_t>& slots, std::atomic<uint64_t> JobSlot::* counter) const;
  /// Shows a history. Returns false if it is too long to be shown: other ranks then find nothing that belongs
  /// with this one's boundaries.
  bool show(uint32_t slot, const RankHistory& history) const;
  /// Returns the history shown; nothing if none can be read now.
  std::optional<RankHistory> history(uint32_t slot) const;
  /// Takes the session out of its group.
  void leave(uint32_t slot) const;

  /// Returns the doorbell, to be read before the slots. wait returns once it has rung, or after the time.
  uint32_t doorbell() const { return doorbell_word().load(); }
  void ring() const;
  void wait(uint32_t seen, int milliseconds) const;

 private:
  JobHistory& history_of(uint32_t index) const {
    return reinterpret_cast<JobHistory*>(memory_ + kHistories)[index];
  }
  JobNames& names_of(uint32_t index) const { return reinterpret_cast<JobNames*>(memory_ + kNames)[index]; }
  /// Returns the names in use.
  std::vector<uint64_t> names(uint32_t index) const;
  std::atomic<uint32_t>& doorbell_word() const {
    return *reinterpret_cast<std::atomic<uint32_t>*>(memory_ + kDoorbell);
  }

  std::byte* memory_;
};

}  // namespace jitc
