#include "snapshot.h"

#include <algorithm>
#include <iterator>

namespace jitc {
namespace {

/// Smallest amount that is worth the calls.
constexpr uint64_t kSlack = 4u << 20;

uint64_t sum(const std::map<uint64_t, uint64_t>& ranges) {
  uint64_t bytes = 0;
  for (const auto& range : ranges) bytes += range.second;
  return bytes;
}
}  // namespace

Snapshot::Snapshot(const std::string& path, uint64_t bytes, const NodeBoard& board, uint32_t slot)
    : map_(path, bytes), bare_(map_.holes()), budget_(board, slot, bytes, bytes - sum(bare_)) {
  free_[0] = bytes;
}

Snapshot::Ranges::const_iterator Snapshot::room_for(uint64_t size) const {
  return std::ranges::find_if(free_, [size](const auto& extent) { return extent.second >= size; });
}

uint64_t Snapshot::take(uint64_t bytes) {
  const uint64_t size = rounded(bytes);
  const auto extent = size ? room_for(size) : free_.end();
  if (extent == free_.end()) return kNone;
  const uint64_t offset = extent->first;
  if (!budget_.take(common(bare_, offset, size))) {
    release_free(0);
    if (!budget_.take(common(bare_, offset, size))) return kNone;
  }
  remove(free_, offset, size);
  remove(bare_, offset, size);
  count_used(size);
  return offset;
}

bool Snapshot::claim(uint64_t offset, uint64_t bytes) {
  const uint64_t size = rounded(bytes);
  if (offset > map_.size() || size > map_.size() - offset || common(free_, offset, size) != size)
    return false;
  remove(free_, offset, size);
  count_used(size);
  return true;
}

void Snapshot::give_back(uint64_t offset, uint64_t bytes) {
  if (const auto shared = further_owners_.find(offset); shared != further_owners_.end()) {
    if (--shared->second == 0) further_owners_.erase(shared);
    return;
  }
  const uint64_t size = rounded(bytes);
  if (!size) return;
  used_ -= size;
  add(free_, offset, size);
}

void Snapshot::count_used(uint64_t more) {
  used_ += more;
  most_used_ = std::max(most_used_, used_.load());
}

void Snapshot::trim() {
  needed_.push_back(std::exchange(most_used_, used_));
  if (needed_.size() > kRemembered) needed_.pop_front();
  const bool scarce = budget_.used() > budget_.limit() - budget_.limit() / 8;
  if (scarce || budget_.held() > 4 * used_ + kSlack) return release_free(0);
  const uint64_t needed = *std::ranges::max_element(needed_);
  if (budget_.held() > needed + needed / 8 + kSlack) release_free(needed);
}

void Snapshot::release_free(uint64_t keep) {
  Ranges held = free_;
  for (const auto& [offset, size] : bare_) remove(held, offset, size);
  for (auto range = held.rbegin(); range != held.rend() && budget_.held() > keep; ++range) {
    const uint64_t size = std::min(range->second, rounded(budget_.held() - keep));
    const uint64_t offset = range->first + range->second - size;
    if (before_release_) before_release_(bytes(offset, size));
    map_.release(offset, size);
    budget_.give(size);
    add(bare_, offset, size);
  }
}

// -- ranges --------------------------------------------------------------------------------------------

void Snapshot::add(Ranges& ranges, uint64_t offset, uint64_t size) {
  remove(ranges, offset, size);
  const auto next = ranges.lower_bound(offset);
  if (next != ranges.end() && offset + size == next->first) {
    size += next->second;
    ranges.erase(next);
  }
  if (const auto after = ranges.lower_bound(offset); after != ranges.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  ranges[offset] = size;
}

void Snapshot::remove(Ranges& ranges, uint64_t offset, uint64_t size) {
  const uint64_t end = offset + size;
  auto one = ranges.upper_bound(offset);
  if (one != ranges.begin()) --one;
  while (one != ranges.end() && one->first < end) {
    const auto [start, bytes] = *one;
    const uint64_t stop = start + bytes;
    if (stop <= offset) {
      ++one;
      continue;
    }
    one = ranges.erase(one);
    if (start < offset) ranges[start] = offset - start;
    if (stop > end) ranges[end] = stop - end;
  }
}

uint64_t Snapshot::common(const Ranges& ranges, uint64_t offset, uint64_t size) {
  const uint64_t end = offset + size;
  uint64_t bytes = 0;
  auto one = ranges.upper_bound(offset);
  if (one != ranges.begin()) --one;
  for (; one != ranges.end() && one->first < end; ++one) {
    const uint64_t from = std::max(one->first, offset), to = std::min(one->first + one->second, end);
    if (to > from) bytes += to - from;
  }
  return bytes;
}

}  // namespace jitc
