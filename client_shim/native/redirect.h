// Redirected ATen operators: one boxed function per operator of CUDA tensors sends its calls to the worker.
//
// Registered by install.cpp; called by PyTorch's dispatcher from any thread, below autograd. The first call
// of a signature waits until the worker has described the results; later calls do not wait, except those of
// operators whose results depend on data.
#pragma once
#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "encoder.h"
#include "plan.h"

namespace jitc::torch_device {

/// Lease of an encoder of the calling thread, one per depth of nested calls.
class EncoderLease {
 public:
  EncoderLease();
  ~EncoderLease();
  EncoderLease(const EncoderLease&) = delete;
  EncoderLease& operator=(const EncoderLease&) = delete;
  Encoder* operator->() { return encoder_; }
  Encoder& operator*() { return *encoder_; }

 private:
  Encoder* encoder_;
};

class Redirect final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Memo = std::unordered_map<std::string, std::shared_ptr<const Plan>, TextHash, std::equal_to<>>;

  void read_schema(const c10::OperatorHandle& op);
  void encode(Encoder& encoder, c10::ArrayRef<c10::IValue> arguments) const;
  std::shared_ptr<const Plan> plan_for(const Encoder& encoder);
  std::vector<c10::IValue> run(Encoder& encoder, c10::ArrayRef<c10::IValue> arguments);

  std::once_flag schema_read_;
  std::string name_;
  EncodeRules rules_;
  size_t arguments_ = 0;
  bool random_ = false;
  int generator_ = -1;                 // argument
  int training_ = -1;                  // argument: the operator is random only in training
  std::vector<int> returns_argument_;  // per return: the argument that it is, or -1
  bool writes_ = false;                // whether it writes to an argument
  bool depends_on_data_ = false, indexes_ = false;
  std::shared_mutex memo_mutex_;
  Memo memo_;
};

}  // namespace jitc::torch_device
