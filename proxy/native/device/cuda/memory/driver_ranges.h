// Memory ranges that the driver chose: variables of modules, and pinned memory that kernels may use.
//
// Promise: an alias (jitc/variable_alias.h) leads to the current place of its variable only. Any thread.
// Called by: Modules and HostRanges, which maintain it; Memory, which queries it.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>

#include "jitc/variable_alias.h"

namespace jitc::cuda {

class DriverRanges {
 public:
  /// Adds a range. real: the driver's address, which differs only for an alias.
  void add(uint64_t address, uint64_t bytes, uint64_t real) {
    const std::lock_guard lock(mutex_);
    ranges_[address] = {bytes, real};
  }
  void remove(uint64_t address) {
    const std::lock_guard lock(mutex_);
    ranges_.erase(address);
  }
  bool contains(uint64_t address, uint64_t bytes) const {
    const std::lock_guard lock(mutex_);
    return find(address, bytes) != ranges_.end();
  }
  /// Returns the real address behind one in a range; any other address is unchanged.
  uint64_t real(uint64_t address) const {
    if (!is_aliased(address)) return address;
    const std::lock_guard lock(mutex_);
    const auto found = find(address, 0);
    return found == ranges_.end() ? address : found->second.real + (address - found->first);
  }

 private:
  struct Range {
    uint64_t bytes, real;
  };
  using Ranges = std::map<uint64_t, Range>;
  /// Returns the range that contains all of it. Requires the mutex.
  Ranges::const_iterator find(uint64_t address, uint64_t bytes) const {
    const auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) return ranges_.end();
    const auto found = std::prev(after);
    const auto& [start, range] = *found;
    return bytes <= range.bytes && address - start <= range.bytes - bytes ? found : ranges_.end();
  }

  mutable std::mutex mutex_;
  Ranges ranges_;
};

}  // namespace jitc::cuda
