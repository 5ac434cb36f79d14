// Copies of a collective's operands in pinned host memory while sessions take turns at their GPU: NCCL works
// on them there, so that a rank that waits for others need not have its memory on the GPU (decision 67).
//
// Promises: an operand inside another one is inside its copy; the memory is kept for the next collective.
// Lock rule: the device's mutex. Called by: CollectiveHandlers.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collective_call.h"
#include "device/cuda/memory/pinned.h"

namespace jitc::cuda {

class Staging {
 public:
  explicit Staging(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  /// Copies the operands, which are on the GPU; returns the items with their new addresses. Throws OpError.
  std::vector<ops::CollectiveItem> take(std::span<const CollectiveCall::Operands> operands,
                                        abi::CUstream stream);
  /// Copies what has been received to its destination.
  void give_back(abi::CUstream stream);
  /// Forgets what has been received.
  void clear() { received_.clear(); }
  bool contains(uint64_t address, uint64_t bytes) const;

 private:
  uint64_t copy(uint64_t from, uint64_t bytes, abi::CUstream stream);
  void move(const CollectiveCall::Operands& operands, ops::CollectiveItem& item, abi::CUstream stream);

  struct Received {
    uint64_t device, host, bytes;
  };
  const std::shared_ptr<Context> context_;
  std::unique_ptr<HostMemory> memory_;
  uint64_t size_ = 0, used_ = 0;
  std::vector<Received> received_;
};

}  // namespace jitc::cuda
