// Pinned memory of the program that ops may use: registered ranges, at the program's addresses. It stays
// mapped as long as the session lives.
//
// Lock rule: a mutex of its own; look-ups from any thread. Called by: MemoryHandlers, Memory::find, Device.
#pragma once
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <vector>

#include "device/resources.h"

namespace jitc::software {

class HostRanges {
 public:
  /// Adds a range. Returns a cudaError_t.
  uint32_t add(uint64_t address, uint64_t bytes);
  uint32_t remove(uint64_t address);
  /// Replaces all ranges by these.
  void restore(const std::vector<Resources::HostRange>& wanted);
  /// Returns whether the range lies inside one of them.
  bool contain(uint64_t address, uint64_t bytes) const;

 private:
  mutable std::shared_mutex mutex_;      // guards what follows
  std::map<uint64_t, uint64_t> ranges_;  // address to bytes
};

}  // namespace jitc::software
