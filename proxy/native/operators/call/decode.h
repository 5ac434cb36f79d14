// Decodes the bytes of an operator call to the arguments of a PyTorch operator.
//
// Called by run.cpp for every call and query. Promise: every device address is translated by the host for
// exactly the extent that sizes and strides reach; a call that does not fit the operator's schema or the
// format throws Malformed before a kernel sees it.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <string>
#include <vector>

#include "jitc/operator_call.h"
#include "jitc/operators_api.h"
#include "operators/operator.h"
#include "reader.h"

namespace jitc::operators {

struct Output {
  at::Tensor tensor;  // undefined: the result is dropped
  void* memory = nullptr;
  uint64_t bytes = 0;
};

struct Call {
  wire::CallHeader header;
  const Operator* op = nullptr;
  torch::jit::Stack stack;
  std::vector<at::Tensor> tensors;  // numbered as in operator_call.h
  std::vector<at::Tensor>
      before;  // query: the tensor itself where tensors holds a copy of it, else undefined
  std::vector<Output> outputs;
};

/// Decodes a call. query: arguments that the operator writes to are copies; with kFormAlone no argument has
/// its content, and integers are all of that value.
Call decode(const jitc_operator_host& host, std::span<const uint8_t> bytes, bool query, int64_t integers = 0);

}  // namespace jitc::operators
