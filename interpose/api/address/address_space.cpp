// See address_space.h.
#include "address_space.h"

#include <sys/mman.h>

#include <algorithm>

#include "session/message.h"

namespace jitc::api {

AddressSpace::AddressSpace(uint64_t base, uint64_t bytes) : base_(base), end_(base + bytes), next_(base) {
  void* wanted = reinterpret_cast<void*>(base);
  void* got = mmap(wanted, bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == wanted) return;
  if (got != MAP_FAILED) munmap(got, bytes);
  session::message_once(
      "the address range of this GPU is taken in this process: device and host memory may be confused");
}

uint64_t AddressSpace::reuse(uint64_t bytes, uint64_t alignment) {
  const auto found = free_.find(bytes);
  if (found == free_.end() || found->second.empty() || found->second.front() % alignment) return 0;
  const uint64_t address = found->second.front();
  found->second.pop_front();
  return address;
}

uint64_t AddressSpace::extend(uint64_t bytes, uint64_t alignment) {
  const uint64_t gap = -next_ & (alignment - 1);
  if (gap > end_ - next_ || bytes > end_ - next_ - gap) return 0;
  const uint64_t address = next_ + gap;
  next_ = address + bytes;
  return address;
}

/// Takes the oldest resting range, rested or not, for a program without boundaries that has used up the
/// range.
uint64_t AddressSpace::unrest(uint64_t bytes, uint64_t alignment) {
  for (auto it = resting_.begin(); it != resting_.end(); ++it) {
    if (it->bytes != bytes || it->address % alignment) continue;
    const uint64_t address = it->address;
    resting_.erase(it);
    return address;
  }
  return 0;
}

uint64_t AddressSpace::take_range(uint64_t bytes, uint64_t alignment) {
  const uint64_t size = rounded(bytes);
  if (size < bytes) return 0;
  uint64_t address = reuse(size, alignment);
  if (!address) address = extend(size, alignment);
  return address ? address : unrest(size, alignment);
}

uint64_t AddressSpace::take(uint64_t bytes) {
  std::unique_lock lock(mutex_);
  const uint64_t address = take_range(bytes, kGranule);
  if (address) live_[address] = {address, bytes, ordinal_++, false};
  return address;
}

void AddressSpace::arrived(uint64_t address) {
  std::unique_lock lock(mutex_);
  const auto found = live_.find(address);
  if (found != live_.end()) found->second.there = true;
}

void AddressSpace::rest(uint64_t address, uint64_t bytes, const LastUse& use) {
  resting_.push_back({address, rounded(bytes), boundaries_, use});
}

uint64_t AddressSpace::take_small(uint64_t bytes) {
  std::unique_lock lock(mutex_);
  return small_.take(bytes);
}

uint64_t AddressSpace::take_slab() {
  std::unique_lock lock(mutex_);
  return take_range(SmallBlocks::kSlab, kGranule);
}

void AddressSpace::add_slab(uint64_t address) {
  std::unique_lock lock(mutex_);
  small_.add_slab(address, ordinal_++);
}

void AddressSpace::drop_slab(uint64_t address) {
  std::unique_lock lock(mutex_);
  rest(address, SmallBlocks::kSlab);
}

bool AddressSpace::small_rest() const {
  std::shared_lock lock(mutex_);
  return small_.rests();
}

bool AddressSpace::unrest_small(const IsOver& is_over) {
  const LastUses over = find_over(UINT64_MAX, is_over);
  std::unique_lock lock(mutex_);
  return small_.end_rests(UINT64_MAX, over);
}

bool AddressSpace::give_back(uint64_t address, const LastUse& use, uint64_t* allocation) {
  std::unique_lock lock(mutex_);
  if (small_.give_back(address, boundaries_, use, allocation)) {
    if (*allocation) rest(*allocation, SmallBlocks::kSlab, use);
    return true;
  }
  const auto found = live_.find(address);
  if (found == live_.end() || is_reserved(address, 0)) return false;
  *allocation = address;
  rest(address, found->second.bytes, use);
  live_.erase(found);
  return true;
}

uint64_t AddressSpace::reserve(uint64_t bytes, uint64_t alignment) {
  std::unique_lock lock(mutex_);
  const uint64_t address = take_range(bytes, std::max(alignment, kGranule));
  if (address) reserved_[address] = bytes;
  return address;
}

bool AddressSpace::unreserve(uint64_t address, uint64_t bytes) {
  std::unique_lock lock(mutex_);
  const auto found = reserved_.find(address);
  if (found == reserved_.end() || found->second != bytes || overlaps_block(address, bytes)) return false;
  reserved_.erase(found);
  rest(address, bytes);
  return true;
}

bool AddressSpace::map(uint64_t address, uint64_t bytes) {
  std::unique_lock lock(mutex_);
  if (address % kGranule || !is_reserved(address, bytes) || overlaps_block(address, bytes)) return false;
  live_[address] = {address, bytes, ordinal_++, false};
  return true;
}

std::vector<Block> AddressSpace::unmap(uint64_t address, uint64_t bytes) {
  std::unique_lock lock(mutex_);
  const auto first = live_.find(address);
  if (!bytes || first == live_.end() || !is_reserved(address, bytes) || !covered(address, bytes, nullptr))
    return {};
  const auto past = live_.lower_bound(address + bytes);
  const Block& last = std::prev(past)->second;
  if (last.address + last.bytes != address + bytes) return {};
  std::vector<Block> out;
  for (auto it = first; it != past; it = live_.erase(it)) out.push_back(it->second);
  return out;
}

bool AddressSpace::is_mapped(uint64_t address, uint64_t bytes) const {
  std::shared_lock lock(mutex_);
  return is_reserved(address, bytes) && covered(address, bytes, nullptr);
}

bool AddressSpace::is_reserved(uint64_t address, uint64_t bytes) const {
  const auto after = reserved_.upper_bound(address);
  if (after == reserved_.begin()) return false;
  const auto& [start, size] = *std::prev(after);
  const uint64_t offset = address - start;
  return offset < size && bytes <= size - offset;
}

bool AddressSpace::overlaps_block(uint64_t address, uint64_t bytes) const {
  const auto after = live_.lower_bound(address + bytes);
  if (after == live_.begin()) return false;
  const Block& block = std::prev(after)->second;
  return block.address + block.bytes > address;
}

void AddressSpace::boundary(const IsOver& is_over) {
  uint64_t before = 0;
  {
    std::unique_lock lock(mutex_);
    if (++boundaries_ < 2) return;
    before = boundaries_ - 1;
  }
  const LastUses over = find_over(before, is_over);
  std::unique_lock lock(mutex_);
  end_rests(resting_, before, over, [&](const Resting& one) { free_[one.bytes].push_back(one.address); });
  small_.end_rests(before, over);
}

LastUses AddressSpace::find_over(uint64_t before, const IsOver& is_over) const {
  LastUses uses;
  {
    std::shared_lock lock(mutex_);
    small_.add_uses(before, &uses);
    add_uses(resting_, before, &uses);
  }
  std::erase_if(uses, [&](const auto& one) { return !is_over({one.first, one.second}); });
  return uses;
}

void AddressSpace::follow(uint64_t address, uint64_t bytes, bool followed) {
  std::unique_lock lock(mutex_);
  small_.follow(address, bytes, followed);
  for (auto it = live_.lower_bound(address); it != live_.end() && it->first < address + bytes; ++it)
    if (it->second.bytes <= address + bytes - it->first) it->second.followed = followed;
}

bool AddressSpace::covered(uint64_t address, uint64_t bytes, Block* first) const {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return false;
  const Block& block = std::prev(after)->second;
  if (address - block.address >= block.bytes) return false;
  uint64_t rest = block.bytes - (address - block.address);
  uint64_t end = block.address + block.bytes;
  for (; rest < bytes; rest += after->second.bytes, end += after->second.bytes, ++after)
    if (after == live_.end() || after->first != end) return false;
  if (first) *first = block;
  return true;
}

bool AddressSpace::find(uint64_t address, uint64_t bytes, Block* out) const {
  std::shared_lock lock(mutex_);
  if (const Block* const small = small_.find(address, bytes)) {
    if (out) *out = *small;
    return true;
  }
  return covered(address, bytes, out);
}

std::vector<Block> AddressSpace::blocks() const {
  std::vector<Block> out = small_.slabs();
  for (const auto& [address, block] : live_)
    if (block.there) out.push_back(block);
  std::ranges::sort(out, {}, &Block::address);
  return out;
}

}  // namespace jitc::api
