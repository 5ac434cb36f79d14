// Physical memory of the GPU: taken within the limit, mapped at a block's addresses, released.
//
// Promise: taken memory counts against the limit and the budget until it is finally released. Lock rule: that
// of Memory, except for total() and rounded(). Called by: Memory.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/shared/memory_budget.h"
#include "device/cuda/driver/context.h"

namespace jitc::cuda {

/// Block of physical memory.
struct Block {
  uint64_t address = 0, bytes = 0;  // as requested
  uint64_t size = 0;                // of its physical memory
  abi::CUmemGenericAllocationHandle memory = 0;
  uint64_t born = 0;  // sequence of the op that made it
  bool mapped = false;
};

class PhysicalMemory {
 public:
  PhysicalMemory(uint64_t limit, std::shared_ptr<MemoryBudget> budget)
      : limit_(limit), budget_(std::move(budget)) {}
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;
  /// alignment: of blocks; false with the reason.
  bool open(std::shared_ptr<Context> context, uint64_t alignment, std::string& error);

  uint64_t rounded(uint64_t bytes) const { return (bytes + granularity_ - 1) / granularity_ * granularity_; }
  uint64_t total() const;
  /// Returns whether so much more is within the limit.
  bool allows(uint64_t size) const { return taken_ + size <= total(); }

  /// Takes unmapped memory for the block. Returns a cudaError_t; throws OpError on other driver errors.
  uint32_t create(Block& block);
  /// Maps the block. Throws OpError.
  void map(Block& block);
  void unmap(Block& block);
  void release(Block& block);

 private:
  abi::CUresult ask(Block& block);

  const uint64_t limit_;
  const std::shared_ptr<MemoryBudget> budget_;
  std::shared_ptr<Context> context_;
  abi::CUmemAllocationProp properties_{};
  uint64_t granularity_ = 0;
  uint64_t taken_ = 0;  // bytes taken from the driver, including retained memory
};

}  // namespace jitc::cuda
