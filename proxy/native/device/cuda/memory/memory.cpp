// See memory.h. The addresses are reserved once; physical memory comes and goes under them.
#include "memory.h"

#include <algorithm>

#include "device/cuda/driver/error.h"
#include "device/standard_error.h"

namespace jitc::cuda {
namespace {
constexpr uint64_t kPage = 4096;
constexpr uint64_t kAlignment = 2u << 20;  // the client's, and the GPU's
constexpr uint64_t kLeastTimes = 2;        // addresses per byte of the GPU's memory: for all allocation sizes

bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}
}  // namespace

Memory::Memory(uint64_t base, uint64_t bytes, uint64_t limit, std::shared_ptr<MemoryBudget> budget,
               std::chrono::duration<double> patience, CopiesBudget* node)
    : base_(base),
      bytes_(bytes),
      budget_(budget),
      patience_(patience),
      physical_(limit, budget),
      moved_out_(node) {}

Memory::~Memory() {
  if (!context_) return;
  context_->bind();
  for (auto* blocks : {&live_, &held_})
    for (auto& [key, block] : *blocks) {
      if (!out_) budget_->give(block.size);
      physical_.release(block);
    }
  for (auto* blocks : {&condemned_, &freed_})
    for (Block& block : *blocks) physical_.release(block);
  if (reserved_) context_->driver().cuMemAddressFree(base_, bytes_);
}

bool Memory::reserve(std::shared_ptr<Context> context, std::string& error) {
  context_ = std::move(context);
  return physical_.open(context_, kAlignment, error) && reserve_most(error);
}

/// Reserves less than the whole range if the driver refuses that: few programs reach its end.
bool Memory::reserve_most(std::string& error) {
  const uint64_t whole = bytes_, least = std::min(whole, physical_.rounded(kLeastTimes * context_->total()));
  while (!reserve_range(error)) {
    if (bytes_ == least) return false;
    bytes_ = std::max(bytes_ / 2, least);
  }
  if (bytes_ != whole)
    say("GPU %d: a session has %llu GiB of addresses instead of %llu (%s)", context_->ordinal(),
        static_cast<unsigned long long>(bytes_ >> 30), static_cast<unsigned long long>(whole >> 30),
        error.c_str());
  return true;
}

bool Memory::reserve_range(std::string& error) {
  const Driver& driver = context_->driver();
  abi::CUdeviceptr got = 0;
  const auto status = driver.cuMemAddressReserve(&got, bytes_, kAlignment, base_, 0);
  if (status != 0) {
    error = "cannot reserve the session's address range: cuMemAddressReserve: " + driver.describe(status);
    return false;
  }
  if (got == base_) return reserved_ = true;
  driver.cuMemAddressFree(got, bytes_);
  error =
      "cannot reserve the session's address range: the driver gave " + hex(got) + " instead of " + hex(base_);
  return false;
}

// -- one block -----------------------------------------------------------------------------------------

bool Memory::overlaps(const Block& block, uint64_t address, uint64_t bytes) const {
  return block.mapped && overlap(address, physical_.rounded(bytes), block.address, block.size);
}

uint32_t Memory::check_range(uint64_t address, uint64_t bytes) const {
  if (bytes == 0 || bytes % kPage != 0 || address % kAlignment != 0) return kInvalidValue;
  if (bytes > bytes_ || address < base_) return kInvalidValue;
  const uint64_t size = physical_.rounded(bytes);
  if (size > bytes_ || address - base_ > bytes_ - size) return kInvalidValue;
  const auto next = live_.lower_bound(address);
  if (next != live_.end() && overlaps(next->second, address, bytes)) return kInvalidValue;
  if (next == live_.begin()) return kSuccess;
  return overlaps(std::prev(next)->second, address, bytes) ? kInvalidValue : kSuccess;
}

