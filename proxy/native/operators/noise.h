// Noise: kernels that sum what they sum in another order each time, as many of a GPU's do (atomics, split-K).
//
// What is summed is put into a random order before the CPU's kernel gets it, so that results are as right as
// ever and differ in their last digits, as they would on a GPU. For tests of jobs that are not deterministic
// (jitc-proxyd --noise). Called by run.cpp and matmul.cpp. Promise: nothing changes while it is off.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <cstdint>

#include "operators/operator.h"

namespace jitc::operators {

/// For all calls from now on; 0: off.
void set_noise(uint64_t seed);

/// The factors of a matrix product, to be summed in another order.
void disturb_product(at::Tensor& left, at::Tensor& right);

/// What one call sums, in another order.
class Noise {
 public:
  /// Changes the arguments of some operators.
  Noise(const Operator& op, torch::jit::Stack& stack);
  /// Puts results that follow the order of the arguments back into theirs.
  void settle(torch::jit::Stack& results) const;

 private:
  at::Tensor order_;
  bool results_follow_ = false;
};

}  // namespace jitc::operators
