// The memory of one GPU, shared between the programs on it: each has a worker of its own, and together they
// stay within the GPU's limit.
//
// Promises: what all programs hold never exceeds the limit; no call waits for another process, whether that
// lives, is stopped or is dead. Called by: the devices, from any thread.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

namespace jitc {

class Board;
struct BoardSlot;

class MemoryBudget {
 public:
  virtual ~MemoryBudget() = default;
  /// False: with these bytes the programs on the GPU would hold more than the limit.
  virtual bool take(uint64_t bytes, uint64_t limit) = 0;
  virtual void give(uint64_t bytes) = 0;
  /// Bytes that all programs on the GPU hold, or have reserved.
  virtual uint64_t used() const = 0;
};

/// Of devices in one process that no board connects.
class LocalBudget final : public MemoryBudget {
 public:
  bool take(uint64_t bytes, uint64_t limit) override {
    uint64_t used = used_.load();
    do {
      if (bytes > limit || used > limit - bytes) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes));
    return true;
  }
  void give(uint64_t bytes) override { used_.fetch_sub(bytes); }
  uint64_t used() const override { return used_.load(); }

 private:
  std::atomic<uint64_t> used_{0};
};

/// Of one session, on the node's board. During a recovery the session's bytes stay reserved, so that no other
/// program can take the memory that the recovery needs: a worker that dies leaves them in its slot.
class BoardBudget final : public MemoryBudget {
 public:
  /// resumes: the slot has what an earlier worker of the session held; else it is empty from now on.
  BoardBudget(const Board& board, uint32_t slot, uint32_t gpu, bool resumes);
  bool take(uint64_t bytes, uint64_t limit) override;
  void give(uint64_t bytes) override;
  uint64_t used() const override;

  /// From now on memory that is given back stays reserved for this session.
  void reserve();
  /// The session has again what it had: the rest of the reservation ends.
  void settle();
  /// The slot belongs to another session from now on.
  void leave();

 private:
  void publish();  // with mutex_ held

  const Board& board_;
  BoardSlot& slot_;
  const uint32_t mark_;  // of the GPU's slots
  std::mutex mutex_;
  uint64_t held_ = 0, reserved_ = 0;
  bool left_ = false;
};

}  // namespace jitc
