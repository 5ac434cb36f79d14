// Noise: sums in another order each time, as in many of a GPU's kernels (atomics, split-K).
//
// The summands are shuffled before the CPU's kernel gets them, so that results are equally correct but differ
// in their last digits, as on a GPU. For tests of jobs that are not deterministic (jitc-proxyd --noise).
// Called by run.cpp and matmul.cpp. Promise: nothing changes while it is off.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <cstdint>

#include "operators/operator.h"

namespace jitc::operators {

/// Sets the noise for all calls from now on; 0: off.
void set_noise(uint64_t seed);

/// Permutes the factors of a matrix product, so that it sums in another order.
void disturb_product(at::Tensor& left, at::Tensor& right);

/// Changed order for the sums of one call.
class Noise {
 public:
  /// Changes the arguments of some operators.
  Noise(const Operator& op, torch::jit::Stack& stack);
  /// Undoes the permutation in results that follow the order of the arguments.
  void restore_order(torch::jit::Stack& results) const;

 private:
  at::Tensor order_;
  bool results_follow_ = false;
};

}  // namespace jitc::operators
