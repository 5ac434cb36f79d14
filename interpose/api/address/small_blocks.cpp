// See small_blocks.h.
#include "small_blocks.h"

#include <iterator>

namespace jitc::api {
namespace {
constexpr uint64_t kAlignment = 512;  // as in CUDA
uint64_t rounded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
}  // namespace

void SmallBlocks::insert_free(uint64_t address, uint64_t bytes) {
  free_[address] = bytes;
  by_bytes_.emplace(bytes, address);
}

void SmallBlocks::erase_free(std::map<uint64_t, uint64_t>::iterator range) {
  by_bytes_.erase({range->second, range->first});
  free_.erase(range);
}

void SmallBlocks::add_free(uint64_t address, uint64_t bytes) {
  const uint64_t slab = slab_of(address);
  const auto next = free_.upper_bound(address);
  if (next != free_.end() && next->first == address + bytes && slab_of(next->first) == slab) {
    bytes += next->second;
    erase_free(next);
  }
  const auto after = free_.lower_bound(address);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == address && slab_of(before->first) == slab) {
      address = before->first;
      bytes += before->second;
      erase_free(before);
    }
  }
  insert_free(address, bytes);
}

/// Takes from the smallest range that is large enough, the lowest of equal ones.
uint64_t SmallBlocks::take(uint64_t bytes) {
  const uint64_t size = rounded(bytes);
  const auto best = by_bytes_.lower_bound({size, 0});
  if (best == by_bytes_.end()) return 0;
  const auto [room, address] = *best;
  erase_free(free_.find(address));
  if (room > size) insert_free(address + size, room - size);
  Slab& slab = slabs_[slab_of(address)];
  ++slab.blocks;
  live_[address] = {address, bytes, slab.ordinal};
  return address;
}

void SmallBlocks::add_slab(uint64_t address, uint64_t ordinal) {
  slabs_[address] = {ordinal};
  insert_free(address, kSlab);
}

bool SmallBlocks::give_back(uint64_t address, uint64_t boundaries, const LastUse& use, uint64_t* slab) {
  *slab = 0;
  const auto found = live_.find(address);
  if (found == live_.end()) return false;
  resting_.push_back({address, rounded(found->second.bytes), found->second.ordinal, boundaries, use});
  const auto home = slabs_.find(slab_of(address));
  home->second.followed -= found->second.followed;
  live_.erase(found);
  if (--home->second.blocks > 0) return true;
  *slab = home->first;
  drop(home->first);
  return true;
}

/// Drops a slab. Ranges that still rest in it are skipped when their rest ends.
void SmallBlocks::drop(uint64_t slab) {
  auto range = free_.lower_bound(slab);
  while (range != free_.end() && range->first < slab + kSlab) erase_free(range++);
  slabs_.erase(slab);
}

/// Ends a rest. False: its slab no longer exists.
bool SmallBlocks::end_rest(const Resting& one) {
  const auto slab = slabs_.find(slab_of(one.address));
  if (slab == slabs_.end() || slab->second.ordinal != one.ordinal) return false;
  add_free(one.address, one.bytes);
  return true;
}

bool SmallBlocks::end_rests(uint64_t before, const LastUses& over) {
  bool freed = false;
  api::end_rests(resting_, before, over, [&](const Resting& one) { freed |= end_rest(one); });
  return freed;
}

const Block* SmallBlocks::find(uint64_t address, uint64_t bytes) const {
  const auto after = live_.upper_bound(address);
  if (after == live_.begin()) return nullptr;
  const Block& block = std::prev(after)->second;
  const uint64_t offset = address - block.address;
  return offset < block.bytes && bytes <= block.bytes - offset ? &block : nullptr;
}

void SmallBlocks::follow(uint64_t address, uint64_t bytes, bool followed) {
  for (auto it = live_.lower_bound(address); it != live_.end() && it->first < address + bytes; ++it) {
    Block& block = it->second;
    if (block.followed == followed || block.bytes > address + bytes - block.address) continue;
    block.followed = followed;
    size_t& count = slabs_.find(slab_of(block.address))->second.followed;
    followed ? ++count : --count;
  }
}

std::vector<Block> SmallBlocks::slabs() const {
  std::vector<Block> out;
  for (const auto& [address, slab] : slabs_)
    out.push_back({address, kSlab, slab.ordinal, true, slab.followed == slab.blocks});
  return out;
}

}  // namespace jitc::api
