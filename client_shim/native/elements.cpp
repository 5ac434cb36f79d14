#include "elements.h"

#include <ATen/DeviceGuard.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/copy_native.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/library.h>

#include "jitc/client_api.h"

namespace jitc::torch_device {
namespace {

jitc_element_type element_of(c10::ScalarType type) {
  switch (c10::toRealValueType(type)) {  // a complex number is two of these
    case c10::ScalarType::Half:
      return JITC_ELEMENT_F16;
    case c10::ScalarType::BFloat16:
      return JITC_ELEMENT_BF16;
    case c10::ScalarType::Float:
      return JITC_ELEMENT_F32;
    case c10::ScalarType::Double:
      return JITC_ELEMENT_F64;
    default:
      return JITC_ELEMENT_UNKNOWN;
  }
}

/// Returns an item. The device need not be current, and PyTorch's wrapper, which would set it, is replaced.
at::Scalar item(const at::Tensor& self) {
  const c10::cuda::OptionalCUDAGuard guard(at::device_of(self));
  const Elements scope(self.scalar_type());
  return at::native::_local_scalar_dense_cuda(self);
}

/// Copies. PyTorch converts before a copy that the program does not wait for, else after it.
at::Tensor& copy(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  if (!self.is_cpu()) return at::native::copy_(self, source, non_blocking);
  const Elements scope(non_blocking ? self.scalar_type() : source.scalar_type());
  return at::native::copy_(self, source, non_blocking);
}

}  // namespace

Elements::Elements(c10::ScalarType type) { jitc_set_element_type(element_of(type)); }
Elements::~Elements() { jitc_set_element_type(JITC_ELEMENT_UNKNOWN); }

void report_elements(bool copies) {
  auto& library =
      *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  library.impl("_local_scalar_dense", TORCH_FN(item));
  if (copies) library.impl("copy_", TORCH_FN(copy));
}

}  // namespace jitc::torch_device
