// libcublas and libcublasLt, opened at run time at their first use: typed function pointers, and names of
// their statuses.
//
// Promises: a library has all functions of its list; it is opened once per path and never closed (it has
// state of its own in the context). Called by: blas.cpp, lt.cpp.
#pragma once
#include <memory>
#include <string>

#include "device/cuda/call/library_functions.h"
#include "device/cuda/driver/abi.h"

namespace jitc::cuda {

using BlasStatus = int32_t;  // cublasStatus_t

// X(function, parameters)
#define JITC_CUBLAS(X)                             \
  X(cublasCreate_v2, (void**))                     \
  X(cublasDestroy_v2, (void*))                     \
  X(cublasSetStream_v2, (void*, abi::CUstream))    \
  X(cublasSetWorkspace_v2, (void*, void*, size_t)) \
  X(cublasSetPointerMode_v2, (void*, int32_t))     \
  X(cublasSetMathMode, (void*, int32_t))           \
  X(cublasSetAtomicsMode, (void*, int32_t))

#define JITC_CUBLASLT(X)                                                        \
  X(cublasLtCreate, (void**))                                                   \
  X(cublasLtDestroy, (void*))                                                   \
  X(cublasLtMatmulDescCreate, (void**, int32_t, int32_t))                       \
  X(cublasLtMatmulDescDestroy, (void*))                                         \
  X(cublasLtMatmulDescSetAttribute, (void*, int32_t, const void*, size_t))      \
  X(cublasLtMatrixLayoutCreate, (void**, int32_t, uint64_t, uint64_t, int64_t)) \
  X(cublasLtMatrixLayoutDestroy, (void*))                                       \
  X(cublasLtMatrixLayoutSetAttribute, (void*, int32_t, const void*, size_t))    \
  X(cublasLtMatmulPreferenceCreate, (void**))                                   \
  X(cublasLtMatmulPreferenceDestroy, (void*))                                   \
  X(cublasLtMatmulPreferenceSetAttribute, (void*, int32_t, const void*, size_t))

#define JITC_BLAS_MEMBER(function, parameters) BlasStatus(*function) parameters = nullptr;

class Cublas {
 public:
  JITC_CUBLAS(JITC_BLAS_MEMBER)
  /// Opens cuBLAS. Throws OpError. lt_path: the cuBLASLt that it uses; empty: the loader finds one.
  static std::shared_ptr<const Cublas> open(const std::string& path, const std::string& lt_path);
  const LibraryFunctions& functions() const { return functions_; }

 private:
  LibraryFunctions functions_;
};

class CublasLt {
 public:
  JITC_CUBLASLT(JITC_BLAS_MEMBER)
  /// Opens cuBLASLt. Throws OpError.
  static std::shared_ptr<const CublasLt> open(const std::string& path);
  const LibraryFunctions& functions() const { return functions_; }

 private:
  LibraryFunctions functions_;
};

#undef JITC_BLAS_MEMBER

/// Functions of generated_blas_worker.cpp, by identifier.
extern const CallFunction kBlasFunctions[], kLtFunctions[];
extern const uint32_t kBlasFunctionsCount, kLtFunctionsCount;

/// Returns a name such as "CUBLAS_STATUS_INVALID_VALUE (7)".
std::string describe_blas(BlasStatus status);
/// Throws unless the call succeeded: the nearest CUDA error, with function and status in the message. Never
/// sticky: the caller asks the device.
void check_blas(const char* function, BlasStatus status);

}  // namespace jitc::cuda
