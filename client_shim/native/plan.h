// The description of an operator's results, known before it runs; and the calls that query and run an
// operator.
//
// Called by redirect.cpp and copy.cpp. The worker answers a query with a reply (jitc/operator_call.h), which
// is parsed into a Plan. The plan is kept and serves every later call of the same signature.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "encoder.h"
#include "jitc/operator_call.h"

namespace jitc::torch_device {

struct TensorForm {
  c10::ScalarType dtype = c10::ScalarType::Float;
  uint8_t flags = 0;  // wire::TensorFlags
  std::vector<int64_t> sizes, strides;
};

struct ResultPlan {
  wire::Tag tag = wire::Tag::none;
  TensorForm form;                // metadata, alias
  uint16_t tensor = 0;            // same_tensor, alias: which argument
  int64_t byte_offset = 0;        // alias: from that argument's first element
  std::vector<ResultPlan> items;  // tensors
  c10::IValue value;              // boolean, integer, real, complex
};

struct Plan {
  struct Resized {
    uint16_t tensor;
    TensorForm form;
  };
  std::vector<Resized> resized;  // arguments that must get another size first (out=)
  std::vector<ResultPlan> results;
  size_t outputs = 0;  // new tensors and dropped ones: what a call has to list
};

/// Parses a reply. Throws if the bytes are none (a worker of another version).
std::shared_ptr<const Plan> parse_reply(std::span<const uint8_t> reply);

/// Queries the worker; throws the exception that the operator raised. While the stream is captured only a
/// query that does not depend on data has an answer, as nothing is computed.
std::shared_ptr<const Plan> query(const Encoder& call, bool depends_on_data);
/// Submits the call to the current stream of its device; does not wait.
void submit(const Encoder& call);

at::Tensor make_tensor(const TensorForm& form);

}  // namespace jitc::torch_device
