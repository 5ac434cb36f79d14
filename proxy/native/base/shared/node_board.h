// State by which the sessions of one node share its memory and its GPUs: one slot per session, the same as on
// the job's part of the board (job_board.h). It never leaves the node.
//
// Called by: memory budgets (memory_budget.h) and turns at a GPU (gpu_turn.h). Promise: all fields are
// atomics.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace jitc {

struct alignas(64) NodeSlot {
  std::atomic<uint64_t> session;  // 0: none; it may still hold memory
  std::atomic<uint64_t> memory;   // bytes on the GPU that it holds, or that its recovery needs
  std::atomic<uint64_t> copies;   // bytes of the node's memory that copies of its boundaries take
  std::atomic<uint32_t> gpu;      // index plus 1; 0: holds no memory
  // Turns at the GPU.
  std::atomic<uint32_t> guest;         // 1: its own GPU is another one
  std::atomic<uint32_t> stays;         // 1: the node has no memory for what it would have to move out
  std::atomic<uint64_t> wants_since;   // nanoseconds; 0: it does not want the turn
  std::atomic<uint64_t> seen_waiting;  // time of its newest request
  std::atomic<uint64_t> wants_bytes;   // bytes that it would have on the GPU
};
static_assert(sizeof(NodeSlot) == 64);

class NodeBoard {
 public:
  static constexpr uint32_t kSlots = 256;
  static constexpr uint64_t kWords = kSlots * sizeof(NodeSlot), kBytes = kWords + 4096;

  /// Uses `memory`: kBytes that outlive it.
  explicit NodeBoard(std::byte* memory) : memory_(memory) {}

  NodeSlot& slot(uint32_t index) const { return reinterpret_cast<NodeSlot*>(memory_)[index]; }
  /// Returns a doorbell of the sessions on one GPU.
  std::atomic<uint32_t>& turn_doorbell(uint32_t gpu) const { return word(gpu % kTurnGpus); }
  /// Returns 1 if the sessions on the GPU have been found not to fit there together.
  std::atomic<uint32_t>& crowded(uint32_t gpu) const { return word(kTurnGpus + gpu % kTurnGpus); }

  /// Frees the slot; the memory that its session held is still counted.
  void leave(uint32_t index) const { slot(index).session.store(0); }
  /// Frees the slot, whose session holds nothing any more.
  void clear(uint32_t index) const {
    NodeSlot& one = slot(index);
    leave(index);
    for (auto* const word : {&one.gpu, &one.guest, &one.stays}) word->store(0);
    for (auto* const count : {&one.memory, &one.copies, &one.wants_since}) count->store(0);
  }

 private:
  static constexpr uint32_t kTurnGpus = 256;
  std::atomic<uint32_t>& word(uint32_t index) const {
    return reinterpret_cast<std::atomic<uint32_t>*>(memory_ + kWords)[index];
  }

  std::byte* memory_;
};

}  // namespace jitc
