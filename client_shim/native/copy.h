// Copies between tensors, also between host and device, and lists of such copies.
//
// Registered by install.cpp.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <memory>

namespace jitc::torch_device {

/// aten::copy_ where one side or both are on the device.
struct Copy final : c10::OperatorKernel {
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
};

/// aten::_foreach_copy_: one call if all tensors are on one device, else one copy after another.
class ForeachCopy final : public c10::OperatorKernel {
 public:
  ForeachCopy();
  ~ForeachCopy() override;
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  std::unique_ptr<class Redirect> together_;
};

}  // namespace jitc::torch_device
