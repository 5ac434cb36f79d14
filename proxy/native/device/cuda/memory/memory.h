// Memory of one session on the GPU: blocks at addresses that the client chose, in a reserved address range.
//
// Promises: a block freed since the last commit keeps its content and comes back with restore(), unless the
// memory was needed meanwhile (shrink); mapped memory is unmapped only by calls that say so, which require an
// idle device. Called by: Device; look-ups from any thread.
#pragma once
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/shared/memory_budget.h"
#include "device/common/turns/residency.h"
#include "device/cuda/driver/context.h"
#include "device/resources.h"
#include "device/transfers.h"
#include "driver_ranges.h"
#include "moved_out.h"
#include "physical.h"

namespace jitc::cuda {

class Memory final : public device::Movable {
 public:
  /// budget: the limit shared by all programs on the GPU. patience: longest wait of restore() for memory of a
  /// lost worker that the driver has not reclaimed yet. node: source of memory for moving out; none:
  /// unlimited.
  Memory(uint64_t base, uint64_t bytes, uint64_t limit, std::shared_ptr<MemoryBudget> budget,
         std::chrono::duration<double> patience, CopiesBudget* node = nullptr);
  ~Memory() override;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  /// Reserves the range; false with the reason.
  bool reserve(std::shared_ptr<Context> context, std::string& error);

  /// Returns whether the range contains a freed, still mapped block: then allocate() needs an idle device.
  bool overlaps_freed(uint64_t address, uint64_t bytes) const;
  /// Allocates a block. Returns 0, kInvalidValue or kMemoryAllocation; throws OpError on other driver errors.
  uint32_t allocate(uint64_t address, uint64_t bytes, uint64_t sequence);
  /// Takes physical memory without an address. Returns a cudaError_t; throws OpError on other driver errors.
  uint32_t hold(uint64_t handle, uint64_t bytes);
  /// Returns the bytes of held memory; 0: none has that handle.
  uint64_t held(uint64_t handle) const;
  /// Turns held memory into a block; result as for allocate(), and kInvalidResourceHandle.
  uint32_t map_held(uint64_t handle, uint64_t address, uint64_t sequence);
  uint32_t drop(uint64_t handle);
  /// Frees a block, whose memory stays as it is. Returns a cudaError_t.
  uint32_t free(uint64_t address);
  /// Returns whether the limit allows so much, once retained memory is given up.
  bool fits(uint64_t bytes) const;
  /// Returns the oldest freed block to the driver; false when there is none. Requires an idle device.
  bool shrink();
  /// Releases freed memory: now if the device is idle, else at the next commit or shrink.
  void commit(bool quiesced);
  /// Requires an idle device.
  bool restore(const Resources& wanted, std::string& error);
  /// Does the same if others may make room; missing: bytes that others have, 0: another failure. It may be
  /// tried again then.
  bool restore(const Resources& wanted, std::string& error, uint64_t& missing);

  // Movable. Requires that no block is made, freed or used while they are out.
  bool move_out() override;
  bool move_in() override;
  uint64_t bytes() const override { return used_.load(); }
  bool has_room_for(uint64_t more) const override;
  bool could_have(uint64_t more) const override;
  void came_beside() override;

  /// Returns whether live blocks cover the range without a gap.
  bool contains(uint64_t address, uint64_t bytes) const;
  /// Returns the ranges beside blocks that contains() accepts.
  DriverRanges& driver_ranges() { return driver_ranges_; }
  /// Returns the driver's address for one that contains() accepts.
  uint64_t real(uint64_t address) const { return driver_ranges_.real(address); }

  uint64_t used() const { return used_.load(); }
  uint64_t total() const { return physical_.total(); }
  /// Returns the bytes that a program can still allocate.
  uint64_t available() const;

 private:
  class Rollback;
  using Blocks = std::map<uint64_t, Block>;

  bool roll_back(const Resources& wanted, std::string& error, uint64_t* missing);
  bool reserve_most(std::string& error);
  bool reserve_range(std::string& error);
  // Require mutex_.
  uint32_t check_range(uint64_t address, uint64_t bytes) const;
  bool overlaps(const Block& block, uint64_t address, uint64_t bytes) const;
  void put_aside(uint64_t address, uint64_t size);
  void put(Block block);
  bool covered(uint64_t address, uint64_t bytes) const;
  void drop_one(Blocks::iterator held);
  std::vector<std::pair<uint64_t, uint64_t>> ranges() const;

  const uint64_t base_;
  uint64_t bytes_;  // of addresses, from base_ on
  const std::shared_ptr<MemoryBudget> budget_;
  const std::chrono::duration<double> patience_;
  std::shared_ptr<Context> context_;
  bool reserved_ = false;
  std::atomic<uint64_t> used_{0};
  DriverRanges driver_ranges_;
  mutable std::mutex mutex_;  // guards what follows
  PhysicalMemory physical_;
  Blocks live_;
  Blocks held_;                   // by handle; without an address
  std::vector<Block> condemned_;  // freed before the last commit
  std::vector<Block> freed_;      // freed since then, oldest first
  MovedOut moved_out_;
  bool out_ = false;  // the blocks have no physical memory
};

/// Returns the ranges at the driver's addresses.
std::vector<MemoryRange> real(const Memory& memory, std::span<const MemoryRange> ranges);

}  // namespace jitc::cuda
