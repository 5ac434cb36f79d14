#include "view.h"

#include <algorithm>

namespace jitc {
namespace {
/// Sessions of one node have numbers that differ only in these bits (proxy/ranks/numbers.py).
constexpr int kCountBits = 32;

bool on_one_node(uint64_t one, uint64_t other) { return one >> kCountBits == other >> kCountBits; }
}  // namespace

View::View(const JobBoard& board, uint32_t own, const std::vector<uint32_t>& named, int readings)
    : board_(board), own_(own) {
  while (readings-- > 0 && read_again(named)) {
  }
}

/// Reads what is missing, or older than another one needs. Returns whether that may have to be done again.
bool View::read_again(const std::vector<uint32_t>& named) {
  group_ = board_.group(own_, named);
  std::erase_if(histories_, [&](const auto& one) { return !std::ranges::count(group_, one.first); });
  slots_.clear();
  for (uint32_t slot = 0; slot < JobBoard::kSlots; ++slot)
    if (const uint64_t session = board_.slot(slot).session.load()) slots_[session] = slot;
  for (const uint32_t slot : group_)
    if (const RankHistory* const known = history(slot); !known || known->version != board_.version(slot))
      read(slot);
  return !is_closed(Unknown::does_not_count) || board_.group(own_, named) != group_;
}

void View::read(uint32_t slot) {
  auto found = slot == own_ ? std::nullopt : board_.history(slot);
  if (found)
    histories_[slot] = std::move(*found);
  else
    histories_.erase(slot);
}

const RankHistory* View::history(uint32_t slot) const {
  const auto found = histories_.find(slot);
  return found == histories_.end() ? nullptr : &found->second;
}

bool View::is_closed(Unknown unknown) const {
  return std::ranges::all_of(histories_, [&](const auto& one) {
    return std::ranges::all_of(one.second.seen, [&](const Version& seen) { return has(seen, unknown); });
  });
}

/// Returns whether this view has what another rank had seen.
bool View::has(const Version& seen, Unknown unknown) const {
  const auto place = slots_.find(seen.session);
  if (place == slots_.end()) return on_one_node(seen.session, board_.slot(own_).session.load());
  if (place->second == own_) return true;
  if (seen.number == Version::kUnknown) return unknown == Unknown::does_not_count;
  if (const RankHistory* const there = history(place->second)) return there->version >= seen.number;
  if (std::ranges::count(group_, place->second))
    return true;  // it cannot be read now, which is another matter
  const uint64_t version = board_.version(place->second);
  return version != Version::kUnknown && version >= seen.number;
}

}  // namespace jitc
