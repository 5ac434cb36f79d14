// Memory goes back in time; see memory.h.
#include <algorithm>
#include <cstdio>
#include <thread>

#include "device/cuda/driver/error.h"
#include "memory.h"

namespace jitc::cuda {
namespace {
constexpr std::chrono::milliseconds kBetweenLooks{20};

bool is_wanted(uint64_t address, uint64_t bytes, uint64_t born, const Resources::Allocation& wanted) {
  return address == wanted.address && bytes == wanted.bytes &&
         (wanted.sequence == 0 || born == wanted.sequence);
}
}  // namespace

/// Of several blocks that had the same place and size the oldest is meant: restore goes back in time.
std::vector<Memory::Block>::iterator Memory::find_freed(const Resources::Allocation& wanted) {
  return std::find_if(freed_.begin(), freed_.end(), [&](const Block& block) {
    return is_wanted(block.address, block.bytes, block.born, wanted);
  });
}

/// Blocks that were made after the state that comes back: nothing will ask for them again.
void Memory::drop_unwanted(const std::map<uint64_t, const Resources::Allocation*>& wanted) {
  for (auto next = live_.begin(); next != live_.end();) {
    const auto block = next++;
    const auto found = wanted.find(block->first);
    const bool keep = found != wanted.end() &&
                      is_wanted(block->first, block->second.bytes, block->second.born, *found->second) &&
                      (found->second->sequence != 0 || find_freed(*found->second) == freed_.end());
    if (keep) continue;
    budget_->give(block->second.size);
    used_ -= block->second.size;
    release(block->second);
    live_.erase(block);
  }
}

void Memory::make(const Resources::Allocation& wanted) {
  Block block{wanted.address, wanted.bytes, 0, 0, wanted.sequence};
  if (check_range(wanted.address, wanted.bytes))
    refuse_value("an allocation to restore is outside of the range or overlaps another");
  const auto freed = find_freed(wanted);
  if (freed != freed_.end()) {
    block = *freed;
    freed_.erase(freed);
    budget_->take(block.size, UINT64_MAX);  // it was part of this state, so it is within the limit
  } else {
    create_at_all_costs(block);
  }
  put(block);
  used_ += block.size;
}

/// Also with what else a roll-back would like to have.
void Memory::create_at_all_costs(Block& block) {
  while (create(block) != kSuccess)
    if (!give_up_oldest()) return wait_and_create(block);
}

bool Memory::give_up_oldest() {
  auto& oldest = condemned_.empty() ? freed_ : condemned_;
  if (oldest.empty()) return false;
  release(oldest.front());
  oldest.erase(oldest.begin());
  return true;
}

/// A lost worker has ended when this one takes over, but the driver may still be taking back what it had: the
/// memory is within the limit, and not there yet.
void Memory::wait_and_create(Block& block) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  const auto waited = [&] { return std::chrono::duration<double>(Clock::now() - begun); };
  do {
    if (!within_limit(block.size) || waited() > patience_)
      refuse(kMemoryAllocation, "out-of-memory", "the GPU has no memory for all allocations to restore");
    std::this_thread::sleep_for(kBetweenLooks);
  } while (create(block) != kSuccess);
  std::fprintf(stderr, "jitc-worker: GPU %d: waited %.2f s for memory that a lost worker had\n",
               context_->ordinal(), waited().count());
}

void Memory::drop_unwanted_held(const std::vector<Resources::Held>& wanted) {
  std::map<uint64_t, uint64_t> bytes;
  for (const Resources::Held& one : wanted) bytes[one.handle] = one.bytes;
  for (auto next = held_.begin(); next != held_.end();) {
    const auto one = next++;
    const auto found = bytes.find(one->first);
    if (found == bytes.end() || found->second != one->second.bytes) drop_one(one);
  }
}

void Memory::hold_again(const std::vector<Resources::Held>& wanted) {
  for (const auto& [handle, bytes] : wanted) {
    if (held_.contains(handle)) continue;
    Block block{0, bytes};
    create_at_all_costs(block);
    used_ += block.size;
    held_.emplace(handle, block);
  }
}

bool Memory::restore(const Resources& wanted, std::string& error) {
  const std::lock_guard lock(mutex_);
  std::map<uint64_t, const Resources::Allocation*> by_address;
  for (const auto& allocation : wanted.allocations) by_address[allocation.address] = &allocation;
  try {
    drop_unwanted(by_address);
    drop_unwanted_held(wanted.held);
    // What is still there first: making others may need the memory of what is not wanted back.
    for (const auto& [address, allocation] : by_address)
      if (!live_.contains(address) && find_freed(*allocation) != freed_.end()) make(*allocation);
    for (const auto& [address, allocation] : by_address)
      if (!live_.contains(address)) make(*allocation);
    hold_again(wanted.held);
  } catch (const OpError& failure) {
    return error = failure.message, false;
  }
  return true;
}

}  // namespace jitc::cuda
