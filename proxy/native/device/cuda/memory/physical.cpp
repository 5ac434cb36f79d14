// See physical.h.
#include "physical.h"

#include <algorithm>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {

bool PhysicalMemory::open(std::shared_ptr<Context> context, uint64_t alignment, std::string& error) {
  context_ = std::move(context);
  const Driver& driver = context_->driver();
  properties_.type = abi::kAllocationPinned;
  properties_.location = {abi::kLocationDevice, context_->ordinal()};
  properties_.allocFlags.gpuDirectRDMACapable = context_->attribute(abi::kAttributeDirectRdma) != 0;
  if (context_->attribute(abi::kAttributeFileDescriptors))
    properties_.requestedHandleTypes = abi::kHandleFileDescriptor;
  size_t granularity = 0;
  const auto asked =
      driver.cuMemGetAllocationGranularity(&granularity, &properties_, abi::kGranularityMinimum);
  if (asked != 0) return error = "cuMemGetAllocationGranularity: " + driver.describe(asked), false;
  if (!granularity || alignment % granularity != 0)
    return error = "this GPU maps memory in units of " + std::to_string(granularity) + " bytes", false;
  granularity_ = granularity;
  return true;
}

uint64_t PhysicalMemory::total() const {
  return limit_ ? std::min(limit_, context_->total()) : context_->total();
}

/// Requests memory with all properties that the device reports: mapped for RDMA, exportable as a file
/// descriptor, which NCCL needs for graphs. Some systems report these and then refuse them: refused ones are
/// not requested again.
abi::CUresult PhysicalMemory::ask(Block& block) {
  const auto with = [&](const abi::CUmemAllocationProp& properties) {
    return context_->driver().cuMemCreate(&block.memory, block.size, &properties, 0);
  };
  const auto first = with(properties_);
  if (first == 0 || first == kMemoryAllocation) return first;
  const bool rdma = properties_.allocFlags.gpuDirectRDMACapable, exported = properties_.requestedHandleTypes;
  for (const auto& [without_rdma, without_export] : {std::pair{true, false}, {false, true}, {true, true}}) {
    if ((without_rdma && !rdma) || (without_export && !exported)) continue;  // already requested
    abi::CUmemAllocationProp less = properties_;
    if (without_rdma) less.allocFlags.gpuDirectRDMACapable = 0;
    if (without_export) less.requestedHandleTypes = 0;
    const auto status = with(less);
    if (status == 0) properties_ = less;
    if (status == 0 || status == kMemoryAllocation) return status;
  }
  return first;
}

/// Takes unmapped physical memory.
uint32_t PhysicalMemory::create(Block& block) {
  block.size = rounded(block.bytes);
  // The limit covers retained memory too: other virtual GPUs may share the GPU.
  if (!allows(block.size) || !budget_->take(block.size, total())) return kMemoryAllocation;
  const Driver& driver = context_->driver();
  const auto status = ask(block);
  if (status == 0) return taken_ += block.size, kSuccess;
  budget_->give(block.size);
  if (status == kMemoryAllocation) return kMemoryAllocation;
  throw error_of(driver, "cuMemCreate", status);
}

void PhysicalMemory::map(Block& block) {
  const Driver& driver = context_->driver();
  check(driver, "cuMemMap", driver.cuMemMap(block.address, block.size, 0, block.memory, 0));
  block.mapped = true;
  const abi::CUmemAccessDesc access{properties_.location, abi::kAccessReadWrite};
  check(driver, "cuMemSetAccess", driver.cuMemSetAccess(block.address, block.size, &access, 1));
}

void PhysicalMemory::unmap(Block& block) {
  if (block.mapped) context_->driver().cuMemUnmap(block.address, block.size);
  block.mapped = false;
}

void PhysicalMemory::release(Block& block) {
  unmap(block);
  if (!block.memory) return;
  context_->driver().cuMemRelease(block.memory);
  taken_ -= block.size;
  block.memory = 0;
}

}  // namespace jitc::cuda
