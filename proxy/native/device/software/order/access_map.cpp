// See access_map.h.
#include "access_map.h"

#include <algorithm>
#include <iterator>

namespace jitc::software::order {
namespace {
constexpr size_t kMostPieces = 200'000, kSweepFrom = 4096;
}  // namespace

/// Returns the first piece at or behind the address, splitting one that crosses it.
AccessMap::Pieces::iterator AccessMap::cut(uint64_t at) {
  const auto next = pieces_.lower_bound(at);
  if (next == pieces_.begin()) return next;
  Piece& before = std::prev(next)->second;
  if (before.end <= at) return next;
  Piece rest{before.end, before.accesses};
  before.end = at;
  return pieces_.emplace_hint(next, at, std::move(rest));
}

void AccessMap::compare(const std::vector<Access>& before, const Access& now, const Clock& past) {
  for (const Access& one : before)
    if ((one.writes || now.writes) && !past.covers(one.op->number, one.op->sequence) &&
        one.region->overlaps(*now.region))
      conflict_(one, now);
}

/// Adds an access in place of those that it makes redundant: those before it that touch no byte here that it
/// does not touch, and write only if it does.
void AccessMap::add(std::vector<Access>& accesses, const Access& now, const Clock& past) {
  const bool dense = now.region->dense();
  std::erase_if(accesses, [&](const Access& one) {
    if (one.writes && !now.writes) return false;
    if (!dense && *one.region != *now.region) return false;
    return now.writes || past.covers(one.op->number, one.op->sequence);
  });
  accesses.push_back(now);
}

void AccessMap::fill_gaps(const Access& now) {
  uint64_t at = now.region->begin();
  const uint64_t end = now.region->end();
  for (auto next = pieces_.lower_bound(at); at < end; ++next) {
    const uint64_t to = next == pieces_.end() ? end : std::min(end, next->first);
    if (at < to) next = pieces_.emplace_hint(next, at, Piece{to, {now}});
    at = next->second.end;
  }
}

void AccessMap::take(const OperationPointer& op, const Clock& past, Region region, bool writes) {
  if (region.empty()) return;
  const uint64_t begin = region.begin(), end = region.end();
  const Access now{op, std::make_shared<const Region>(std::move(region)), writes};
  const auto first = cut(begin), last = cut(end);
  for (auto piece = first; piece != last; ++piece) {
    compare(piece->second.accesses, now, past);
    if (!(writes && now.region->dense())) add(piece->second.accesses, now, past);
  }
  if (!writes || !now.region->dense()) return fill_gaps(now);
  pieces_.erase(first, last);
  pieces_.emplace_hint(last, begin, Piece{end, {now}});
}

void AccessMap::forget(uint64_t begin, uint64_t end) {
  const auto first = cut(begin);
  pieces_.erase(first, cut(end));
}

template <class Over>
void AccessMap::drop(Over over) {
  for (auto piece = pieces_.begin(); piece != pieces_.end();) {
    std::erase_if(piece->second.accesses, over);
    piece = piece->second.accesses.empty() ? pieces_.erase(piece) : std::next(piece);
  }
}

void AccessMap::sweep(const Clock& host) {
  if (pieces_.size() < 2 * swept_ + kSweepFrom) return;
  drop([&](const Access& one) { return host.covers(one.op->number, one.op->sequence); });
  if (pieces_.size() > kMostPieces) {
    std::vector<uint64_t> newest;
    for (const auto& [begin, piece] : pieces_) newest.push_back(piece.accesses.back().op->sequence);
    const auto middle = newest.begin() + static_cast<std::ptrdiff_t>(newest.size() / 2);
    std::nth_element(newest.begin(), middle, newest.end());
    drop([limit = *middle](const Access& one) { return one.op->sequence <= limit; });
  }
  swept_ = pieces_.size();
}

}  // namespace jitc::software::order
