// Blocks of device memory; see memory.h.
//
// A free only takes a block off the books: its pages stay, so that a roll-back can take it back. When its
// addresses are given out again before the next commit, its pages are moved aside (mremap), not copied.
#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "error.h"

namespace jitc::software {
namespace {
constexpr uint64_t kPage = 4096;
constexpr uint64_t kAlignment = 2u << 20;

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }
bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}
}  // namespace

std::shared_ptr<Accountant> Accountant::of(uint64_t limit) {
  static std::mutex mutex;
  static std::map<uint64_t, std::weak_ptr<Accountant>> known;
  const std::lock_guard lock(mutex);
  auto accountant = known[limit].lock();
  if (!accountant) known[limit] = accountant = std::make_shared<Accountant>(limit);
  return accountant;
}

bool Accountant::take(uint64_t bytes) {
  uint64_t used = used_.load();
  do {
    if (bytes > limit_ || used > limit_ - bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes));
  return true;
}

Memory::Memory(uint64_t base, uint64_t bytes, std::shared_ptr<Accountant> accountant)
    : base_(base), bytes_(bytes), accountant_(std::move(accountant)) {}

Memory::~Memory() {
  accountant_->give(used_.load());
  for (auto* blocks : {&freed_, &condemned_})
    for (auto& block : *blocks)
      if (block.aside) munmap(block.aside, block.bytes);
  if (reserved_) munmap(pointer(base_), bytes_);
}

bool Memory::reserve(std::string& error) {
  void* const got = mmap(pointer(base_), bytes_, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == pointer(base_)) return reserved_ = true;
  error = "cannot reserve the session's address range: ";
  error += got == MAP_FAILED ? std::strerror(errno) : "the kernel gave another address";
  if (got != MAP_FAILED) munmap(got, bytes_);
  return false;
}

