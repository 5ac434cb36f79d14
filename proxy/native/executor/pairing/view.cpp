#include "view.h"

#include <algorithm>

namespace jitc {
namespace {
/// Readings before a view is taken as it is: on one node the second one is closed.
constexpr int kReadings = 3;
}  // namespace

View::View(const JobBoard& board, uint32_t own, const std::vector<uint32_t>& group)
    : board_(board), own_(own), group_(group) {
  for (int left = kReadings; left; --left) {
    read();
    if (is_closed(Unknown::does_not_count)) return;
  }
}

void View::read() {
  histories_.clear();
  versions_.clear();
  for (const uint32_t slot : group_) {
    const uint64_t session = board_.slot(slot).session.load();
    auto history = slot == own_ ? std::nullopt : board_.history(slot);
    versions_.push_back({session, history ? history->version : Version::kUnknown});
    if (history) histories_.emplace_back(slot, std::move(*history));
  }
  whole_ = histories_.size() + 1 == group_.size();
}

bool View::is_closed(Unknown unknown) const {
  return std::ranges::all_of(histories_, [&](const auto& one) {
    return std::ranges::all_of(one.second.seen, [&](const Version& seen) { return has(seen, unknown); });
  });
}

/// Returns whether this view has what another rank had seen.
bool View::has(const Version& seen, Unknown unknown) const {
  const auto here = std::ranges::find(versions_, seen.session, &Version::session);
  if (here == versions_.end()) return board_.has_ended(seen.session);
  if (seen.session == board_.slot(own_).session.load()) return true;
  if (seen.number == Version::kUnknown) return unknown == Unknown::does_not_count;
  return here->number >= seen.number;  // what cannot be read now is known to be there
}

}  // namespace jitc
