// See steady_hashes.h.
#include "steady_hashes.h"

#include <algorithm>
#include <span>

namespace jitc::software {
namespace {
/// Number of blocks at which unwatched ones are forgotten: memory is allocated and freed all the time.
constexpr size_t kMostBlocks = 1u << 14;

/// Returns the pages that only this block uses.
MemoryRange whole_pages(const MemoryRange& block) {
  constexpr uint64_t kMask = WatchedPages::kPage - 1;
  const uint64_t from = (block.address + kMask) & ~kMask, to = (block.address + block.bytes) & ~kMask;
  return {from, to - from};
}

std::span<const std::byte> memory(uint64_t from, uint64_t to) {
  return {reinterpret_cast<const std::byte*>(from), to - from};
}

/// Returns the bytes at both ends.
std::vector<std::byte> edges_of(const MemoryRange& block) {
  const auto [from, bytes] = whole_pages(block);
  const auto first = memory(block.address, from), last = memory(from + bytes, block.address + block.bytes);
  std::vector<std::byte> edges(first.begin(), first.end());
  edges.insert(edges.end(), last.begin(), last.end());
  return edges;
}
}  // namespace

SteadyHashes::Block& SteadyHashes::block_of(const MemoryRange& block) {
  if (blocks_.size() >= kMostBlocks)
    std::erase_if(blocks_, [](const auto& one) { return !one.second.edges; });
  Block& one = blocks_[block.address];
  if (one.bytes == block.bytes) return one;
  if (one.edges) let_go(one, {block.address, one.bytes});
  return one = Block{.bytes = block.bytes};
}

bool SteadyHashes::stayed(const Block& one, const MemoryRange& block) const {
  const auto [from, bytes] = whole_pages(block);
  return pages_.unwritten(from, bytes) && edges_of(block) == *one.edges;
}

void SteadyHashes::let_go(Block& one, const MemoryRange& block) {
  const auto [from, bytes] = whole_pages(block);
  pages_.end_in(from, bytes);
  one.edges.reset();
  one.is_current = false;
}

/// Watches a block before hashing it, so that no write comes in between.
Hash SteadyHashes::known(const MemoryRange& block) {
  if (!is_worth_it(block)) return kNoHash;
  const std::lock_guard lock(mutex_);
  Block& one = block_of(block);
  if (one.edges && !stayed(one, block)) return let_go(one, block), kNoHash;
  if (one.edges && one.is_current) {
    one.looks.add(true);
    if (!one.looks.expects_same()) let_go(one, block);
    return one.hash;
  }
  // This look's result is not known yet: an alternating block counts as changed.
  Looks after = one.looks;
  after.add(one.looks.is_at_rest());
  const auto [from, bytes] = whole_pages(block);
  if (!one.edges && after.expects_same() && pages_.watch(from, bytes)) one.edges = edges_of(block);
  return kNoHash;
}

void SteadyHashes::saw(const MemoryRange& block, const Hash& hash) {
  if (!is_worth_it(block)) return;
  const std::lock_guard lock(mutex_);
  Block& one = block_of(block);
  one.looks.add(one.hash == hash);
  one.hash = hash;
  one.is_current = one.edges.has_value();
  if (one.edges && !one.looks.expects_same()) let_go(one, block);
}

}  // namespace jitc::software
