// See transfer.h.
#include "transfer.h"

#include <algorithm>
#include <cstring>

#include "base/content_hash.h"
#include "device/cuda/driver/error.h"

namespace jitc::cuda {

Transfer::~Transfer() {
  context_->bind();
  for (const Lane& lane : lanes_)
    if (lane.stream) context_->driver().cuStreamDestroy(lane.stream);
}

/// Makes streams and buffers on first use.
void Transfer::prepare() {
  const Driver& driver = context_->driver();
  check(driver, "cuCtxSetCurrent", context_->bind());
  for (Lane& lane : lanes_) {
    if (!lane.stream)
      check(driver, "cuStreamCreateWithPriority",
            driver.cuStreamCreateWithPriority(&lane.stream, abi::kStreamNonBlocking, 0));
    if (!lane.buffer) lane.buffer = std::make_unique<HostMemory>(context_, kPiece);
  }
}

void Transfer::wait(const Lane& lane) const {
  const Driver& driver = context_->driver();
  check(driver, "cuStreamSynchronize", driver.cuStreamSynchronize(lane.stream));
}

void Transfer::read(uint64_t address, uint64_t bytes,
                    const std::function<void(std::span<const std::byte>)>& take) {
  const std::lock_guard lock(mutex_);
  prepare();
  const Driver& driver = context_->driver();
  const auto start = [&](uint64_t at) {
    const Lane& lane = lanes_[at / kPiece % 2];
    check(driver, "cuMemcpyDtoHAsync",
          driver.cuMemcpyDtoHAsync(lane.buffer->data(), address + at, std::min<uint64_t>(kPiece, bytes - at),
                                   lane.stream));
  };
  if (bytes) start(0);
  for (uint64_t at = 0; at < bytes; at += kPiece) {
    if (bytes - at > kPiece) start(at + kPiece);
    const Lane& lane = lanes_[at / kPiece % 2];
    wait(lane);
    take({lane.buffer->data(), std::min<uint64_t>(kPiece, bytes - at)});
  }
}

void Transfer::write(uint64_t address, std::span<const std::byte> data) {
  const std::lock_guard lock(mutex_);
  prepare();
  const Driver& driver = context_->driver();
  for (uint64_t at = 0; at < data.size(); at += kPiece) {
    const Lane& lane = lanes_[at / kPiece % 2];
    const size_t size = std::min<size_t>(kPiece, data.size() - at);
    wait(lane);
    std::memcpy(lane.buffer->data(), data.data() + at, size);
    check(driver, "cuMemcpyHtoDAsync",
          driver.cuMemcpyHtoDAsync(address + at, lane.buffer->data(), size, lane.stream));
  }
  for (const Lane& lane : lanes_) wait(lane);
}

Hash Transfer::hash(const MemoryRange& range) {
  static_assert(kPiece % content::kStripe == 0);
  ContentHasher hasher;
  read(range.address, range.bytes, [&](std::span<const std::byte> part) { hasher.add(part); });
  return hasher.finish();
}

}  // namespace jitc::cuda
