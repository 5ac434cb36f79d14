// See address_space.h.
#include "address_space.h"

#include <sys/mman.h>

#include "runtime/session.h"

namespace jitc::front {

AddressSpace::AddressSpace(uint64_t base, uint64_t bytes) : base_(base), end_(base + bytes), next_(base) {
  void* wanted = reinterpret_cast<void*>(base);
  void* got = mmap(wanted, bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == wanted) return;
  if (got != MAP_FAILED) munmap(got, bytes);
  runtime::message_once(
      "the address range of this GPU is taken in this process: device and host memory may be confused");
}

uint64_t AddressSpace::reuse(uint64_t bytes) {
  const auto found = free_.find(bytes);
  if (found == free_.end() || found->second.empty()) return 0;
  const uint64_t address = found->second.front();
  found->second.pop_front();
  return address;
}

uint64_t AddressSpace::take(uint64_t bytes) {
  std::unique_lock lock(mutex_);
  const uint64_t size = rounded(bytes);
  if (size < bytes) return 0;
  uint64_t address = reuse(size);
  if (!address && size <= end_ - next_) {
    address = next_;
    next_ += size;
  }
  // A program without boundaries that has used up the range: rested or not, the oldest must do.
  for (auto it = resting_.begin(); !address && it != resting_.end(); ++it) {
    if (it->bytes != size) continue;
    address = it->address;
    resting_.erase(it);
    break;
  }
  if (address) live_[address] = {address, bytes, ordinal_++};
  return address;
}

bool AddressSpace::give_back(uint64_t address) {
  std::unique_lock lock(mutex_);
  const auto found = live_.find(address);
  if (found == live_.end()) return false;
  resting_.push_back({address, rounded(found->second.bytes), boundaries_});
  live_.erase(found);
  return true;
}

void AddressSpace::boundary() {
  std::unique_lock lock(mutex_);
  ++boundaries_;
  while (!resting_.empty() && resting_.front().freed_after + 2 <= boundaries_) {
    free_[resting_.front().bytes].push_back(resting_.front().address);
    resting_.pop_front();
  }
}

bool AddressSpace::find(uint64_t address, uint64_t bytes, Block* out) const {
  std::shared_lock lock(mutex_);
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return false;
  const Block& block = std::prev(after)->second;
  const uint64_t offset = address - block.address;
  if (offset >= block.bytes || bytes > block.bytes - offset) return false;
  if (out) *out = block;
  return true;
}

std::vector<Block> AddressSpace::blocks() const {
  std::shared_lock lock(mutex_);
  std::vector<Block> out;
  for (const auto& [address, block] : live_) out.push_back(block);
  return out;
}

}  // namespace jitc::front
