// How results lie in memory where PyTorch's CUDA kernels lay them out otherwise than its CPU kernels.
//
// Programs see it as strides, and code of torch.compile counts on those that PyTorch predicts for CUDA.
// Called by: run.cpp, for queries. Promise: sizes and types stay what they are.
#pragma once
#include <ATen/core/stack.h>

#include <cstdint>
#include <vector>

#include "operators/call/decode.h"

namespace jitc::operators {

/// Looks at a call's arguments before it runs, and gives its results their form after it.
class Forms {
 public:
  explicit Forms(const Call& call);
  /// The results have another memory afterwards, without contents.
  void apply(torch::jit::Stack& results) const;

  struct Form {
    size_t result;
    std::vector<int64_t> order;  // its dimensions, the outermost first; empty: as they are counted
  };

 private:
  std::vector<Form> forms_;
};

}  // namespace jitc::operators
