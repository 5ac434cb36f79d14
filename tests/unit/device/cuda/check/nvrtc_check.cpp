// Compiles only when the cuda device's own declarations of NVRTC are those of the real nvrtc.h.
#include <nvrtc.h>

#include "device/cuda/module/nvrtc.h"
#include "same_abi.h"

namespace jitc::cuda {
#define JITC_SAME_FUNCTION(function, parameters) \
  static_assert(SameAbi<NvrtcStatus parameters, decltype(::function)>::value, #function);
JITC_NVRTC(JITC_SAME_FUNCTION)
static_assert(NVRTC_ERROR_COMPILATION == 6 && NVRTC_ERROR_BUILTIN_OPERATION_FAILURE == 7);
}  // namespace jitc::cuda
