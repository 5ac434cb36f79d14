// Compiles only when the signatures and numbers of the fake cuBLAS libraries are those of the real headers.
#include <cublasLt.h>
#include <cublas_v2.h>

#include "../cublaslt/objects.h"
#include "../products/product.h"
#include "same_abi.h"

namespace jitc::fakes {
#define JITC_FAKE(name, ...) \
  static_assert(SameAbi<__VA_ARGS__, std::remove_pointer_t<decltype(&::name)>>::value, #name);
#define JITC_FAKE_EX(name, ...)                                                                        \
  static_assert(                                                                                       \
      SameAbi<__VA_ARGS__, std::remove_pointer_t<decltype(static_cast<Real_##name>(&::name))>>::value, \
      #name);
using Status = cublasStatus_t;
using Handle = cublasHandle_t;
using Turn = cublasOperation_t;
using Type = cudaDataType;
using Compute = cublasComputeType_t;
using Algorithm = cublasGemmAlgo_t;
using In = const void*;
using Ins = const void* const*;
using Real_cublasGemmEx = Status (*)(Handle, Turn, Turn, int, int, int, In, In, Type, int, In, Type, int, In,
                                     void*, Type, int, Compute, Algorithm);
using Real_cublasGemmStridedBatchedEx = Status (*)(Handle, Turn, Turn, int, int, int, In, In, Type, int,
                                                   long long, In, Type, int, long long, In, void*, Type, int,
                                                   long long, int, Compute, Algorithm);
using Real_cublasGemmBatchedEx = Status (*)(Handle, Turn, Turn, int, int, int, In, Ins, Type, int, Ins, Type,
                                            int, In, void* const*, Type, int, int, Compute, Algorithm);
#include "../cublas/functions.def"
#include "../cublaslt/functions.def"

#define JITC_SAME(ours, real) static_assert(static_cast<int>(ours) == static_cast<int>(::real), #real)
JITC_SAME(kReal32, CUDA_R_32F);
JITC_SAME(kReal64, CUDA_R_64F);
JITC_SAME(kReal16, CUDA_R_16F);
JITC_SAME(kBrain16, CUDA_R_16BF);
JITC_SAME(kInt8Type, CUDA_R_8I);
JITC_SAME(kInt32Type, CUDA_R_32I);
JITC_SAME(kLtInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
JITC_SAME(kLtExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
JITC_SAME(kLtNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
JITC_SAME(kPointerMode, CUBLASLT_MATMUL_DESC_POINTER_MODE);
JITC_SAME(kTransB, CUBLASLT_MATMUL_DESC_TRANSB);
JITC_SAME(kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
JITC_SAME(kBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
JITC_SAME(kBiasBatchStride, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
JITC_SAME(kAuxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
JITC_SAME(kAuxBatchStride, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE);
JITC_SAME(kBiasType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
JITC_SAME(kLayoutType, CUBLASLT_MATRIX_LAYOUT_TYPE);
JITC_SAME(kBatchOffset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
JITC_SAME(kMaxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(CUBLAS_COMPUTE_16F == 64 && CUBLAS_COMPUTE_32F == 68 && CUBLAS_COMPUTE_64F == 70 &&
              CUBLAS_COMPUTE_32I == 72);
static_assert(CUBLASLT_EPILOGUE_GELU_AUX_BIAS == (32 | 128 | 4) && CUBLASLT_EPILOGUE_RELU_BIAS == (2 | 4));
static_assert(sizeof(cublasLtMatmulAlgo_t) == 64 && sizeof(cublasLtMatmulHeuristicResult_t) == 96);
}  // namespace jitc::fakes
