// jitc's own operators, "jitc::name": the effect of kernels that PyTorch launches past its operators.
//
// Called like all others (run.cpp), by client_shim/native/special/kernels.cpp.
#include <ATen/ops/isnan.h>
#include <torch/library.h>

#include <chrono>
#include <thread>

#include "jitc/operator_call.h"

namespace jitc::operators {
namespace {

/// Keeps the stream busy for so long, like a kernel that counts clock cycles.
void spin(int64_t nanoseconds) { std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds)); }

/// Asserts that data for NCCL holds no NaN.
void assert_no_nan(const at::Tensor& numbers) {
  TORCH_CHECK(!numbers.to(at::kFloat).isnan().any().item().toBool(), "a NaN in what a collective sends");
}

}  // namespace
}  // namespace jitc::operators

TORCH_LIBRARY(jitc, library) {
  library.def("spin(int nanoseconds) -> ()", &jitc::operators::spin);
  // Its kernel is in composed/host_kernels.cpp: it needs other parts of the device.
  library.def(jitc::wire::kHostKernelSchema);
  library.def("assert_no_nan(Tensor numbers) -> ()", &jitc::operators::assert_no_nan);
}
