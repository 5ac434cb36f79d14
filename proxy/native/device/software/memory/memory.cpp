// Blocks of device memory; see memory.h.
//
// A free only removes a block from the table: its pages stay for a roll-back. If its addresses are reused
// before the next commit, its pages are moved aside.
#include "memory.h"

#include <algorithm>
#include <mutex>

#include "device/software/errors/error.h"
#include "moved_out.h"

namespace jitc::software {
namespace {
constexpr uint64_t kPage = 4096;
constexpr size_t kMostAside = 4096;  // each takes mappings of the process

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }
bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}
}  // namespace

Memory::Memory(WatchedPages& watched, uint64_t base, uint64_t bytes, uint64_t limit,
               std::shared_ptr<MemoryBudget> budget, CopiesBudget* node)
    : base_(base), bytes_(bytes), limit_(limit), pages_(watched), budget_(std::move(budget)), node_(node) {}

Memory::~Memory() {
  if (!out_) budget_->give(used_.load());
  for (auto* blocks : {&freed_, &condemned_})
    for (auto& block : *blocks)
      if (block.aside) Pages::drop(block.aside, block.bytes);
}

bool Memory::reserve(std::string& error) { return pages_.reserve(base_, bytes_, error); }

bool Memory::take(uint64_t size) {
  if (!budget_->take(size, limit_)) return false;
  used_ += size;
  return true;
}

void Memory::give(uint64_t size) {
  budget_->give(size);
  used_ -= size;
}

uint64_t Memory::available() const { return limit_ - std::min(budget_->used(), limit_); }

uint64_t Memory::kept() const {
  uint64_t bytes = 0;
  for (const auto* blocks : {&freed_, &condemned_})
    for (const Block& block : *blocks) bytes += block.size();
  return bytes;
}

bool Memory::has_room(uint64_t bytes) const {
  const std::shared_lock lock(mutex_);
  return bytes > limit_ || used_ + kept() + Pages::rounded(bytes) <= limit_ ||
         (freed_.empty() && condemned_.empty());
}

void Memory::give_up_freed(uint64_t bytes) {
  const std::unique_lock lock(mutex_);
  if (bytes > limit_ || used_ + Pages::rounded(bytes) > limit_) return;  // it will be refused
  while (used_ + kept() + Pages::rounded(bytes) > limit_) forget_oldest();
}

/// Releases the oldest freed block; returns whether it was aside.
bool Memory::forget_oldest() {
  auto& blocks = condemned_.empty() ? freed_ : condemned_;
  const bool aside = blocks.front().aside != nullptr;
  forget(blocks.front());
  blocks.erase(blocks.begin());
  return aside;
}

uint32_t Memory::check(uint64_t address, uint64_t bytes) const {
  if (bytes == 0 || bytes % kPage != 0 || address % Pages::kUnit != 0) return kInvalidValue;
  if (address < base_ || bytes > bytes_ || address - base_ > bytes_ - Pages::rounded(bytes))
    return kInvalidValue;
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

/// Moves freed blocks aside. Requires that no queued op can still use them.
bool Memory::put_aside(uint64_t address, uint64_t bytes) {
  size_t aside = 0;
  for (auto* blocks : {&freed_, &condemned_}) {
    for (Block& block : *blocks) {
      if (!block.aside && overlap(address, bytes, block.address, block.bytes)) {
        block.aside = pages_.take_out(block.address, block.bytes);
        if (!block.aside) return false;
        pages_.close(block.address, block.bytes);
      }
      aside += block.aside != nullptr;
    }
  }
  while (aside > kMostAside) aside -= forget_oldest();
  return true;
}

/// Turns accounted memory into a block.
bool Memory::put(uint64_t address, uint64_t bytes, uint64_t sequence) {
  if (!put_aside(address, bytes) || !pages_.open(address, bytes)) return false;
  live_.emplace(address, Block{address, bytes, sequence});
  return true;
}

uint32_t Memory::allocate(uint64_t address, uint64_t bytes, uint64_t sequence) {
  const std::unique_lock lock(mutex_);
  if (const uint32_t status = check(address, bytes)) return status;
  const uint64_t size = Pages::rounded(bytes);
  if (!take(size)) return kMemoryAllocation;
  if (!put(address, bytes, sequence)) return give(size), kMemoryAllocation;
  return kSuccess;
}

uint32_t Memory::free(uint64_t address, uint64_t sequence) {
  const std::unique_lock lock(mutex_);
  const auto found = live_.find(address);
  if (found == live_.end()) return kInvalidValue;
  found->second.freed = sequence;
  give(found->second.size());
  freed_.push_back(found->second);
  live_.erase(found);
  return kSuccess;
}

void Memory::forget(Block& block) {
  if (block.aside)
    Pages::drop(block.aside, block.bytes);
  else
    pages_.close(block.address, block.bytes);
}

void Memory::commit(bool quiet) {
  const std::unique_lock lock(mutex_);
  condemned_.insert(condemned_.end(), freed_.begin(), freed_.end());
  freed_.clear();
  if (!quiet) return;
  for (Block& block : condemned_) forget(block);
  condemned_.clear();
}

void* Memory::find(uint64_t address, uint64_t bytes, uint64_t sequence) const {
  const auto inside = [&](const Block& block) {
    return address >= block.address && bytes <= block.bytes && address - block.address <= block.bytes - bytes;
  };
  const std::shared_lock lock(mutex_);
  const auto next = live_.upper_bound(address);
  if (next != live_.begin() && inside(std::prev(next)->second)) return pointer(address);
  if (host_ranges_.contain(address, bytes)) return pointer(address);
  return covered(address, bytes, sequence) ? pointer(address) : nullptr;
}

/// Returns the live block there, or (rare: a free overtook an earlier op) the one that was live when the op
/// with that sequence was submitted.
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

/// Checks block by block: adjacent ones count as one.
bool Memory::covered(uint64_t address, uint64_t bytes, uint64_t sequence) const {
  while (const Block* const block = block_at(address, sequence)) {
    const uint64_t rest = block->bytes - (address - block->address);
    if (bytes <= rest) return true;
    address += rest;
    bytes -= rest;
  }
  return false;
}

}  // namespace jitc::software
