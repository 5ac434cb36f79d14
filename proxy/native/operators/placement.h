// Lets a CPU kernel allocate its results in device memory, and no more than the GPU has.
//
// A kernel that makes a new tensor asks PyTorch's CPU allocator for memory. While a Placement is alive on a
// thread, the first request of exactly the size of a wanted output gets that output's memory, so the usual
// kernel writes straight into device memory and nothing is copied. A kernel that asks for something of the
// same size first (a temporary) only loses the benefit: run.cpp compares addresses and copies.
//
// Everything else that it allocates lies in the worker's own memory. A MemoryLimit bounds that, so that an
// operator with an absurd result is refused as on a GPU, before the host's memory is used up.
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

/// While it lives, this thread runs one operator; an allocation that exceeds the limit throws
/// c10::OutOfMemoryError. 0: no limit. The outcome depends on the operator alone, so that a replay has the
/// same.
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
};

/// Installs the allocator in place of PyTorch's. Call it once per process, before the first operator call.
void install_placement_allocator();

/// By "aten::name.overload": the CPU kernel takes the results that it is given for contiguous.
bool takes_results_for_contiguous(std::string_view name);

/// A tensor that the caller gives, and what the kernel gets in its place.
using GivenAndStandIn = std::pair<at::Tensor, at::Tensor>;
/// After a call: what was given has what the kernel left in its place, and is what the call returns.
void put_back(const std::vector<GivenAndStandIn>& stand_ins, torch::jit::Stack& results);

/// Results that the caller gives, for CPU kernels that write to them as if they were contiguous. A GPU's
/// kernels follow the strides of any result; these put numbers where other elements belong, or outside. They
/// get contiguous memory instead, and what they leave there is copied. Other operators, and contiguous
/// results, are left alone.
class PackedResults {
 public:
  /// Gives the call other results, where its kernel needs it.
  PackedResults(const Operator& op, torch::jit::Stack& arguments);
  /// After the call: the results that were given have the numbers, and are what it returns.
  void put_back(torch::jit::Stack& results) const { operators::put_back(given_and_packed_, results); }

 private:
  std::vector<GivenAndStandIn> given_and_packed_;
};

}  // namespace jitc::operators
