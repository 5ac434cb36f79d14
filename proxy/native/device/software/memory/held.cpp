// Memory that has no address yet; see memory.h. It only counts: nothing can reach it, so it needs no pages.
#include <mutex>

#include "device/software/device/error.h"
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
  if (found == held_.end()) return kInvalidHandle;
  if (const uint32_t status = check(address, found->second)) return status;
  if (!put(address, found->second, sequence)) return kMemoryAllocation;
  held_.erase(found);
  return kSuccess;
}

uint32_t Memory::drop(uint64_t handle) {
  const std::unique_lock lock(mutex_);
  const auto found = held_.find(handle);
  if (found == held_.end()) return kInvalidHandle;
  give(Pages::rounded(found->second));
  held_.erase(found);
  return kSuccess;
}

void Memory::drop_unwanted_held(const std::vector<Resources::Held>& wanted) {
  std::map<uint64_t, uint64_t> bytes;
  for (const Resources::Held& one : wanted) bytes[one.handle] = one.bytes;
  std::erase_if(held_, [&](const auto& one) {
    const auto found = bytes.find(one.first);
    if (found != bytes.end() && found->second == one.second) return false;
    give(Pages::rounded(one.second));
    return true;
  });
}

bool Memory::hold_again(const std::vector<Resources::Held>& wanted, std::string& error) {
  for (const auto& [handle, bytes] : wanted) {
    if (held_.contains(handle)) continue;
    if (!take(Pages::rounded(bytes)))
      return error = "the memory limit is reached: cannot hold all memory again", false;
    held_.emplace(handle, bytes);
  }
  return true;
}

}  // namespace jitc::software
