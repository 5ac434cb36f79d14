// Content of a session's blocks in pinned host memory, while another session has the GPU
// (device/common/turns/residency.h).
//
// Promises: the memory counts against the node's for copies, and is kept for the next time until forget(), as
// pinning takes longer than copying. Lock rule: that of Memory, its owner.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/shared/memory_budget.h"
#include "pinned.h"

namespace jitc::cuda {

class MovedOut {
 public:
  /// node: memory budget; none: unlimited.
  explicit MovedOut(CopiesBudget* node) : node_(node) {}
  ~MovedOut();
  MovedOut(const MovedOut&) = delete;
  MovedOut& operator=(const MovedOut&) = delete;

  /// Provides room for so many bytes; false: the node lacks it. Throws OpError.
  bool prepare(const std::shared_ptr<Context>& context, uint64_t bytes);
  /// Addresses and sizes on the device, in the same order both ways. The device is idle. Throw OpError.
  using Ranges = std::span<const std::pair<uint64_t, uint64_t>>;
  void take(Ranges blocks);
  void give(Ranges blocks);
  void forget();

 private:
  using Copy = std::function<abi::CUresult(uint64_t device, std::byte* host, size_t bytes)>;
  void copy(const char* what, Ranges blocks, const Copy& copy);

  static constexpr size_t kSlab = 64u << 20;
  CopiesBudget* const node_;
  std::shared_ptr<Context> context_;
  abi::CUstream stream_ = nullptr;
  std::vector<std::unique_ptr<HostMemory>> slabs_;
};

}  // namespace jitc::cuda
