// Moves blocks between this device and another worker's, over NCCL.
//
// Calls of NCCL can hang, against its promise. So an end runs in a thread of its own, which is abandoned
// then. A sender can continue without it: the blocks are only read. A receiver cannot: its blocks may still
// be written to, so its process ends, which counts as any other death.
// Lock rule: none; the device is fenced. Called by: Device.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "device/cuda/driver/quiesce.h"
#include "device/cuda/memory/memory.h"
#include "device/transfers.h"

namespace jitc::cuda {

class DirectPath final : public BlockMover {
 public:
  DirectPath(std::shared_ptr<Context> context, const Memory& memory, device::Residency& residency,
             const Quiesce& quiesce, std::string nccl_path)
      : context_(std::move(context)),
        memory_(memory),
        residency_(residency),
        quiesce_(quiesce),
        nccl_path_(std::move(nccl_path)) {}
  /// Returns whether NCCL is available, and both ends can have their memory on their GPUs at once.
  bool usable() const override;
  bool move_blocks(const DirectTransfer& transfer, std::span<const MemoryRange> ranges,
                   std::string& error) const override;

 private:
  const std::shared_ptr<Context> context_;
  const Memory& memory_;
  device::Residency& residency_;
  const Quiesce& quiesce_;
  const std::string nccl_path_;
};

}  // namespace jitc::cuda
