// Results that the caller gives, for CPU kernels that write to them as if they were contiguous.
//
// A GPU's kernels follow the strides of any result. A few of PyTorch's CPU kernels do not: they put numbers
// where other elements belong. Such a kernel gets contiguous memory instead, and what it leaves there is
// copied. Called by run.cpp. Promise: other operators, and results that are contiguous, are left alone.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <string_view>
#include <utility>
#include <vector>

#include "operators/operator.h"

namespace jitc::operators {

/// By "aten::name.overload": the CPU kernel takes the results that it is given for contiguous.
bool takes_results_for_contiguous(std::string_view name);

class PackedResults {
 public:
  /// Gives the call other results, where its kernel needs it.
  PackedResults(const Operator& op, torch::jit::Stack& arguments);
  /// After the call: the results that were given have the numbers, and are what it returns.
  void put_back(torch::jit::Stack& results) const;

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> given_and_packed_;
};

}  // namespace jitc::operators
