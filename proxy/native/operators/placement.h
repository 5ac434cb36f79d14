// Makes a CPU kernel allocate its results in device memory, and no more than the GPU has.
//
// A kernel that makes a new tensor requests memory from PyTorch's CPU allocator. While a Placement is alive
// on a thread, the first request of exactly the size of a wanted output gets that output's memory, so the
// usual kernel writes straight into device memory and nothing is copied. If a kernel requests the same size
// for a temporary first, only the benefit is lost: run.cpp compares addresses and copies.
//
// Its other allocations lie in the worker's own memory. A MemoryLimit bounds them, so that an operator with
// an absurd result is refused as on a GPU, before the host's memory is used up.
//
// Called by: run.cpp, library.cpp.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "operators/operator.h"

namespace jitc::operators {

struct Slot {
  void* address;
  size_t bytes;
  bool used;
};

class Placement {
 public:
  explicit Placement(std::vector<Slot>& slots);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;
};

/// Limit while this thread runs one operator; an allocation that exceeds it throws c10::OutOfMemoryError. 0:
/// no limit. The outcome depends on the operator alone, so that a replay has the same.
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
};

/// Installs the allocator in place of PyTorch's. Call it once per process, before the first operator call.
void install_placement_allocator();

/// Returns whether the CPU kernel of "aten::name.overload" assumes that given results are contiguous.
bool takes_results_for_contiguous(std::string_view name);

/// Tensor from the caller, and the one that the kernel gets instead.
using GivenAndStandIn = std::pair<at::Tensor, at::Tensor>;
/// Copies the stand-ins to the given tensors after a call, which returns those.
void put_back(const std::vector<GivenAndStandIn>& stand_ins, torch::jit::Stack& results);

/// Results given by the caller, for CPU kernels that assume contiguous memory. A GPU's kernels follow the
/// strides of any result; these write numbers over other elements, or outside. They get contiguous memory
/// instead, which is copied back. Other operators, and contiguous results, are left alone.
class PackedResults {
 public:
  /// Replaces the call's results, if its kernel needs it.
  PackedResults(const Operator& op, torch::jit::Stack& arguments);
  /// Fills the given results after the call, which returns them.
  void put_back(torch::jit::Stack& results) const { operators::put_back(given_and_packed_, results); }

 private:
  std::vector<GivenAndStandIn> given_and_packed_;
};

}  // namespace jitc::operators