bool Memory::map(uint64_t address, uint64_t bytes) {
  void* const got = mmap(pointer(address), bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (got == MAP_FAILED) return false;
  madvise(got, bytes, MADV_HUGEPAGE);  // fewer page faults; only a hint
  return true;
}

void Memory::unmap(uint64_t address, uint64_t bytes) {
  mmap(pointer(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

uint32_t Memory::check(uint64_t address, uint64_t bytes) const {
  if (bytes == 0 || bytes % kPage != 0 || address % kAlignment != 0) return kInvalidValue;
  if (address < base_ || bytes > bytes_ || address - base_ > bytes_ - bytes) return kInvalidValue;
  auto next = live_.lower_bound(address);
  if (next != live_.end() && overlap(address, bytes, next->first, next->second.bytes)) return kInvalidValue;
  if (next == live_.begin()) return kSuccess;
  const Block& before = std::prev(next)->second;
  return overlap(address, bytes, before.address, before.bytes) ? kInvalidValue : kSuccess;
}

bool Memory::overlaps_freed(uint64_t address, uint64_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto hit = [&](const Block& block) {
    return !block.aside && bytes <= bytes_ && overlap(address, bytes, block.address, block.bytes);
  };
  return std::any_of(freed_.begin(), freed_.end(), hit) ||
         std::any_of(condemned_.begin(), condemned_.end(), hit);
}

bool Memory::put_aside(uint64_t address, uint64_t bytes) {
  for (auto* blocks : {&freed_, &condemned_}) {
    for (Block& block : *blocks) {
      if (block.aside || !overlap(address, bytes, block.address, block.bytes)) continue;
      void* const moved =
          mremap(pointer(block.address), block.bytes, block.bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                 mmap(nullptr, block.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
      if (moved == MAP_FAILED) return false;
      block.aside = static_cast<std::byte*>(moved);
      unmap(block.address, block.bytes);
    }
  }
  return true;
}

/// What was accounted for becomes a block.
bool Memory::put(uint64_t address, uint64_t bytes, uint64_t sequence) {
  if (!put_aside(address, bytes) || !map(address, bytes)) return false;
  live_.emplace(address, Block{address, bytes, sequence});
  return true;
}

uint32_t Memory::allocate(uint64_t address, uint64_t bytes, uint64_t sequence) {
  const std::unique_lock lock(mutex_);
  if (const uint32_t status = check(address, bytes)) return status;
  if (!accountant_->take(bytes)) return kMemoryAllocation;
  if (!put(address, bytes, sequence)) return accountant_->give(bytes), kMemoryAllocation;
  used_ += bytes;
  return kSuccess;
}

uint32_t Memory::free(uint64_t address, uint64_t sequence) {
  const std::unique_lock lock(mutex_);
  const auto found = live_.find(address);
  if (found == live_.end()) return kInvalidValue;
  found->second.freed = sequence;
  accountant_->give(found->second.bytes);
  used_ -= found->second.bytes;
  freed_.push_back(found->second);
  live_.erase(found);
  return kSuccess;
}

void Memory::forget(Block& block) {
  if (block.aside)
    munmap(block.aside, block.bytes);
  else
    unmap(block.address, block.bytes);
}

void Memory::commit(bool quiet) {
  const std::unique_lock lock(mutex_);
  condemned_.insert(condemned_.end(), freed_.begin(), freed_.end());
  freed_.clear();
  if (!quiet) return;
  for (Block& block : condemned_) forget(block);
  condemned_.clear();
}

/// The range lies where the program has it, in memory that stays mapped as long as this object lives.
uint32_t Memory::share(uint64_t address, uint64_t bytes) {
  if (bytes == 0 || bytes % kPage != 0 || address % kPage != 0) return kInvalidValue;
  const std::unique_lock lock(mutex_);
  const auto next = shared_.lower_bound(address);
  const auto hits = [&](const auto& range) { return overlap(address, bytes, range.first, range.second); };
  if (next != shared_.end() && hits(*next)) return kInvalidValue;
  if (next != shared_.begin() && hits(*std::prev(next))) return kInvalidValue;
  shared_[address] = bytes;
  return kSuccess;
}

uint32_t Memory::unshare(uint64_t address) {
  const std::unique_lock lock(mutex_);
  return shared_.erase(address) ? kSuccess : kInvalidValue;
}

void Memory::share_only(const std::vector<Resources::HostRange>& wanted) {
  const std::unique_lock lock(mutex_);
  shared_.clear();
  for (const auto& range : wanted) shared_[range.address] = range.bytes;
}

void* Memory::find(uint64_t address, uint64_t bytes, uint64_t sequence) const {
  const auto within = [&](uint64_t start, uint64_t size) {
    return address >= start && bytes <= size && address - start <= size - bytes;
  };
  const auto inside = [&](const Block& block) { return within(block.address, block.bytes); };
  const std::shared_lock lock(mutex_);
  const auto next = live_.upper_bound(address);
  if (next != live_.begin() && inside(std::prev(next)->second)) return pointer(address);
  const auto after = shared_.upper_bound(address);
  if (after != shared_.begin() && within(std::prev(after)->first, std::prev(after)->second))
    return pointer(address);
  return covered(address, bytes, sequence) ? pointer(address) : nullptr;
}

/// The block that is alive there, or (rare: a free overtook an op that was given before it) was when the op
/// with that sequence was given.
const Memory::Block* Memory::block_at(uint64_t address, uint64_t sequence) const {
  const auto holds = [&](const Block& block) {
    return address >= block.address && address - block.address < block.bytes;
  };
  const auto next = live_.upper_bound(address);
  if (next != live_.begin() && holds(std::prev(next)->second)) return &std::prev(next)->second;
  for (const auto* blocks : {&freed_, &condemned_})
    for (const Block& block : *blocks)
      if (!block.aside && sequence < block.freed && holds(block)) return &block;
  return nullptr;
}

/// Block by block: neighbours without a gap are as one.
bool Memory::covered(uint64_t address, uint64_t bytes, uint64_t sequence) const {
  while (const Block* const block = block_at(address, sequence)) {
    const uint64_t rest = block->bytes - (address - block->address);
    if (bytes <= rest) return true;
    address += rest;
    bytes -= rest;
  }
  return false;
}

bool Memory::is_wanted(const Block& block, const Resources::Allocation& wanted) const {
  return block.address == wanted.address && block.bytes == wanted.bytes &&
         (wanted.sequence == 0 || block.born == wanted.sequence);
}

/// Of several blocks that had the same place and size the oldest is meant: restore goes back in time.
std::vector<Memory::Block>::iterator Memory::find_freed(const Resources::Allocation& wanted) {
  return std::find_if(freed_.begin(), freed_.end(),
                      [&](const Block& block) { return is_wanted(block, wanted); });
}

bool Memory::revive(Block& block) {
  if (!accountant_->take(block.bytes)) return false;
  if (!put_aside(block.address, block.bytes)) return accountant_->give(block.bytes), false;
  if (block.aside) {
    void* const moved =
        mremap(block.aside, block.bytes, block.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, pointer(block.address));
    if (moved == MAP_FAILED) return accountant_->give(block.bytes), false;
  }
  used_ += block.bytes;
  live_.emplace(block.address, Block{block.address, block.bytes, block.born});
  return true;
}

bool Memory::make(const Resources::Allocation& wanted, std::string& error) {
  const auto freed = find_freed(wanted);
  if (freed != freed_.end()) {
    Block block = *freed;
    freed_.erase(freed);
    if (revive(block)) return true;
    freed_.insert(freed_.begin(), block);
    error = "cannot take back freed memory: the memory limit is reached";
    return false;
  }
  if (check(wanted.address, wanted.bytes) != kSuccess) {
    error = "an allocation to restore is outside of the range or overlaps another";
    return false;
  }
  if (!accountant_->take(wanted.bytes)) {
    error = "the memory limit is reached: cannot make all allocations again";
    return false;
  }
  if (!put(wanted.address, wanted.bytes, wanted.sequence)) {
    accountant_->give(wanted.bytes);
    error = "the host has no memory for an allocation to restore";
    return false;
  }
  used_ += wanted.bytes;
  return true;
}

/// Blocks that were made after the state that comes back: nothing will ask for them again.
void Memory::drop_unwanted(const std::map<uint64_t, const Resources::Allocation*>& wanted) {
  for (auto block = live_.begin(); block != live_.end();) {
    const auto current = block++;
    const auto found = wanted.find(current->first);
    const bool keep = found != wanted.end() && is_wanted(current->second, *found->second) &&
                      (found->second->sequence != 0 || find_freed(*found->second) == freed_.end());
    if (keep) continue;
    accountant_->give(current->second.bytes);
    used_ -= current->second.bytes;
    forget(current->second);
    live_.erase(current);
  }
}

bool Memory::restore(const Resources& wanted, std::string& error) {
  const std::unique_lock lock(mutex_);
  std::map<uint64_t, const Resources::Allocation*> by_address;
  for (const auto& allocation : wanted.allocations) by_address[allocation.address] = &allocation;
  drop_unwanted(by_address);
  drop_unwanted_held(wanted.held);
  for (const auto& [address, allocation] : by_address)
    if (!live_.contains(address) && !make(*allocation, error)) return false;
  return hold_again(wanted.held, error);
}

}  // namespace jitc::software
