#include "special/compiled.h"

#include <c10/cuda/CUDAGuard.h>
#include <torch/library.h>

#include "boundary.h"
#include "jitc/operator_call.h"
#include "plan.h"
#include "redirect.h"

namespace jitc::torch_device {
namespace {

/// Sender of the call as it is: it has no results of its own, so that no query is needed.
struct HostKernel final : c10::OperatorKernel {
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    const size_t count = op.schema().arguments().size();
    update_phase();
    EncoderLease encoder;
    encoder->begin("jitc::host_kernel", {.name = "a compiled kernel"}, count);
    for (const c10::IValue& one : torch::jit::last(*stack, count)) encoder->argument(one);
    encoder->finish_arguments(false);
    encoder->begin_outputs(0);
    const c10::cuda::CUDAGuard guard(encoder->device());
    submit(*encoder);
    torch::jit::drop(*stack, count);
  }
};

}  // namespace

void serve_compiled_kernels() {
  auto& library =
      *new torch::Library(torch::Library::FRAGMENT, "jitc_client", std::nullopt, __FILE__, __LINE__);
  library.def(wire::kHostKernelSchema);
  library.impl("host_kernel", torch::CppFunction::makeFromBoxedFunctor(std::make_unique<HostKernel>()));
}

}  // namespace jitc::torch_device
