// See steady_hashes.h.
#include "steady_hashes.h"

#include <algorithm>
#include <span>

namespace jitc::software {
namespace {
/// Then what is not watched is forgotten: memory comes and goes.
constexpr size_t kMostBlocks = 1u << 14;

/// The pages that are the block's alone.
MemoryRange whole_pages(const MemoryRange& block) {
  constexpr uint64_t kMask = WatchedPages::kPage - 1;
  const uint64_t from = (block.address + kMask) & ~kMask, to = (block.address + block.bytes) & ~kMask;
  return {from, to - from};
}

std::span<const std::byte> memory(uint64_t from, uint64_t to) {
  return {reinterpret_cast<const std::byte*>(from), to - from};
}

/// Of both ends.
std::vector<std::byte> edges_of(const MemoryRange& block) {
  const auto [from, bytes] = whole_pages(block);
  const auto first = memory(block.address, from), last = memory(from + bytes, block.address + block.bytes);
  std::vector<std::byte> edges(first.begin(), first.end());
  edges.insert(edges.end(), last.begin(), last.end());
  return edges;
}
}  // namespace

SteadyHashes::Block& SteadyHashes::block_of(const MemoryRange& block) {
  if (blocks_.size() >= kMostBlocks) std::erase_if(blocks_, [](const auto& one) { return !one.second.edges; });
  Block& one = blocks_[block.address];
  if (one.bytes != block.bytes) one = Block{.bytes = block.bytes};
  return one;
}

bool SteadyHashes::stayed(const Block& one, const MemoryRange& block) const {
  const auto [from, bytes] = whole_pages(block);
  return pages_.unwritten(from, bytes) && edges_of(block) == *one.edges;
}

/// A block is watched before it is hashed, so that no write comes in between.
Hash SteadyHashes::known(const MemoryRange& block) {
  if (block.bytes < kLeast) return kNoHash;
  const std::lock_guard lock(mutex_);
  Block& one = block_of(block);
  if (one.edges && stayed(one, block)) return one.is_current ? one.hash : kNoHash;
  if (one.edges) {
    one.edges.reset();
    one.looks = 0;
    one.wanted = std::min(2 * one.wanted, kMostLooks);
  }
  one.is_current = false;
  const auto [from, bytes] = whole_pages(block);
  if (one.looks >= one.wanted && pages_.watch(from, bytes)) one.edges = edges_of(block);
  return kNoHash;
}

void SteadyHashes::saw(const MemoryRange& block, const Hash& hash) {
  if (block.bytes < kLeast) return;
  const std::lock_guard lock(mutex_);
  Block& one = block_of(block);
  one.looks = one.hash == hash ? one.looks + 1 : 0;
  one.hash = hash;
  one.is_current = one.edges.has_value();
}

}  // namespace jitc::software
