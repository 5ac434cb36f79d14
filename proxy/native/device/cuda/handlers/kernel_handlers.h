// Handlers of kernel launches, and of the tensor maps among their parameters. Parameters travel as one
// buffer, laid out as the kernel expects it.
// Called by: Device::enqueue through its registry, with its mutex held and the context bound.
#pragma once
#include "device/common/handlers.h"
#include "device/cuda/issue/issuer.h"
#include "device/cuda/module/modules.h"

namespace jitc::cuda {

class KernelHandlers {
 public:
  KernelHandlers(const Issuer& issuer, const Modules& modules) : issuer_(issuer), modules_(modules) {}

 private:
  void launch(const ops::KernelLaunch& op);
  void encode_tensor_map(const ops::TensorMap& op);

  const Issuer& issuer_;
  const Modules& modules_;

 public:
  using Handled = HandlerList<&KernelHandlers::launch, &KernelHandlers::encode_tensor_map>;
};

}  // namespace jitc::cuda
