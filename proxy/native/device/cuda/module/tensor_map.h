// Tensor maps: the driver encodes them on the host, from arguments alone (jitc/tensor_map.h).
// Called by: KernelHandlers.
#pragma once
#include <cstddef>

#include "device/cuda/driver/driver.h"
#include "jitc/generated_ops.h"
#include "jitc/tensor_map.h"

namespace jitc::cuda {

/// Tensor map in the form that kernels take.
struct alignas(64) TensorMapBytes {
  std::byte bytes[kTensorMapBytes];
};

/// Encodes a tensor map. Throws OpError.
TensorMapBytes tensor_map(const Driver& driver, const ops::TensorMap& op);

}  // namespace jitc::cuda
