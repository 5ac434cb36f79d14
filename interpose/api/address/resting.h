// What was given back and rests: until two boundaries have passed, and nothing uses it any more.
//
// Used by AddressSpace and SmallBlocks, with their lock held. What rests has a boundary (freed_after) and a
// last use, and lies in the order of boundaries.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>

namespace jitc::api {

/// What may still use memory that was freed: work of a stream, up to an op. sequence 0: nothing.
struct LastUse {
  uint64_t stream = 0, sequence = 0;
};
/// The newest of them, by streams.
using LastUses = std::map<uint64_t, uint64_t>;

/// Adds the last uses of what was given back before that boundary.
template <class One>
void add_uses(const std::deque<One>& resting, uint64_t before, LastUses* uses) {
  for (const One& one : resting) {
    if (one.freed_after >= before) return;
    if (!one.use.sequence) continue;
    uint64_t& newest = (*uses)[one.use.stream];
    newest = std::max(newest, one.use.sequence);
  }
}

/// Takes out and frees what was given back before that boundary and whose last use is over.
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
