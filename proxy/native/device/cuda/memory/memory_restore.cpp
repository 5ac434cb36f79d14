// Roll-back of memory; see memory.h.
#include <algorithm>
#include <thread>

#include "device/cuda/driver/error.h"
#include "device/standard_error.h"
#include "memory.h"

namespace jitc::cuda {
namespace {
constexpr std::chrono::milliseconds kBetweenLooks{20};
}  // namespace

/// Roll-back to exactly the wanted blocks, reusing as many as possible. Throws OpError.
class Memory::Rollback {
 public:
  /// missing: others may make room; then it is set to the bytes needed, and the roll-back ends.
  Rollback(Memory& of, uint64_t* missing) : of_(of), missing_(missing) {}
  void run(const Resources& wanted);

 private:
  using Wanted = std::map<uint64_t, const Resources::Allocation*>;  // by address
  std::vector<Block>::iterator find_freed(const Resources::Allocation& wanted);
  void drop_unwanted(const Wanted& wanted);
  void make(const Resources::Allocation& wanted);
  void create_at_all_costs(Block& block);
  bool give_up_oldest();
  void wait_and_create(Block& block);
  void drop_unwanted_held(const std::vector<Resources::Held>& wanted);
  void hold_again(const std::vector<Resources::Held>& wanted);

  Memory& of_;  // its mutex is held
  uint64_t* const missing_;
};

/// Finds the oldest of several blocks that had the same place and size: restore goes back in time.
std::vector<Block>::iterator Memory::Rollback::find_freed(const Resources::Allocation& wanted) {
  return std::find_if(of_.freed_.begin(), of_.freed_.end(),
                      [&](const Block& block) { return wanted.is(block.address, block.bytes, block.born); });
}

/// Drops blocks made after the restored state: they will not be needed again.
void Memory::Rollback::drop_unwanted(const Wanted& wanted) {
  for (auto next = of_.live_.begin(); next != of_.live_.end();) {
    const auto block = next++;
    const auto found = wanted.find(block->first);
    const bool keep = found != wanted.end() &&
                      found->second->is(block->first, block->second.bytes, block->second.born) &&
                      (found->second->sequence != 0 || find_freed(*found->second) == of_.freed_.end());
    if (keep) continue;
    of_.budget_->give(block->second.size);
    of_.used_ -= block->second.size;
    of_.physical_.release(block->second);
    of_.live_.erase(block);
  }
}

void Memory::Rollback::make(const Resources::Allocation& wanted) {
  Block block{wanted.address, wanted.bytes, 0, 0, wanted.sequence};
  if (of_.check_range(wanted.address, wanted.bytes))
    refuse_value("an allocation to restore is outside of the range or overlaps another");
  const auto freed = find_freed(wanted);
  if (freed != of_.freed_.end()) {
    block = *freed;
    of_.freed_.erase(freed);
    of_.budget_->take(block.size, UINT64_MAX);  // part of this state, so within the limit
  } else {
    create_at_all_costs(block);
  }
  of_.put(block);
  of_.used_ += block.size;
}

/// Creates a block, even from memory that a roll-back would like to keep.
void Memory::Rollback::create_at_all_costs(Block& block) {
  while (of_.physical_.create(block) != kSuccess)
    if (!give_up_oldest()) {
      if (missing_ && !of_.fits(block.bytes)) {
        *missing_ = block.bytes;
        refuse(kMemoryAllocation, "out-of-memory",
               "the memory limit is reached: cannot make all allocations again");
      }
      return wait_and_create(block);
    }
}

bool Memory::Rollback::give_up_oldest() {
  auto& oldest = of_.condemned_.empty() ? of_.freed_ : of_.condemned_;
  if (oldest.empty()) return false;
  of_.physical_.release(oldest.front());
  oldest.erase(oldest.begin());
  return true;
}

/// Creates a block, waiting for the driver to reclaim the memory of a lost worker, which ended before this
/// one took over: it is within the limit, but may not be available yet.
void Memory::Rollback::wait_and_create(Block& block) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  const auto waited = [&] { return std::chrono::duration<double>(Clock::now() - begun); };
  do {
    if (!of_.physical_.allows(block.size) || waited() > of_.patience_)
      refuse(kMemoryAllocation, "out-of-memory", "the GPU has no memory for all allocations to restore");
    std::this_thread::sleep_for(kBetweenLooks);
  } while (of_.physical_.create(block) != kSuccess);
  say("GPU %d: waited %.2f s for memory that a lost worker had", of_.context_->ordinal(), waited().count());
}

void Memory::Rollback::drop_unwanted_held(const std::vector<Resources::Held>& wanted) {
  std::map<uint64_t, uint64_t> bytes;
  for (const Resources::Held& one : wanted) bytes[one.handle] = one.bytes;
  for (auto next = of_.held_.begin(); next != of_.held_.end();) {
    const auto one = next++;
    const auto found = bytes.find(one->first);
    if (found == bytes.end() || found->second != one->second.bytes) of_.drop_one(one);
  }
}

void Memory::Rollback::hold_again(const std::vector<Resources::Held>& wanted) {
  for (const auto& [handle, bytes] : wanted) {
    if (of_.held_.contains(handle)) continue;
    Block block{0, bytes};
    create_at_all_costs(block);
    of_.used_ += block.size;
    of_.held_.emplace(handle, block);
  }
}

void Memory::Rollback::run(const Resources& wanted) {
  Wanted by_address;
  for (const auto& allocation : wanted.allocations) by_address[allocation.address] = &allocation;
  drop_unwanted(by_address);
  drop_unwanted_held(wanted.held);
  // Surviving blocks first: making others may need the memory of unwanted ones.
  for (const auto& [address, allocation] : by_address)
    if (!of_.live_.contains(address) && find_freed(*allocation) != of_.freed_.end()) make(*allocation);
  for (const auto& [address, allocation] : by_address)
    if (!of_.live_.contains(address)) make(*allocation);
  hold_again(wanted.held);
}

bool Memory::roll_back(const Resources& wanted, std::string& error, uint64_t* missing) {
  const std::lock_guard lock(mutex_);
  try {
    Rollback(*this, missing).run(wanted);
    return true;
  } catch (const OpError& failure) {
    return error = failure.message, false;
  }
}

bool Memory::restore(const Resources& wanted, std::string& error) {
  return roll_back(wanted, error, nullptr);
}

bool Memory::restore(const Resources& wanted, std::string& error, uint64_t& missing) {
  missing = 0;
  return roll_back(wanted, error, &missing);
}

}  // namespace jitc::cuda
