// Compiles only when the cuda device's declarations of cuBLAS and cuBLASLt are those of NVIDIA's headers.
#include <cublasLt.h>
#include <cublas_v2.h>

#include "device/cuda/blas/blas_library.h"
#include "same_abi.h"

namespace jitc::cuda {

#define JITC_SAME_FUNCTION(function, parameters)                                                     \
  static_assert(SameAbi<BlasStatus parameters, std::remove_pointer_t<decltype(&::function)>>::value, \
                #function " has other parameters");
JITC_CUBLAS(JITC_SAME_FUNCTION)
JITC_CUBLASLT(JITC_SAME_FUNCTION)

static_assert(sizeof(cublasLtMatmulAlgo_t) == 64 && sizeof(cublasLtMatmulHeuristicResult_t) == 96);
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) == 64 &&
              offsetof(cublasLtMatmulHeuristicResult_t, state) == 72);
static_assert(CUBLAS_POINTER_MODE_HOST == 0 && CUBLAS_POINTER_MODE_DEVICE == 1);
static_assert(CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO == 3 &&
              CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST == 4);
static_assert(CUBLAS_STATUS_NOT_INITIALIZED == 1 && CUBLAS_STATUS_ALLOC_FAILED == 3 &&
              CUBLAS_STATUS_INVALID_VALUE == 7 && CUBLAS_STATUS_ARCH_MISMATCH == 8 &&
              CUBLAS_STATUS_MAPPING_ERROR == 11 && CUBLAS_STATUS_EXECUTION_FAILED == 13 &&
              CUBLAS_STATUS_INTERNAL_ERROR == 14 && CUBLAS_STATUS_NOT_SUPPORTED == 15 &&
              CUBLAS_STATUS_LICENSE_ERROR == 16);

}  // namespace jitc::cuda
