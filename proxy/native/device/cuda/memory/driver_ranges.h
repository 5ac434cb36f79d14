// Ranges of memory that the driver chose: variables of modules, and pinned memory that kernels may use.
//
// Promise: an alias (jitc/variable_alias.h) leads to where its variable lies now, and to nothing else. Any
// thread. Called by: Modules and HostRanges, which keep it; Memory, which asks.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>

#include "jitc/variable_alias.h"

namespace jitc::cuda {

class DriverRanges {
 public:
  /// real: what the driver has there; the same address, but behind an alias.
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
  /// Where an address in one of them really is; any other one is what it is.
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
  /// The one that has all of it. With the mutex held.
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
