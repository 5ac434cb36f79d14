// The node's board: one slot per session, in memory that all workers share. On it the sessions of a group
// agree on the newest boundaries that belong together (tally.h), and wait for each other before an optimizer
// step; sessions on one GPU share its memory through it, and all sessions the node's (memory_budget.h).
//
// Called by: sessions and memory budgets. Promise: all fields are atomics; a worker that changes something
// that others wait for rings the doorbell (a futex). A group: the sessions that communicators connect,
// directly or through others, and those that Resume names.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/tally.h"
#include "shared_map.h"

namespace jitc {

struct alignas(64) BoardSlot {
  std::atomic<uint64_t> session;  // 0: free
  std::atomic<uint64_t> epoch;
  std::atomic<uint64_t> prepared;  // newest boundary whose copies are complete
  std::atomic<uint64_t> reached;   // optimizer steps whose begin is reached, with the copies that come before
  std::atomic<uint64_t> begun;     // optimizer steps that have changed state
  std::atomic<uint64_t> memory;    // bytes on the GPU that it holds, or that its recovery needs
  std::atomic<uint64_t> copies;    // bytes of the node's memory that copies of its boundaries take
  std::atomic<uint64_t> unskippable;    // the step that peers cannot finish without this rank, 0: none
  std::atomic<uint32_t> communicators;  // names in use (BoardNames), free ones among them
  std::atomic<uint32_t> gpu;            // index plus 1; 0: holds no memory
  // Turns at the GPU (gpu_turn.h).
  std::atomic<uint32_t> guest;         // 1: its own GPU is another one
  std::atomic<uint32_t> stays;         // 1: the node has no memory for what it would have to move out
  std::atomic<uint64_t> wants_since;   // nanoseconds; 0: it does not want the turn
  std::atomic<uint64_t> seen_waiting;  // when it said last that it does
  std::atomic<uint64_t> wants_bytes;   // that it would have on the GPU
  // Its newest boundaries belong with none of other ranks: so many of them (executor/pairing/meeting.h).
  std::atomic<uint64_t> alone;
};
static_assert(sizeof(BoardSlot) == 128);

/// Names (tally.h) of the communicators that a slot's session belongs to, and of those that it has left and
/// may be taken back to. 0: free.
using BoardNames = std::array<std::atomic<uint64_t>, 8192>;

/// What a slot's session shows of its boundaries (RankHistory), as words that its worker alone writes. A
/// reader that meets a write, or what a worker has left that ended in one, finds nothing.
struct BoardHistory {
  static constexpr size_t kWords = 131070;
  std::atomic<uint64_t> revision;  // odd: being written
  std::atomic<uint64_t> count;     // of words
  std::array<std::atomic<uint64_t>, kWords> words;
};
static_assert(sizeof(BoardHistory) == 1 << 20);

class Board {
 public:
  static constexpr uint32_t kSlots = 256;
  /// Histories are hardly ever full: what is not written takes no memory.
  static constexpr uint64_t kHistories = kSlots * sizeof(BoardSlot) + 4096;
  static constexpr uint64_t kNames = kHistories + kSlots * sizeof(BoardHistory);
  static constexpr uint64_t kBytes = kNames + kSlots * sizeof(BoardNames);

  explicit Board(const std::string& path) : map_(path, kBytes) {}

  BoardSlot& slot(uint32_t index) const { return slots()[index]; }
  /// Notes that the slot's session belongs to the communicator. False: there is no place for one more.
  bool join(uint32_t slot, uint64_t communicator) const;
  /// The communicator connects the session with no other any more.
  void part(uint32_t slot, uint64_t communicator) const;
  /// Slots of the group that the slot belongs to, itself included.
  std::vector<uint32_t> group(uint32_t slot, const std::vector<uint32_t>& named) const;
  /// Smallest value of a counter over the slots.
  uint64_t least(const std::vector<uint32_t>& slots, std::atomic<uint64_t> BoardSlot::* counter) const;
  /// False: it is too long to be shown. Other ranks then find nothing that belongs with this one's
  /// boundaries.
  bool show(uint32_t slot, const RankHistory& history) const;
  /// Nothing: it shows none that can be read now.
  std::optional<RankHistory> history(uint32_t slot) const;
  /// Takes the session out of its group; it may still hold memory.
  void leave(uint32_t slot) const;
  /// The same, and frees the slot: it holds no memory either.
  void clear(uint32_t slot) const;

  /// Read the doorbell before looking at slots. wait returns if it has been rung since, or after the time.
  uint32_t doorbell() const;
  void ring() const;
  void wait(uint32_t seen, int milliseconds) const;

  /// A doorbell of the sessions on one GPU.
  std::atomic<uint32_t>& turn_doorbell(uint32_t gpu) const { return word(1 + gpu % kTurnGpus); }
  /// 1: the sessions on the GPU have been found not to fit there together.
  std::atomic<uint32_t>& crowded(uint32_t gpu) const { return word(1 + kTurnGpus + gpu % kTurnGpus); }

 private:
  static constexpr uint32_t kTurnGpus = 256;
  BoardHistory& history_of(uint32_t index) const {
    return reinterpret_cast<BoardHistory*>(map_.data() + kHistories)[index];
  }
  BoardNames& names_of(uint32_t index) const {
    return reinterpret_cast<BoardNames*>(map_.data() + kNames)[index];
  }
  /// Those in use.
  std::vector<uint64_t> names(uint32_t index) const;
  BoardSlot* slots() const { return reinterpret_cast<BoardSlot*>(map_.data()); }
  std::atomic<uint32_t>& doorbell_word() const { return word(0); }
  std::atomic<uint32_t>& word(uint32_t index) const {
    return reinterpret_cast<std::atomic<uint32_t>*>(map_.data() + kSlots * sizeof(BoardSlot))[index];
  }
  SharedMap map_;
};

}  // namespace jitc
