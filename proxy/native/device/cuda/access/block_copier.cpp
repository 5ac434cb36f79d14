// See block_copier.h.
#include "block_copier.h"

#include <algorithm>
#include <cstring>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {

RegisteredCopies::~RegisteredCopies() {
  context_->bind();
  forget(arena_);
  if (stream_) context_->driver().cuStreamDestroy(stream_);
}

bool RegisteredCopies::copy(std::span<const BlockCopy> blocks) {
  const auto there = [this](const BlockCopy& one) { return memory_.contains(one.address, one.into.size()); };
  if (!std::ranges::all_of(blocks, there)) return false;
  const Driver& driver = context_->driver();
  const std::lock_guard lock(mutex_);
  try {
    check(driver, "cuCtxSetCurrent", context_->bind());
    if (!stream_)
      check(driver, "cuStreamCreateWithPriority",
            driver.cuStreamCreateWithPriority(&stream_, abi::kStreamNonBlocking, 0));
    for (const BlockCopy& block : blocks) start(block);
    check(driver, "cuStreamSynchronize", driver.cuStreamSynchronize(stream_));
    return true;
  } catch (const OpError& error) {
    if (stream_) driver.cuStreamSynchronize(stream_);  // nothing of it may be written later
    state_.fault(0, error.status, error.cause, error.message);
    return false;
  }
}

/// A copy must not cross the end of what was registered in one piece.
void RegisteredCopies::start(const BlockCopy& block) {
  const Driver& driver = context_->driver();
  for (size_t at = 0; at < block.into.size();) {
    std::byte* const into = block.into.data() + at;
    const size_t number = static_cast<size_t>(into - arena_.data()) / kWindow;
    const std::byte* const end = std::to_address(window(number).end());
    const size_t size = std::min(block.into.size() - at, static_cast<size_t>(end - into));
    if (is_registered(number))
      check(driver, "cuMemcpyDtoHAsync", driver.cuMemcpyDtoHAsync(into, block.address + at, size, stream_));
    else
      copy_by_detour({block.address + at, {into, size}});
    at += size;
  }
}

bool RegisteredCopies::is_registered(size_t number) {
  if (windows_.contains(number)) return true;
  if (given_up_) return false;
  const auto memory = window(number);
  given_up_ = context_->driver().cuMemHostRegister(memory.data(), memory.size(), abi::kHostPortable) != 0;
  if (!given_up_) windows_.insert(number);
  return !given_up_;
}

std::span<std::byte> RegisteredCopies::window(size_t number) const {
  return arena_.subspan(number * kWindow, std::min(kWindow, arena_.size() - number * kWindow));
}

void RegisteredCopies::copy_by_detour(const BlockCopy& block) {
  std::byte* into = block.into.data();
  detour_.read(block.address, block.into.size(), [&](std::span<const std::byte> part) {
    std::memcpy(into, part.data(), part.size());
    into += part.size();
  });
}

void RegisteredCopies::forget(std::span<std::byte> memory) {
  const std::lock_guard lock(mutex_);
  if (memory.empty() || windows_.empty()) return;
  context_->bind();
  const size_t first = static_cast<size_t>(memory.data() - arena_.data());
  const size_t last = (first + memory.size() - 1) / kWindow;
  for (auto each = windows_.lower_bound(first / kWindow); each != windows_.end() && *each <= last;) {
    context_->driver().cuMemHostUnregister(window(*each).data());
    each = windows_.erase(each);
  }
}

}  // namespace jitc::cuda
