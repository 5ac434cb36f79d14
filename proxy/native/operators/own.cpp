// Operators of jitc's own, "jitc::name": what kernels do that PyTorch launches past its operators.
//
// Called like all others (run.cpp), by client_shim/native/special/kernels.cpp.
#include <ATen/ops/isnan.h>
#include <torch/library.h>

#include <chrono>
#include <thread>

#include "jitc/operator_call.h"

namespace jitc::operators {
namespace {

/// The stream is busy for so long, as with a kernel that counts clock cycles.
void spin(int64_t nanoseconds) { std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds)); }

/// What NCCL is to send holds no NaN.
void assert_no_nan(const at::Tensor& numbers) {
  TORCH_CHECK(!numbers.to(at::kFloat).isnan().any().item().toBool(), "a NaN in what a collective sends");
}

}  // namespace
}  // namespace jitc::operators

TORCH_LIBRARY(jitc, library) {
  library.def("spin(int nanoseconds) -> ()", &jitc::operators::spin);
  // Its kernel is in composed/host_kernels.cpp: it needs what the device has.
  library.def(jitc::wire::kHostKernelSchema);
  library.def("assert_no_nan(Tensor numbers) -> ()", &jitc::operators::assert_no_nan);
}
