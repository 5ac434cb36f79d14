// Operators that PyTorch has in half precision for CUDA only: their CPU kernels run in float32, and the
// results are rounded.
//
// CUDA's kernels for these types compute in float32 too, so the numbers are those of a GPU except for the
// order of sums. The names are an explicit list: a type that CUDA's kernels refuse must stay refused here.
//
// Called by: operator.cpp (the list), run.cpp (around a call). Promise: nothing changes for other operators,
// and nothing for one whose operands are not of half precision.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string_view>
#include <vector>

#include "operators/operator.h"
#include "operators/placement.h"

namespace jitc::operators {

/// Returns the types that "aten::name.overload" computes in float32.
Halves halves_in_float(std::string_view name);

/// Operands of one call, widened while it lives.
class WidenedHalves {
 public:
  /// Replaces half-precision operands by float32 ones, if the kernel needs it.
  WidenedHalves(const Operator& op, torch::jit::Stack& arguments);
  /// Rounds the results after the call; written arguments get theirs, and are returned.
  void round(torch::jit::Stack& results) const;

 private:
  at::Tensor widened(const at::Tensor& given);

  std::optional<c10::ScalarType> narrow_;  // original type, if the call was widened
  std::vector<GivenAndStandIn> written_;
};

}  // namespace jitc::operators
