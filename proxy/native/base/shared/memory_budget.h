// The memory of one GPU, shared by the programs on it, and the node's memory for copies, shared by all. Each
// program has a worker of its own; together they stay within the limit.
//
// Promises: all programs together never hold more than the limit; no call waits for another process, be it
// alive, stopped or dead. Called by: the devices, from any thread; Snapshot.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

namespace jitc {

class NodeBoard;
struct NodeSlot;

class MemoryBudget {
 public:
  virtual ~MemoryBudget() = default;
  /// Takes the bytes. Returns false if the programs on the GPU would then hold more than the limit.
  virtual bool take(uint64_t bytes, uint64_t limit) = 0;
  virtual void give(uint64_t bytes) = 0;
  /// Notes that nothing is held on the GPU, or reserved for the session, any more. held: what it had.
  virtual void vacate(uint64_t held) { give(held); }
  /// Returns the bytes that all programs on the GPU hold, or have reserved.
  virtual uint64_t used() const = 0;
};

/// The budget of devices in one process, without a board.
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

/// The budget of one session, on the node's board. During a recovery the session's bytes stay reserved (a
/// worker that dies leaves them in its slot), so that no other program can take the memory that the recovery
/// needs.
class BoardBudget final : public MemoryBudget {
 public:
  /// Opens the budget. resumes: the slot has bytes of the session's earlier worker here; else it is empty.
  BoardBudget(const NodeBoard& board, uint32_t slot, uint32_t gpu, bool resumes);
  bool take(uint64_t bytes, uint64_t limit) override;
  void give(uint64_t bytes) override;
  void vacate(uint64_t held) override;
  uint64_t used() const override;

  /// Keeps memory that is given back from now on reserved for this session.
  void reserve();
  /// Ends the reservation: the session has everything back.
  void end_reservation();
  /// Releases the slot, which belongs to another session from now on.
  void leave();

 private:
  void publish();  // with mutex_ held

  const NodeBoard& board_;
  NodeSlot& slot_;
  const uint32_t mark_;  // of the GPU's slots
  std::mutex mutex_;
  uint64_t held_ = 0, reserved_ = 0;
  bool left_ = false;
};

/// Budget of the node's memory that the copies of one session take.
class CopiesBudget {
 public:
  /// Opens the budget. held: bytes of an earlier worker of the session.
  CopiesBudget(const NodeBoard& board, uint32_t slot, uint64_t limit, uint64_t held);
  /// Takes the bytes. Returns false if all copies on the node would then take more than the limit.
  bool take(uint64_t bytes);
  void give(uint64_t bytes);
  /// Releases the slot, like BoardBudget.
  void leave();
  /// Returns the bytes of this session; of all sessions; the limit of all.
  uint64_t held() const;
  uint64_t used() const;
  uint64_t limit() const { return limit_; }

 private:
  void publish();  // with mutex_ held

  const NodeBoard& board_;
  NodeSlot& slot_;
  const uint64_t limit_;
  mutable std::mutex mutex_;
  uint64_t held_;
  bool left_ = false;
};

}  // namespace jitc
