// Memory of one session on the GPU: blocks at addresses that the client chose, in a reserved address range.
//
// Promises: a block freed since the last commit keeps its content and comes back with restore(), unless the
// memory was needed in between (shrink); nothing that is mapped is unmapped but by calls that say so, and
// then the device must be at rest. Called by: Device; look-ups from any thread.
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
  /// budget: what all programs on the GPU share of the limit. patience: how long restore() waits for memory
  /// that a lost worker had and that the driver has not taken back yet.
  /// node: what memory that is moved out is taken of; none: there is as much as one wants.
  Memory(uint64_t base, uint64_t bytes, uint64_t limit, std::shared_ptr<MemoryBudget> budget,
         std::chrono::duration<double> patience, CopiesBudget* node = nullptr);
  ~Memory() override;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  /// Reserves the range; false with the reason.
  bool reserve(std::shared_ptr<Context> context, std::string& error);

  /// Whether a freed block that is still mapped lies in the range: then allocate() needs a device at rest.
  bool overlaps_freed(uint64_t address, uint64_t bytes) const;
  /// A cudaError_t, 0 or kInvalidValue or kMemoryAllocation; throws OpError when the driver says else.
  uint32_t allocate(uint64_t address, uint64_t bytes, uint64_t sequence);
  /// Takes physical memory that has no address yet. A cudaError_t; throws OpError when the driver says else.
  uint32_t hold(uint64_t handle, uint64_t bytes);
  /// Bytes of held memory; 0: there is none of that handle.
  uint64_t held(uint64_t handle) const;
  /// Held memory becomes a block; as allocate(), with kInvalidHandle.
  uint32_t map_held(uint64_t handle, uint64_t address, uint64_t sequence);
  uint32_t drop(uint64_t handle);
  /// A cudaError_t. The memory stays as it is.
  uint32_t free(uint64_t address);
  /// Whether the limit allows so much, once what is held back is given up.
  bool fits(uint64_t bytes) const;
  /// Gives the freed block that was freed first back to the driver; false when there is none. At rest only.
  bool shrink();
  /// What was freed may go; it does when the device is at rest, else at the next commit or shrink.
  void commit(bool quiesced);
  /// At rest only.
  bool restore(const Resources& wanted, std::string& error);
  /// The same where others may make room; missing: bytes that others have, 0: it is something else. Then it
  /// may be tried again.
  bool restore(const Resources& wanted, std::string& error, uint64_t& missing);

  // Movable. No block is made, freed or used while they are out.
  bool move_out() override;
  bool move_in() override;
  uint64_t bytes() const override { return used_.load(); }
  bool has_room_for(uint64_t more) const override;
  bool could_have(uint64_t more) const override;
  void came_beside() override;

  /// Whether the range lies inside blocks that are alive, without a gap between them.
  bool contains(uint64_t address, uint64_t bytes) const;
  /// What contains() knows beside blocks.
  DriverRanges& driver_ranges() { return driver_ranges_; }
  /// For the driver: where an address that contains() knows really is.
  uint64_t real(uint64_t address) const { return driver_ranges_.real(address); }

  uint64_t used() const { return used_.load(); }
  uint64_t total() const { return physical_.total(); }
  /// Bytes that a program can still get.
  uint64_t available() const;

 private:
  class Rollback;
  using Blocks = std::map<uint64_t, Block>;

  bool roll_back(const Resources& wanted, std::string& error, uint64_t* missing);
  bool reserve_most(std::string& error);
  bool reserve_range(std::string& error);
  // All with mutex_ held.
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
  mutable std::mutex mutex_;  // what follows
  PhysicalMemory physical_;
  Blocks live_;
  Blocks held_;                   // by handle; without an address
  std::vector<Block> condemned_;  // freed before the last commit
  std::vector<Block> freed_;      // since, oldest first
  MovedOut moved_out_;
  bool out_ = false;  // the blocks have no physical memory
};

/// The ranges as the driver has them.
std::vector<MemoryRange> real(const Memory& memory, std::span<const MemoryRange> ranges);

}  // namespace jitc::cuda
