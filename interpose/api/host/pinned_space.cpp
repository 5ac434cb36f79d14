// See pinned_space.h.
#include "pinned_space.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "jitc/progress_page.h"

namespace jitc::api {
PinnedSpace::PinnedSpace(const session::PinnedRegion& region) : fd_(region.fd), base_(region.base) {
  if (region.bytes <= kPinnedReserved)
    missing_ = "the service shares none";
  else
    missing_ = fd_ < 0 ? "the service's keeper did not give its memory" : reserve(region);
  if (missing_.empty()) free_[kPinnedReserved] = region.bytes - kPinnedReserved;
}

std::string PinnedSpace::reserve(const session::PinnedRegion& region) {
  void* const wanted = reinterpret_cast<void*>(region.base);
  void* const got = ::mmap(wanted, region.bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == wanted) return {};
  if (got != MAP_FAILED) ::munmap(got, region.bytes);
  return "its addresses are taken in this process";
}

void* PinnedSpace::take(uint64_t bytes) {
  const uint64_t size = rounded(bytes);
  if (size < bytes || !missing_.empty()) return nullptr;
  const uint64_t offset = take_range(size);
  if (!offset) return nullptr;
  void* const memory = ::mmap(reinterpret_cast<void*>(base_ + offset), size, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED, fd_, static_cast<off_t>(offset));
  if (memory != MAP_FAILED) return memory;
  give_range(offset, size);
  return nullptr;
}

void PinnedSpace::give_back(void* memory, uint64_t bytes) {
  const uint64_t size = rounded(bytes), offset = reinterpret_cast<uint64_t>(memory) - base_;
  ::mmap(memory, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  int code = 0;
  do
    code = ::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(size));
  while (code != 0 && errno == EINTR);
  give_range(offset, size);
}

/// Takes the first range that is large enough; 0: none.
uint64_t PinnedSpace::take_range(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto [offset, size] = *range;
    if (size < bytes) continue;
    free_.erase(range);
    if (size > bytes) free_[offset + bytes] = size - bytes;
    return offset;
  }
  return 0;
}

void PinnedSpace::give_range(uint64_t offset, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->first + std::prev(next)->second == offset)
    std::prev(next)->second += bytes;
  else
    free_[offset] = bytes;
}

}  // namespace jitc::api
