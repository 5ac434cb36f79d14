// Content hashes of device memory, computed by the GPU, and poisoning of memory: one launch for thousands of
// ranges (hash_kernel.cu).
//
// Promises: the same hashes as the host's (base/content_hash.h). The kernel is compiled in the background
// when the GPU is opened; the first hash waits for it. Without a kernel, the hasher says so in one line and
// leaves the work to the caller. One call at a time, from any thread, while the ranges are idle. Called by:
// Device.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "base/content_hash.h"
#include "base/hash.h"
#include "device/cuda/memory/pinned.h"
#include "device/cuda/module/kernel_build.h"
#include "device/cuda/module/modules.h"
#include "device/transfers.h"

namespace jitc::cuda {

/// Range in the kernel's layout.
struct HashRange {
  uint64_t address, bytes;
  uint64_t first;  // number of its first piece in the launch
};

class Hasher {
 public:
  static constexpr size_t kMostRanges = 8192;  // of one launch
  static constexpr uint64_t kPiece = uint64_t{32} * content::kStripe;

  Hasher(std::shared_ptr<Context> context, const std::string& nvrtc_path);
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  /// Returns false once it is known that the GPU cannot hash.
  bool usable() const { return !given_up_; }
  /// Hashes the ranges. False: the GPU cannot. Throws OpError when it is lost.
  bool hash(std::span<const MemoryRange> ranges, std::span<Hash> out);
  /// Fills the ranges with poison (device/poison.h). Otherwise same as hash().
  bool poison(std::span<const MemoryRange> ranges);

 private:
  class Tables;
  void prepare();
  void give_up(const std::string& why);
  bool in_turns(std::span<const MemoryRange> ranges,
                const std::function<void(std::span<const MemoryRange>, size_t)>& turn);
  void run(std::span<const MemoryRange> ranges, std::span<Hash> out);
  uint64_t fill_table(std::span<const MemoryRange> ranges);
  void launch(abi::CUfunction kernel, uint32_t count, uint64_t pieces);

  const std::shared_ptr<Context> context_;
  const KernelWork build_;
  std::mutex mutex_;
  std::atomic<bool> given_up_ = false;
  std::unique_ptr<Module> module_;
  abi::CUfunction hash_ = nullptr, poison_ = nullptr;
  std::unique_ptr<Tables> tables_;
};

}  // namespace jitc::cuda
