// Moves blocks to the node's memory and back; see memory.h.
//
// Their pages are closed meanwhile: an access without the turn is caught.
#include "moved_out.h"

#include <sys/mman.h>

#include <cstring>
#include <mutex>

#include "base/dumps.h"

namespace jitc::software {

Memory::MovedOut::~MovedOut() {
  if (!bytes_) return;
  munmap(content_, bytes_);
  if (node_) node_->give(bytes_);
}

bool Memory::MovedOut::take(uint64_t bytes) {
  if (bytes == 0) return true;
  if (node_ && !node_->take(bytes)) return false;
  void* const got =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) {
    if (node_) node_->give(bytes);
    return false;
  }
  leave_out_of_dumps(got, bytes);
  madvise(got, bytes, MADV_HUGEPAGE);  // fewer page faults; only a hint
  content_ = static_cast<std::byte*>(got);
  bytes_ = bytes;
  return true;
}

bool Memory::move_out() {
  const std::unique_lock lock(mutex_);
  if (out_) return true;
  uint64_t bytes = 0;
  for (const auto& [address, block] : live_) bytes += block.size();
  auto out = std::make_unique<MovedOut>(node_);
  if (!out->take(bytes)) return false;
  std::byte* to = out->content();
  for (const auto& [address, block] : live_) {
    std::memcpy(to, reinterpret_cast<const void*>(address), block.size());
    pages_.close(address, block.bytes);
    to += block.size();
  }
  budget_->vacate(used_.load());
  out_ = std::move(out);
  return true;
}

bool Memory::move_in() {
  const std::unique_lock lock(mutex_);
  if (!out_) return true;
  if (!budget_->take(used_.load(), limit_)) return false;
  const std::byte* from = out_->content();
  for (const auto& [address, block] : live_) {
    if (!pages_.open(address, block.bytes)) return budget_->vacate(used_.load()), false;
    std::memcpy(reinterpret_cast<void*>(address), from, block.size());
    from += block.size();
  }
  out_.reset();
  return true;
}

bool Memory::has_room_for(uint64_t more) const {
  const uint64_t used = budget_->used();
  return used <= limit_ && more <= limit_ - used && Pages::rounded(more) <= limit_ - used;
}

bool Memory::could_have(uint64_t more) const {
  const uint64_t used = used_.load();
  return used <= limit_ && more <= limit_ - used && Pages::rounded(more) <= limit_ - used;
}

}  // namespace jitc::software
