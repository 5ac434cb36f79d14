// Memory without an address; see memory.h. It only counts: nothing can reach it, so it needs no pages.
#include <mutex>

#include "device/software/errors/error.h"
#include "memory.h"

namespace jitc::software {
namespace {
constexpr uint64_t kPage = 4096;
}  // namespace

uint32_t Memory::hold(uint64_t handle, uint64_t bytes) {
  const std::unique_lock lock(mutex_);
  if (bytes == 0 || bytes % kPage != 0 || bytes > bytes_ || held_.contains(handle)) return kInvalidValue;
  if (!take(Pages::rounded(bytes))) return kMemoryAllocation;
  held_.emplace(handle, bytes);
  return kSuccess;
}

uint64_t Memory::held(uint64_t handle) const {
  const std::shared_lock lock(mutex_);
  const auto found = held_.find(handle);
  return found == held_.end() ? 0 : found->second;
}

uint32_t Memory::map_held(uint64_t handle, uint64_t address, uint64_t sequence) {
  const std::unique_lock lock(mutex_);
  const auto found = held_.find(handle);
  if (found == held_.end()) return kInvalidResourceHandle;
  if (const uint32_t status = check(address, found->second)) return status;
  if (!put(address, found->second, sequence)) return kMemoryAllocation;
  held_.erase(found);
  return kSuccess;
}

uint32_t Memory::drop(uint64_t handle) {
  const std::unique_lock lock(mutex_);
  const auto found = held_.find(handle);
  if (found == held_.end()) return kInvalidResourceHandle;
  give(Pages::rounded(found->second));
  held_.erase(found);
  return kSuccess;
}

}  // namespace jitc::software
