// libjitc_torch.so: registers the redirected operators; C functions for client_shim/torch_device.py.
#include <ATen/Context.h>
#include <ATen/core/boxing/BoxedKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>
#include <torch/version.h>

#include <string>
#include <unordered_set>

#include "boundary.h"
#include "copy.h"
#include "elements.h"
#include "jitc/client_api.h"
#include "jitc/kernel_server.h"
#include "order/sites.h"
#include "redirect.h"
#include "special/compiled.h"
#include "special/kernels.h"
#include "special/products.h"
#include "special/sparse.h"

namespace jitc::torch_device {
namespace {

/// Returns the operators that PyTorch's own CUDA code serves: they only allocate, change metadata, read
/// settings or call others.
const std::unordered_set<std::string>& native_operators() {
  static const std::unordered_set<std::string> names{"empty",
                                                     "empty_strided",
                                                     "as_strided",
                                                     "view",
                                                     "_reshape_alias",
                                                     "unfold",
                                                     "view_as_real",
                                                     "view_as_complex",
                                                     "resize_",
                                                     "set_",
                                                     "record_stream",
                                                     "is_set_to",
                                                     "_local_scalar_dense",
                                                     "_pin_memory",
                                                     "_efficientzerotensor",
                                                     "_nested_view_from_buffer",
                                                     "_embedding_bag_backward",
                                                     "_use_cudnn_ctc_loss",
                                                     "_use_miopen_ctc_loss"};
  return names;
}

/// Attention goes through the plain kernel: the fused ones exist for real GPUs only.
struct PlainAttention final : c10::OperatorKernel {
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    torch::jit::drop(*stack, op.schema().arguments().size());
    stack->emplace_back(int64_t{0});  // sdp::SDPBackend::math
  }
};

template <class Kernel>
torch::CppFunction boxed() {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>());
}

/// PyTorch warns about every kernel that is replaced; here that is intended.
struct Silence final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

void redirect_operators(bool with_matrix_products) {
  auto& library =
      *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  const auto registered = c10::Dispatcher::singleton().getRegistrationsForDispatchKey(c10::DispatchKey::CUDA);
  for (const auto& one : registered) {
    constexpr std::string_view kSpace = "aten::";
    if (!std::string_view(one.name).starts_with(kSpace)) continue;
    const auto base = one.name.substr(kSpace.size());
    if (native_operators().contains(base) || base == "_fused_sdp_choice" || base == "_foreach_copy_")
      continue;
    if (!with_matrix_products && is_matrix_product(base)) continue;
    const auto full = one.overload_name.empty() ? one.name : one.name + "." + one.overload_name;
    library.impl(full.c_str(), boxed<Redirect>());
  }
  // These call CUDA kernels below the dispatcher, or cuDNN, so they are redirected as a whole.
  for (const char* name : {"aten::convolution", "aten::_convolution", "aten::mode.values"})
    library.impl(name, boxed<Redirect>());
  if (!with_matrix_products) serve_complex_products(library);
  library.impl("aten::copy_", boxed<Copy>());
  library.impl("aten::_foreach_copy_", boxed<ForeachCopy>());
  library.impl("aten::_fused_sdp_choice", boxed<PlainAttention>());
}

/// Disables cuDNN for a service without it: libcudnn would reach the driver past the interposer, and PyTorch
/// has kernels of its own for everything.
void leave_out_cudnn() {
  auto& context = at::globalContext();
  context.setUserEnabledCuDNN(false);
  context.setSDPUseCuDNN(false);
}

void choose_plain_kernels() {
  auto& context = at::globalContext();
  context.setSDPUseFlash(false);
  context.setSDPUseMemEfficient(false);
}

}  // namespace
}  // namespace jitc::torch_device

using namespace jitc::torch_device;

namespace {
std::string last_error;
}

extern "C" {
/// Returns the release of PyTorch that this library was built for: "2.11.0".
JITC_API const char* jitc_torch_built_for(void) { return TORCH_VERSION; }

/// Returns why jitc_torch_install() returned -1.
JITC_API const char* jitc_torch_message(void) { return last_error.c_str(); }

/// Installs the operators. redirect: 0 nothing (a real GPU), 1 operators, 2 also matrix products (there is no
/// cuBLAS); cudnn: whether it is served.
JITC_API int jitc_torch_install(int redirect, int cudnn) {
  try {
    Silence silence;
    const c10::WarningUtils::WarningHandlerGuard guard(&silence);
    if (!cudnn) leave_out_cudnn();
    report_elements(!redirect);
    if (redirect) {
      choose_plain_kernels();
      redirect_operators(redirect == 2);
      serve_sparse_tensors();
      serve_compiled_kernels();
      jitc_set_kernel_server(&serve_kernel);
    } else {
      jitc_set_phase_source(&current_phase);
    }
    return 0;
  } catch (const std::exception& error) {
    last_error = error.what();
    return -1;
  }
}
/// Follows allocations from now on. Requires CUDA's initialization, which sets up PyTorch's allocator.
JITC_API int jitc_torch_track(void) {
  try {
    return track_allocations(), 0;
  } catch (const std::exception& error) {
    last_error = error.what();
    return -1;
  }
}
/// Reports call sites of ops from now on (order/sites.h).
JITC_API void jitc_torch_follow_sites(const char* torch, const char* libraries) {
  follow_sites(torch, libraries);
}
/// Begins a step. computes_gradients: see boundary.h.
JITC_API void jitc_torch_step_begin(int computes_gradients) { step_begin(computes_gradients != 0); }
JITC_API void jitc_torch_step_end(void) { step_end(); }
}
