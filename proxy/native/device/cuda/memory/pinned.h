// Pinned host memory, which the GPU may read and write while the host continues.
//
// Promises: taking a block never waits; a block is given back by its destructor, from any thread; the pool
// keeps what it has. Called by: copies (staging), results (landing), streams (words of progress).
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cuda/driver/context.h"

namespace jitc::cuda {

/// Memory of cuMemHostAlloc.
class HostMemory {
 public:
  /// Allocates. Throws OpError.
  HostMemory(std::shared_ptr<Context> context, size_t bytes);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  std::byte* data() const { return data_; }
  abi::CUdeviceptr device() const { return device_; }

 private:
  const std::shared_ptr<Context> context_;
  std::byte* data_ = nullptr;
  abi::CUdeviceptr device_ = 0;
};

class PinnedPool;

/// Block of a pool, or nothing.
class Pinned {
 public:
  Pinned() = default;
  Pinned(PinnedPool* pool, size_t kind, std::byte* data) : pool_(pool), kind_(kind), data_(data) {}
  Pinned(Pinned&& other) noexcept { swap(other); }
  Pinned& operator=(Pinned&& other) noexcept {
    Pinned taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Pinned();
  std::byte* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void swap(Pinned& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(kind_, other.kind_);
    std::swap(data_, other.data_);
  }
  PinnedPool* pool_ = nullptr;
  size_t kind_ = 0;
  std::byte* data_ = nullptr;
};

class PinnedPool {
 public:
  static constexpr size_t kLargest = 1u << 20;
  explicit PinnedPool(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  /// Returns a block of at least so many bytes (at most kLargest). Nothing: all are in use, wait for a
  /// return. Throws OpError when the driver has no memory.
  Pinned take(size_t bytes);

 private:
  friend class Pinned;
  /// Size class. Each has a limit of its own, so that a block of its size is certain to come back.
  struct Kind {
    size_t bytes, limit;
  };
  static constexpr std::array<Kind, 3> kKinds{{{4096, 4u << 20}, {65536, 32u << 20}, {kLargest, 96u << 20}}};
  struct Shelf {
    std::vector<std::unique_ptr<HostMemory>> slabs;
    std::vector<std::byte*> free;
    size_t bytes = 0;
  };
  void grow(Shelf& shelf, const Kind& kind);
  void give_back(size_t kind, std::byte* data);

  const std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::array<Shelf, kKinds.size()> shelves_;
};

/// 64-bit word that a stream writes and the host reads.
struct Word {
  std::atomic<uint64_t>* host = nullptr;
  abi::CUdeviceptr device = 0;
};

class Words {
 public:
  explicit Words(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  /// Returns a word that is 0. Throws OpError.
  Word take();
  /// Takes a word back. Requires that no write to it is pending.
  void give_back(Word word);

 private:
  const std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HostMemory>> pages_;
  std::vector<Word> free_;
};

}  // namespace jitc::cuda
