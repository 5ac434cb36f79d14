// Compiles only when the cuda device's declarations of cuDNN are those of NVIDIA's headers.
#include <cudnn.h>

#include "device/cuda/dnn/dnn_library.h"
#include "same_abi.h"

namespace jitc::cuda {

#define JITC_SAME_FUNCTION(function, parameters)                                                    \
  static_assert(SameAbi<DnnStatus parameters, std::remove_pointer_t<decltype(&::function)>>::value, \
                #function " has other parameters");
JITC_CUDNN(JITC_SAME_FUNCTION)

static_assert(SameAbi<size_t(), decltype(::cudnnGetVersion)>::value);
static_assert(SameAbi<void(char*, size_t), decltype(::cudnnGetLastErrorString)>::value);
static_assert(SameAbi<DnnStatus(void**), decltype(::cudnnCreateTensorDescriptor)>::value);
static_assert(SameAbi<DnnStatus(void*), decltype(::cudnnDestroyTensorDescriptor)>::value);
static_assert(CUDNN_DIM_MAX == 8);

}  // namespace jitc::cuda