/// Takes addresses, not content, from freed blocks in the range.
void Memory::put_aside(uint64_t address, uint64_t bytes) {
  for (auto* blocks : {&condemned_, &freed_})
    for (Block& block : *blocks)
      if (overlaps(block, address, bytes)) physical_.unmap(block);
}

// -- ops -----------------------------------------------------------------------------------------------

bool Memory::overlaps_freed(uint64_t address, uint64_t bytes) const {
  if (bytes > bytes_) return false;
  const std::lock_guard lock(mutex_);
  const auto hit = [&](const Block& block) { return overlaps(block, address, bytes); };
  return std::any_of(condemned_.begin(), condemned_.end(), hit) ||
         std::any_of(freed_.begin(), freed_.end(), hit);
}

uint32_t Memory::allocate(uint64_t address, uint64_t bytes, uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (const uint32_t status = check_range(address, bytes)) return status;
  Block block{address, bytes, 0, 0, sequence};
  if (const uint32_t status = physical_.create(block)) return status;
  put(block);
  used_ += block.size;
  return kSuccess;
}

/// Maps physical memory at its addresses; releases it on failure.
void Memory::put(Block block) {
  try {
    put_aside(block.address, block.bytes);
    if (!block.mapped) physical_.map(block);
  } catch (...) {
    budget_->give(block.size);
    physical_.release(block);
    throw;
  }
  live_.emplace(block.address, block);
}

uint32_t Memory::free(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(address);
  if (found == live_.end()) return kInvalidValue;
  budget_->give(found->second.size);
  used_ -= found->second.size;
  freed_.push_back(found->second);
  live_.erase(found);
  return kSuccess;
}

bool Memory::fits(uint64_t bytes) const {
  const uint64_t used = budget_->used();
  return bytes <= bytes_ && used <= total() && physical_.rounded(bytes) <= total() - used;
}

bool Memory::shrink() {
  const std::lock_guard lock(mutex_);
  for (auto* blocks : {&condemned_, &freed_}) {
    if (blocks->empty()) continue;
    physical_.release(blocks->front());
    blocks->erase(blocks->begin());
    return true;
  }
  return false;
}

void Memory::commit(bool quiesced) {
  const std::lock_guard lock(mutex_);
  condemned_.insert(condemned_.end(), freed_.begin(), freed_.end());
  freed_.clear();
  if (!quiesced) return;
  for (Block& block : condemned_) physical_.release(block);
  condemned_.clear();
}

bool Memory::contains(uint64_t address, uint64_t bytes) const {
  {
    const std::lock_guard lock(mutex_);
    if (covered(address, bytes)) return true;
  }
  return driver_ranges_.contains(address, bytes);
}

/// Returns whether blocks cover the range; adjacent ones count as one.
bool Memory::covered(uint64_t address, uint64_t bytes) const {
  auto next = live_.upper_bound(address);
  if (next == live_.begin()) return false;
  const Block& first = std::prev(next)->second;
  uint64_t end = first.address + first.bytes;
  if (address > end) return false;
  while (end - address < bytes && next != live_.end() && next->first == end) end += (next++)->second.bytes;
  return end - address >= bytes;
}

/// Returns the driver's free memory plus retained memory that an allocation would reclaim.
uint64_t Memory::available() const {
  const Driver& driver = context_->driver();
  size_t free = 0, whole = 0;
  check(driver, "cuMemGetInfo", driver.cuMemGetInfo(&free, &whole));
  const std::lock_guard lock(mutex_);
  uint64_t available = free;
  for (const auto* blocks : {&freed_, &condemned_})
    for (const Block& block : *blocks) available += block.size;
  const uint64_t used = std::min(budget_->used(), total());
  return std::min(available, total() - used);
}

std::vector<MemoryRange> real(const Memory& memory, std::span<const MemoryRange> ranges) {
  std::vector<MemoryRange> there(ranges.begin(), ranges.end());
  for (MemoryRange& range : there) range.address = memory.real(range.address);
  return there;
}

}  // namespace jitc::cuda
