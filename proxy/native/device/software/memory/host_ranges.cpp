// See host_ranges.h.
#include "host_ranges.h"

#include <iterator>
#include <mutex>

#include "device/software/errors/error.h"

namespace jitc::software {
namespace {
constexpr uint64_t kPage = 4096;
}

uint32_t HostRanges::add(uint64_t address, uint64_t bytes) {
  if (bytes == 0 || bytes % kPage != 0 || address % kPage != 0) return kInvalidValue;
  const std::unique_lock lock(mutex_);
  const auto next = ranges_.lower_bound(address);
  const auto hits = [&](const auto& range) {
    return address < range.first + range.second && range.first < address + bytes;
  };
  if (next != ranges_.end() && hits(*next)) return kInvalidValue;
  if (next != ranges_.begin() && hits(*std::prev(next))) return kInvalidValue;
  ranges_[address] = bytes;
  return kSuccess;
}

uint32_t HostRanges::remove(uint64_t address) {
  const std::unique_lock lock(mutex_);
  return ranges_.erase(address) ? kSuccess : kInvalidValue;
}

void HostRanges::restore(const std::vector<Resources::HostRange>& wanted) {
  const std::unique_lock lock(mutex_);
  ranges_.clear();
  for (const auto& range : wanted) ranges_[range.address] = range.bytes;
}

bool HostRanges::contain(uint64_t address, uint64_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return false;
  const auto& [start, size] = *std::prev(next);
  return bytes <= size && address - start <= size - bytes;
}

}  // namespace jitc::software
