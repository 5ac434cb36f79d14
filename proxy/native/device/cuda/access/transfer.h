// Direct access to device memory while the device is idle: large copies through two pinned buffers, so that
// the GPU fills one while the host reads the other.
//
// Promises: synchronous, one at a time, from any thread. Called by: DirectAccess::read, write;
// hash_all where the GPU cannot hash by itself.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "base/hash.h"
#include "device/cuda/memory/pinned.h"
#include "device/transfers.h"

namespace jitc::cuda {

class Transfer {
 public:
  explicit Transfer(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Passes the bytes to `take` in order. All functions throw OpError.
  void read(uint64_t address, uint64_t bytes, const std::function<void(std::span<const std::byte>)>& take);
  void write(uint64_t address, std::span<const std::byte> data);
  /// Hashes the range on the host.
  Hash hash(const MemoryRange& range);

 private:
  static constexpr size_t kPiece = 4u << 20;
  struct Lane {
    abi::CUstream stream = nullptr;
    std::unique_ptr<HostMemory> buffer;
  };
  void prepare();
  void wait(const Lane& lane) const;

  const std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::array<Lane, 2> lanes_;
};

}  // namespace jitc::cuda
