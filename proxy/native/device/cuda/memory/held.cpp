// Physical memory without an address; see memory.h.
#include "device/cuda/driver/error.h"
#include "memory.h"

namespace jitc::cuda {
namespace {
constexpr uint64_t kPage = 4096;
}  // namespace

uint32_t Memory::hold(uint64_t handle, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes % kPage != 0 || bytes > bytes_ || held_.contains(handle)) return kInvalidValue;
  Block block{0, bytes};
  if (const uint32_t status = physical_.create(block)) return status;
  used_ += block.size;
  held_.emplace(handle, block);
  return kSuccess;
}

uint64_t Memory::held(uint64_t handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(handle);
  return found == held_.end() ? 0 : found->second.bytes;
}

uint32_t Memory::map_held(uint64_t handle, uint64_t address, uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(handle);
  if (found == held_.end()) return kInvalidResourceHandle;
  Block block = found->second;
  if (const uint32_t status = check_range(address, block.bytes)) return status;
  block.address = address;
  block.born = sequence;
  held_.erase(found);
  used_ -= block.size;  // until it is mapped: if the driver refuses, it is lost
  put(block);
  used_ += block.size;
  return kSuccess;
}

uint32_t Memory::drop(uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(handle);
  if (found == held_.end()) return kInvalidResourceHandle;
  drop_one(found);
  return kSuccess;
}

void Memory::drop_one(std::map<uint64_t, Block>::iterator held) {
  budget_->give(held->second.size);
  used_ -= held->second.size;
  physical_.release(held->second);
  held_.erase(held);
}

}  // namespace jitc::cuda
