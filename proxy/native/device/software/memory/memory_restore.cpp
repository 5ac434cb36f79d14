// Roll-back of memory; see memory.h.
#include <algorithm>
#include <mutex>

#include "device/software/errors/error.h"
#include "memory.h"

namespace jitc::software {

/// Roll-back to exactly the wanted blocks, reusing as many as possible.
class Memory::Rollback {
 public:
  explicit Rollback(Memory& of) : of_(of) {}
  bool run(const Resources& wanted, std::string& error);
  /// Returns the bytes that could not be taken.
  uint64_t missing() const { return missing_; }

 private:
  bool take(uint64_t size) { return of_.take(size) || (missing_ = size, false); }
  using Wanted = std::map<uint64_t, const Resources::Allocation*>;  // by address
  std::vector<Block>::iterator find_freed(const Resources::Allocation& wanted);
  bool revive(Block& block);
  bool make(const Resources::Allocation& wanted, std::string& error);
  void drop_unwanted(const Wanted& wanted);
  void drop_unwanted_held(const std::vector<Resources::Held>& wanted);
  bool hold_again(const std::vector<Resources::Held>& wanted, std::string& error);

  Memory& of_;  // its mutex is held
  uint64_t missing_ = 0;
};

/// Finds the oldest of several blocks that had the same place and size: restore goes back in time.
std::vector<Memory::Block>::iterator Memory::Rollback::find_freed(const Resources::Allocation& wanted) {
  return std::find_if(of_.freed_.begin(), of_.freed_.end(),
                      [&](const Block& block) { return wanted.is(block.address, block.bytes, block.born); });
}

bool Memory::Rollback::revive(Block& block) {
  if (!take(block.size())) return false;
  if (!of_.put_aside(block.address, block.bytes) ||
      (block.aside && !of_.pages_.put_back(block.aside, block.address, block.bytes)))
    return of_.give(block.size()), false;
  of_.live_.emplace(block.address, Block{block.address, block.bytes, block.born});
  return true;
}

bool Memory::Rollback::make(const Resources::Allocation& wanted, std::string& error) {
  const auto freed = find_freed(wanted);
  if (freed != of_.freed_.end()) {
    Block block = *freed;
    of_.freed_.erase(freed);
    if (revive(block)) return true;
    of_.freed_.insert(of_.freed_.begin(), block);
    error = "cannot take back freed memory: the memory limit is reached";
    return false;
  }
  if (of_.check(wanted.address, wanted.bytes) != kSuccess) {
    error = "an allocation to restore is outside of the range or overlaps another";
    return false;
  }
  if (!take(Pages::rounded(wanted.bytes))) {
    error = "the memory limit is reached: cannot make all allocations again";
    return false;
  }
  if (!of_.put(wanted.address, wanted.bytes, wanted.sequence)) {
    of_.give(Pages::rounded(wanted.bytes));
    error = "the host has no memory for an allocation to restore";
    return false;
  }
  return true;
}

/// Drops blocks made after the restored state: they will not be needed again.
void Memory::Rollback::drop_unwanted(const Wanted& wanted) {
  for (auto block = of_.live_.begin(); block != of_.live_.end();) {
    const auto current = block++;
    const auto found = wanted.find(current->first);
    const bool keep =
        found != wanted.end() &&
        found->second->is(current->second.address, current->second.bytes, current->second.born) &&
        (found->second->sequence != 0 || find_freed(*found->second) == of_.freed_.end());
    if (keep) continue;
    of_.give(current->second.size());
    of_.forget(current->second);
    of_.live_.erase(current);
  }
}

void Memory::Rollback::drop_unwanted_held(const std::vector<Resources::Held>& wanted) {
  std::map<uint64_t, uint64_t> bytes;
  for (const Resources::Held& one : wanted) bytes[one.handle] = one.bytes;
  std::erase_if(of_.held_, [&](const auto& one) {
    const auto found = bytes.find(one.first);
    if (found != bytes.end() && found->second == one.second) return false;
    of_.give(Pages::rounded(one.second));
    return true;
  });
}

bool Memory::Rollback::hold_again(const std::vector<Resources::Held>& wanted, std::string& error) {
  for (const auto& [handle, bytes] : wanted) {
    if (of_.held_.contains(handle)) continue;
    if (!take(Pages::rounded(bytes)))
      return error = "the memory limit is reached: cannot hold all memory again", false;
    of_.held_.emplace(handle, bytes);
  }
  return true;
}

bool Memory::Rollback::run(const Resources& wanted, std::string& error) {
  Wanted by_address;
  for (const auto& allocation : wanted.allocations) by_address[allocation.address] = &allocation;
  drop_unwanted(by_address);
  drop_unwanted_held(wanted.held);
  for (const auto& [address, allocation] : by_address)
    if (!of_.live_.contains(address) && !make(*allocation, error)) return false;
  return hold_again(wanted.held, error);
}

bool Memory::restore(const Resources& wanted, std::string& error, uint64_t& missing) {
  const std::unique_lock lock(mutex_);
  Rollback rollback(*this);
  const bool restored = rollback.run(wanted, error);
  missing = rollback.missing();
  return restored;
}

}  // namespace jitc::software
