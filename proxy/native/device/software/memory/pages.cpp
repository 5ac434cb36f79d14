// See pages.h.
//
// The range is one mapping whose parts change their protection. The kernel merges equal neighbours, so a
// mapping ends only where open pages end.
#include "pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/dumps.h"

namespace jitc::software {
namespace {
/// Limit of ranges, of which each takes two mappings: half of what a process can have.
constexpr size_t kMostRanges = 16384;

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

void* map_anywhere(uint64_t bytes) {
  void* const got =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got != MAP_FAILED) leave_out_of_dumps(got, bytes);
  return got;
}
}  // namespace

Pages::~Pages() {
  if (!bytes_) return;
  watched_.end_in(base_, bytes_);
  munmap(pointer(base_), bytes_);
}

bool Pages::reserve(uint64_t base, uint64_t bytes, std::string& error) {
  void* const got = mmap(pointer(base), bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != pointer(base)) {
    error = "cannot reserve the session's address range: ";
    error += got == MAP_FAILED ? std::strerror(errno) : "the kernel gave another address";
    if (got != MAP_FAILED) munmap(got, bytes);
    return false;
  }
  base_ = base;
  bytes_ = bytes;
  leave_out_of_dumps(got, bytes);  // parts of it stay so when moved
  // Parts first written after a split never merge again; so one page is written while the range is whole. If
  // the system does not allow that there are more mappings.
  if (mprotect(got, bytes, PROT_READ | PROT_WRITE) == 0) {
    *static_cast<volatile std::byte*>(got) = std::byte{1};
    madvise(got, bytes, MADV_DONTNEED);
    mprotect(got, bytes, PROT_NONE);
  }
  madvise(got, bytes, MADV_HUGEPAGE);  // fewer page faults; only a hint
  return true;
}

void Pages::note_open(uint64_t from, uint64_t to) {
  auto next = open_.upper_bound(from);
  if (next != open_.begin() && std::prev(next)->second >= from) from = std::prev(next)->first, --next;
  while (next != open_.end() && next->first <= to) {
    to = std::max(to, next->second);
    next = open_.erase(next);
  }
  open_[from] = to;
}

/// Removes the pages from the open ones. False: one more gap would exceed the process's share.
bool Pages::may_close(uint64_t from, uint64_t to) {
  const auto around = std::prev(open_.upper_bound(from));
  const auto [start, end] = *around;
  if (start < from && to < end && open_.size() >= kMostRanges) return false;
  if (start == from)
    open_.erase(around);
  else
    around->second = from;
  if (to < end) open_[to] = end;
  return true;
}

/// Returns the start; if one more range would be too many, that of the gap before it, which is opened too.
uint64_t Pages::start_of(uint64_t address, uint64_t end) const {
  const auto next = open_.upper_bound(address);
  if (open_.size() < kMostRanges || next == open_.begin() || (next != open_.end() && next->first <= end))
    return address;
  return std::min(address, std::prev(next)->second);
}

bool Pages::open(uint64_t address, uint64_t bytes) {
  const uint64_t end = address + rounded(bytes), from = start_of(address, end);
  watched_.end_in(address, end - address);
  if (mprotect(pointer(from), end - from, PROT_READ | PROT_WRITE) != 0) return false;
  madvise(pointer(address), end - address, MADV_DONTNEED);
  note_open(from, end);
  return true;
}

void Pages::close(uint64_t address, uint64_t bytes) {
  const uint64_t size = rounded(bytes);
  watched_.end_in(address, size);
  madvise(pointer(address), size, MADV_DONTNEED);
  if (may_close(address, address + size)) mprotect(pointer(address), size, PROT_NONE);
}

std::byte* Pages::take_out(uint64_t address, uint64_t bytes) {
  const uint64_t size = rounded(bytes);
  watched_.end_in(address, size);
  void* moved = mremap(pointer(address), size, size, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr);
  if (moved == MAP_FAILED) {  // an old kernel, or several mappings
    moved = map_anywhere(size);
    if (moved == MAP_FAILED) return nullptr;
    std::memcpy(moved, pointer(address), size);
  }
  return static_cast<std::byte*>(moved);
}

bool Pages::put_back(std::byte* content, uint64_t address, uint64_t bytes) {
  const uint64_t size = rounded(bytes);
  watched_.end_in(address, size);
  if (mremap(content, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, pointer(address)) == MAP_FAILED)
    return false;
  note_open(address, address + size);
  return true;
}

void Pages::drop(std::byte* content, uint64_t bytes) { munmap(content, rounded(bytes)); }

}  // namespace jitc::software
