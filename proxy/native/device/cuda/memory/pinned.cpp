// See pinned.h.
#include "pinned.h"

#include <new>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
constexpr size_t kSlab = 1u << 20;
constexpr size_t kPage = 4096;
constexpr size_t kLine = 64;  // words of different streams do not share a cache line
}  // namespace

HostMemory::HostMemory(std::shared_ptr<Context> context, size_t bytes) : context_(std::move(context)) {
  const Driver& driver = context_->driver();
  check(driver, "cuCtxSetCurrent", context_->bind());
  void* data = nullptr;
  int32_t mode = abi::kCaptureModeRelaxed;  // must not disturb a capture in progress
  check(driver, "cuThreadExchangeStreamCaptureMode", driver.cuThreadExchangeStreamCaptureMode(&mode));
  const auto made = driver.cuMemHostAlloc(&data, bytes, abi::kHostPortable | abi::kHostDeviceMap);
  driver.cuThreadExchangeStreamCaptureMode(&mode);
  check(driver, "cuMemHostAlloc", made);
  data_ = static_cast<std::byte*>(data);
  if (const auto status = driver.cuMemHostGetDevicePointer(&device_, data_, 0)) {
    driver.cuMemFreeHost(data_);
    throw error_of(driver, "cuMemHostGetDevicePointer", status);
  }
}

HostMemory::~HostMemory() {
  context_->bind();
  context_->driver().cuMemFreeHost(data_);
}

Pinned::~Pinned() {
  if (data_) pool_->give_back(kind_, data_);
}

Pinned PinnedPool::take(size_t bytes) {
  size_t kind = 0;
  while (kind + 1 < kKinds.size() && kKinds[kind].bytes < bytes) ++kind;
  const std::lock_guard lock(mutex_);
  Shelf& shelf = shelves_[kind];
  if (shelf.free.empty()) grow(shelf, kKinds[kind]);
  if (shelf.free.empty()) return {};
  std::byte* const data = shelf.free.back();
  shelf.free.pop_back();
  return {this, kind, data};
}

void PinnedPool::grow(Shelf& shelf, const Kind& kind) {
  if (shelf.bytes + kSlab > kind.limit) return;
  shelf.slabs.push_back(std::make_unique<HostMemory>(context_, kSlab));
  shelf.bytes += kSlab;
  shelf.free.reserve(shelf.bytes / kind.bytes);  // giving back never allocates
  for (size_t at = kSlab; at >= kind.bytes; at -= kind.bytes)
    shelf.free.push_back(shelf.slabs.back()->data() + at - kind.bytes);
}

void PinnedPool::give_back(size_t kind, std::byte* data) {
  const std::lock_guard lock(mutex_);
  shelves_[kind].free.push_back(data);
}

Word Words::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    pages_.push_back(std::make_unique<HostMemory>(context_, kPage));
    const HostMemory& page = *pages_.back();
    for (size_t at = 0; at < kPage; at += kLine)
      free_.push_back({new (page.data() + at) std::atomic<uint64_t>(0), page.device() + at});
  }
  const Word word = free_.back();
  free_.pop_back();
  word.host->store(0);
  return word;
}

void Words::give_back(Word word) {
  const std::lock_guard lock(mutex_);
  free_.push_back(word);
}

}  // namespace jitc::cuda
