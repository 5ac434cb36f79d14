// Freed addresses that rest: until two boundaries have passed and their last use is over.
//
// Used by AddressSpace and SmallBlocks, with their lock held. An entry has a boundary (freed_after) and a
// last use; entries are in the order of boundaries.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>

namespace jitc::api {

/// Last possible use of freed memory: work of a stream, up to an op. sequence 0: nothing.
struct LastUse {
  uint64_t stream = 0, sequence = 0;
};
/// Newest uses, by stream.
using LastUses = std::map<uint64_t, uint64_t>;

/// Adds the last uses of entries freed before that boundary.
template <class One>
void add_uses(const std::deque<One>& resting, uint64_t before, LastUses* uses) {
  for (const One& one : resting) {
    if (one.freed_after >= before) return;
    if (!one.use.sequence) continue;
    uint64_t& newest = (*uses)[one.use.stream];
    newest = std::max(newest, one.use.sequence);
  }
}

/// Removes and frees entries that were freed before that boundary and whose last use is over.
template <class One, class Free>
void end_rests(std::deque<One>& resting, uint64_t before, const LastUses& over, Free&& free) {
  const auto is_over = [&](const LastUse& use) {
    const auto found = over.find(use.stream);
    return !use.sequence || (found != over.end() && use.sequence <= found->second);
  };
  std::deque<One> go_on;
  for (; !resting.empty() && resting.front().freed_after < before; resting.pop_front())
    is_over(resting.front().use) ? free(resting.front()) : go_on.push_back(resting.front());
  resting.insert(resting.begin(), go_on.begin(), go_on.end());
}

}  // namespace jitc::api
