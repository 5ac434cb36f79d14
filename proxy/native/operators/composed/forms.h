// Memory layout of results whose layout differs between PyTorch's CUDA and CPU kernels.
//
// Programs see it as strides, and code of torch.compile relies on the strides that PyTorch predicts for CUDA.
// Called by: run.cpp, for queries. Promise: sizes and types stay unchanged.
#pragma once
#include <ATen/core/stack.h>

#include <cstdint>
#include <vector>

#include "operators/call/decode.h"

namespace jitc::operators {

/// Examines a call's arguments before it runs, and lays out its results after it.
class Forms {
 public:
  explicit Forms(const Call& call);
  /// Lays out the results, which have other memory afterwards, without contents.
  void apply(torch::jit::Stack& results) const;

  struct Form {
    size_t result;
    std::vector<int64_t> order;  // its dimensions, the outermost first; empty: in their order
  };

 private:
  std::vector<Form> forms_;
};

}  // namespace jitc::operators
