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
    const auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) return false;
    const auto& [start, range] = *std::prev(after);
    return bytes <= range.bytes && address - start <= range.bytes - bytes;
  }
  /// Where an address in one of them really is; any other one is what it is.
  uint64_t real(uint64_t address) const {
    if (!is_aliased(address)) return address;
    const std::lock_guard lock(mutex_);
    const auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) return address;
    const auto& [start, range] = *std::prev(after);
    return range.real + (address - start);
  }

 private:
  struct Range {
    uint64_t bytes, real;
  };
  mutable std::mutex mutex_;
  std::map<uint64_t, Range> ranges_;
};

}  // namespace jitc::cuda
