#include "snapshot.h"

#include <algorithm>
#include <iterator>

namespace jitc {

uint64_t Snapshot::take(uint64_t bytes) {
  const uint64_t size = rounded(bytes);
  if (!size) return kNone;
  for (auto extent = free_.begin(); extent != free_.end(); ++extent) {
    const auto [offset, room] = *extent;
    if (room < size) continue;
    free_.erase(extent);
    if (room > size) free_[offset + size] = room - size;
    used_ += size;
    touched_ = std::max(touched_, offset + size);
    return offset;
  }
  return kNone;
}

bool Snapshot::claim(uint64_t offset, uint64_t bytes) {
  const uint64_t size = rounded(bytes);
  auto extent = free_.upper_bound(offset);
  if (extent == free_.begin()) return false;
  --extent;
  const auto [start, room] = *extent;
  if (size > room || offset - start > room - size) return false;
  free_.erase(extent);
  if (offset > start) free_[start] = offset - start;
  if (offset + size < start + room) free_[offset + size] = start + room - offset - size;
  used_ += size;
  touched_ = std::max(touched_, offset + size);
  return true;
}

void Snapshot::give_back(uint64_t offset, uint64_t bytes) {
  if (const auto shared = further_owners_.find(offset); shared != further_owners_.end()) {
    if (--shared->second == 0) further_owners_.erase(shared);
    return;
  }
  uint64_t size = rounded(bytes);
  if (!size) return;
  used_ -= size;
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  if (next != free_.end() && offset + size == next->first) {
    size += next->second;
    free_.erase(next);
  }
  free_[offset] = size;
}

void Snapshot::release(uint64_t offset, uint64_t size) const {
  if (before_release_) before_release_(bytes(offset, size));
  map_.release(offset, size);
}

void Snapshot::trim() {
  if (touched_ <= 4 * used_ + (4u << 20)) return;
  uint64_t end = 0;
  for (const auto& [offset, room] : free_) {
    const uint64_t until = std::min(offset + room, touched_);
    if (offset < touched_) release(offset, until - offset);
    end = offset + room == map_.size() ? offset : map_.size();  // of the last one: where use ends
  }
  touched_ = end;
}

}  // namespace jitc
