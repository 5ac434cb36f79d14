// See moved_out.h; moving memory out and in: memory.h.
#include "moved_out.h"

#include <algorithm>

#include "device/cuda/driver/error.h"
#include "device/standard_error.h"
#include "memory.h"

namespace jitc::cuda {

MovedOut::~MovedOut() {
  forget();
  if (stream_) context_->driver().cuStreamDestroy(stream_);
}

bool MovedOut::prepare(const std::shared_ptr<Context>& context, uint64_t bytes) {
  context_ = context;
  check(context_->driver(), "cuCtxSetCurrent", context_->bind());
  while (slabs_.size() * kSlab < bytes) {
    if (node_ && !node_->take(kSlab)) return false;
    try {
      slabs_.push_back(std::make_unique<HostMemory>(context_, kSlab));
    } catch (...) {
      if (node_) node_->give(kSlab);
      throw;
    }
  }
  const Driver& driver = context_->driver();
  if (!stream_)
    check(driver, "cuStreamCreateWithPriority",
          driver.cuStreamCreateWithPriority(&stream_, abi::kStreamNonBlocking, 0));
  return true;
}

void MovedOut::copy(const char* what, Ranges blocks, const Copy& copy) {
  const Driver& driver = context_->driver();
  size_t at = 0;
  for (const auto& [address, bytes] : blocks)
    for (uint64_t done = 0; done < bytes;) {
      const size_t part = std::min<uint64_t>(bytes - done, kSlab - at % kSlab);
      check(driver, what, copy(address + done, slabs_[at / kSlab]->data() + at % kSlab, part));
      done += part;
      at += part;
    }
  check(driver, "cuStreamSynchronize", driver.cuStreamSynchronize(stream_));
}

void MovedOut::take(Ranges blocks) {
  copy("cuMemcpyDtoHAsync", blocks, [this](uint64_t device, std::byte* host, size_t bytes) {
    return context_->driver().cuMemcpyDtoHAsync(host, device, bytes, stream_);
  });
}

void MovedOut::give(Ranges blocks) {
  copy("cuMemcpyHtoDAsync", blocks, [this](uint64_t device, std::byte* host, size_t bytes) {
    return context_->driver().cuMemcpyHtoDAsync(device, host, bytes, stream_);
  });
}

void MovedOut::forget() {
  if (node_) node_->give(slabs_.size() * kSlab);
  slabs_.clear();
}

// -- the session's memory --------------------------------------------------------------------------------

std::vector<std::pair<uint64_t, uint64_t>> Memory::ranges() const {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto& [address, block] : live_) ranges.emplace_back(address, block.bytes);
  return ranges;
}

/// Moves out; releases memory retained for a roll-back, which no submitted work uses.
bool Memory::move_out() {
  const std::lock_guard lock(mutex_);
  if (out_) return true;
  const auto blocks = ranges();
  uint64_t bytes = 0;
  for (const auto& [address, size] : blocks) bytes += size;
  try {
    if (!moved_out_.prepare(context_, bytes)) return false;
    moved_out_.take(blocks);
  } catch (const OpError& failure) {
    say("memory cannot be moved out: %s", failure.message.c_str());
    return false;
  }
  for (auto* kept : {&condemned_, &freed_}) {
    for (Block& block : *kept) physical_.release(block);
    kept->clear();
  }
  for (auto* blocks_of : {&live_, &held_})
    for (auto& [key, block] : *blocks_of) physical_.release(block);
  budget_->vacate(used_.load());
  return out_ = true;
}

bool Memory::move_in() {
  const std::lock_guard lock(mutex_);
  if (!out_) return true;
  bool there = true;
  try {
    check(context_->driver(), "cuCtxSetCurrent", context_->bind());
    for (auto* blocks : {&live_, &held_})
      for (auto& [key, block] : *blocks) {
        there = there && physical_.create(block) == kSuccess;
        if (there && blocks == &live_) physical_.map(block);
      }
    if (there && !live_.empty()) moved_out_.give(ranges());
  } catch (const OpError& failure) {
    say("memory cannot be moved in: %s", failure.message.c_str());
    there = false;
  }
  if (there) return out_ = false, true;
  for (auto* blocks : {&live_, &held_})
    for (auto& [key, block] : *blocks) physical_.release(block);
  budget_->vacate(used_.load());
  return false;
}

bool Memory::has_room_for(uint64_t more) const { return fits(more); }

bool Memory::could_have(uint64_t more) const {
  const uint64_t used = used_.load();
  return used <= total() && more <= total() - used && physical_.rounded(more) <= total() - used;
}

void Memory::came_beside() {
  const std::lock_guard lock(mutex_);
  if (!out_) moved_out_.forget();
}

}  // namespace jitc::cuda
