// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
#include "generated_front.h"
#include "guard.h"

using namespace jitc::front;

// cuBLAS: libcublas.so.13
JITC_EXPORT int32_t cublasCreate_v2(uint64_t* handle) { return guard_cublas<false>([&] { return ::jitc::front::cublasCreate_v2(handle); }); }
JITC_EXPORT int32_t cublasDdot_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, double* result) { return guard_cublas<true>([&] { return ::jitc::front::cublasDdot_v2(handle, n, x, incx, y, incy, result); }); }
JITC_EXPORT int32_t cublasDestroy_v2(uint64_t handle) { return guard_cublas<false>([&] { return ::jitc::front::cublasDestroy_v2(handle); }); }
JITC_EXPORT int32_t cublasDgemmStridedBatched(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const double* alpha, uint64_t a, int32_t lda, int64_t stride_a, uint64_t b, int32_t ldb, int64_t stride_b, const double* beta, uint64_t c, int32_t ldc, int64_t stride_c, int32_t batch) { return guard_cublas<true>([&] { return ::jitc::front::cublasDgemmStridedBatched(handle, transpose_a, transpose_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch); }); }
JITC_EXPORT int32_t cublasDgemm_v2(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const double* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const double* beta, uint64_t c, int32_t ldc) { return guard_cublas<true>([&] { return ::jitc::front::cublasDgemm_v2(handle, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); }); }
JITC_EXPORT int32_t cublasDgemv_v2(uint64_t handle, int32_t transpose, int32_t m, int32_t n, const double* alpha, uint64_t a, int32_t lda, uint64_t x, int32_t incx, const double* beta, uint64_t y, int32_t incy) { return guard_cublas<true>([&] { return ::jitc::front::cublasDgemv_v2(handle, transpose, m, n, alpha, a, lda, x, incx, beta, y, incy); }); }
JITC_EXPORT int32_t cublasDotEx(uint64_t handle, int32_t n, uint64_t x, int32_t type_x, int32_t incx, uint64_t y, int32_t type_y, int32_t incy, void* result, int32_t type_result, int32_t type_compute) { return guard_cublas<true>([&] { return ::jitc::front::cublasDotEx(handle, n, x, type_x, incx, y, type_y, incy, result, type_result, type_compute); }); }
JITC_EXPORT int32_t cublasGemmEx(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t type_a, int32_t lda, uint64_t b, int32_t type_b, int32_t ldb, const void* beta, uint64_t c, int32_t type_c, int32_t ldc, int32_t compute, int32_t algorithm) { return guard_cublas<true>([&] { return ::jitc::front::cublasGemmEx(handle, transpose_a, transpose_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, compute, algorithm); }); }
JITC_EXPORT int32_t cublasGemmStridedBatchedEx(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t type_a, int32_t lda, int64_t stride_a, uint64_t b, int32_t type_b, int32_t ldb, int64_t stride_b, const void* beta, uint64_t c, int32_t type_c, int32_t ldc, int64_t stride_c, int32_t batch, int32_t compute, int32_t algorithm) { return guard_cublas<true>([&] { return ::jitc::front::cublasGemmStridedBatchedEx(handle, transpose_a, transpose_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b, beta, c, type_c, ldc, stride_c, batch, compute, algorithm); }); }
JITC_EXPORT int32_t cublasGetAtomicsMode(uint64_t handle, int32_t* mode) { return guard_cublas<false>([&] { return ::jitc::front::cublasGetAtomicsMode(handle, mode); }); }
JITC_EXPORT int32_t cublasGetMathMode(uint64_t handle, int32_t* mode) { return guard_cublas<false>([&] { return ::jitc::front::cublasGetMathMode(handle, mode); }); }
JITC_EXPORT int32_t cublasGetPointerMode_v2(uint64_t handle, int32_t* mode) { return guard_cublas<false>([&] { return ::jitc::front::cublasGetPointerMode_v2(handle, mode); }); }
JITC_EXPORT int32_t cublasGetProperty(int32_t property, int32_t* value) { return guard_cublas<false>([&] { return ::jitc::front::cublasGetProperty(property, value); }); }
JITC_EXPORT const char* cublasGetStatusName(int32_t status) { return ::jitc::front::cublasGetStatusName(status); }
JITC_EXPORT const char* cublasGetStatusString(int32_t status) { return ::jitc::front::cublasGetStatusString(status); }
JITC_EXPORT int32_t cublasGetStream_v2(uint64_t handle, uint64_t* stream) { return guard_cublas<false>([&] { return ::jitc::front::cublasGetStream_v2(handle, stream); }); }
JITC_EXPORT int32_t cublasGetVersion_v2(uint64_t handle, int32_t* version) { return guard_cublas<false>([&] { return ::jitc::front::cublasGetVersion_v2(handle, version); }); }
JITC_EXPORT int32_t cublasHgemm(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const uint16_t* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const uint16_t* beta, uint64_t c, int32_t ldc) { return guard_cublas<true>([&] { return ::jitc::front::cublasHgemm(handle, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); }); }
JITC_EXPORT int32_t cublasHgemmStridedBatched(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const uint16_t* alpha, uint64_t a, int32_t lda, int64_t stride_a, uint64_t b, int32_t ldb, int64_t stride_b, const uint16_t* beta, uint64_t c, int32_t ldc, int64_t stride_c, int32_t batch) { return guard_cublas<true>([&] { return ::jitc::front::cublasHgemmStridedBatched(handle, transpose_a, transpose_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch); }); }
JITC_EXPORT int32_t cublasSdot_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, float* result) { return guard_cublas<true>([&] { return ::jitc::front::cublasSdot_v2(handle, n, x, incx, y, incy, result); }); }
JITC_EXPORT int32_t cublasSetAtomicsMode(uint64_t handle, int32_t mode) { return guard_cublas<false>([&] { return ::jitc::front::cublasSetAtomicsMode(handle, mode); }); }
JITC_EXPORT int32_t cublasSetMathMode(uint64_t handle, int32_t mode) { return guard_cublas<false>([&] { return ::jitc::front::cublasSetMathMode(handle, mode); }); }
JITC_EXPORT int32_t cublasSetPointerMode_v2(uint64_t handle, int32_t mode) { return guard_cublas<false>([&] { return ::jitc::front::cublasSetPointerMode_v2(handle, mode); }); }
JITC_EXPORT int32_t cublasSetStream_v2(uint64_t handle, uint64_t stream) { return guard_cublas<false>([&] { return ::jitc::front::cublasSetStream_v2(handle, stream); }); }
JITC_EXPORT int32_t cublasSetWorkspace_v2(uint64_t handle, uint64_t workspace, size_t bytes) { return guard_cublas<false>([&] { return ::jitc::front::cublasSetWorkspace_v2(handle, workspace, bytes); }); }
JITC_EXPORT int32_t cublasSgemmEx(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const float* alpha, uint64_t a, int32_t type_a, int32_t lda, uint64_t b, int32_t type_b, int32_t ldb, const float* beta, uint64_t c, int32_t type_c, int32_t ldc) { return guard_cublas<true>([&] { return ::jitc::front::cublasSgemmEx(handle, transpose_a, transpose_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc); }); }
JITC_EXPORT int32_t cublasSgemmStridedBatched(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const float* alpha, uint64_t a, int32_t lda, int64_t stride_a, uint64_t b, int32_t ldb, int64_t stride_b, const float* beta, uint64_t c, int32_t ldc, int64_t stride_c, int32_t batch) { return guard_cublas<true>([&] { return ::jitc::front::cublasSgemmStridedBatched(handle, transpose_a, transpose_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch); }); }
JITC_EXPORT int32_t cublasSgemm_v2(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const float* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const float* beta, uint64_t c, int32_t ldc) { return guard_cublas<true>([&] { return ::jitc::front::cublasSgemm_v2(handle, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); }); }
JITC_EXPORT int32_t cublasSgemv_v2(uint64_t handle, int32_t transpose, int32_t m, int32_t n, const float* alpha, uint64_t a, int32_t lda, uint64_t x, int32_t incx, const float* beta, uint64_t y, int32_t incy) { return guard_cublas<true>([&] { return ::jitc::front::cublasSgemv_v2(handle, transpose, m, n, alpha, a, lda, x, incx, beta, y, incy); }); }

namespace {
constexpr const char* kAdvice0 = "batches given as arrays of pointers are not served: use the strided form";
constexpr const char* kAdvice1 = "complex products are not served on the software device: use real numbers or the CPU";
constexpr const char* kAdvice2 = "copy with cudaMemcpyAsync or cudaMemcpy2DAsync";
constexpr const char* kAdvice3 = "only matrix products (gemm, gemv, dot) of real numbers are served: let PyTorch's own operator do it";
}  // namespace

JITC_EXPORT int32_t cublasAxpyEx() { return refuse_cublas("cublasAxpyEx", kAdvice3); }
JITC_EXPORT int32_t cublasCaxpy_v2() { return refuse_cublas("cublasCaxpy_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCcopy_v2() { return refuse_cublas("cublasCcopy_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCdotc_v2() { return refuse_cublas("cublasCdotc_v2", kAdvice1); }
JITC_EXPORT int32_t cublasCdotu_v2() { return refuse_cublas("cublasCdotu_v2", kAdvice1); }
JITC_EXPORT int32_t cublasCgelsBatched() { return refuse_cublas("cublasCgelsBatched", kAdvice3); }
JITC_EXPORT int32_t cublasCgemmBatched() { return refuse_cublas("cublasCgemmBatched", kAdvice0); }
JITC_EXPORT int32_t cublasCgemmStridedBatched() { return refuse_cublas("cublasCgemmStridedBatched", kAdvice1); }
JITC_EXPORT int32_t cublasCgemm_v2() { return refuse_cublas("cublasCgemm_v2", kAdvice1); }
JITC_EXPORT int32_t cublasCgemv_v2() { return refuse_cublas("cublasCgemv_v2", kAdvice1); }
JITC_EXPORT int32_t cublasCgeqrfBatched() { return refuse_cublas("cublasCgeqrfBatched", kAdvice3); }
JITC_EXPORT int32_t cublasCgerc_v2() { return refuse_cublas("cublasCgerc_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCgeru_v2() { return refuse_cublas("cublasCgeru_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCgetrfBatched() { return refuse_cublas("cublasCgetrfBatched", kAdvice3); }
JITC_EXPORT int32_t cublasCgetrsBatched() { return refuse_cublas("cublasCgetrsBatched", kAdvice3); }
JITC_EXPORT int32_t cublasChemm_v2() { return refuse_cublas("cublasChemm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasChemv_v2() { return refuse_cublas("cublasChemv_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCher2_v2() { return refuse_cublas("cublasCher2_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCher2k_v2() { return refuse_cublas("cublasCher2k_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCher_v2() { return refuse_cublas("cublasCher_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCherk_v2() { return refuse_cublas("cublasCherk_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCrot_v2() { return refuse_cublas("cublasCrot_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCrotg_v2() { return refuse_cublas("cublasCrotg_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCscal_v2() { return refuse_cublas("cublasCscal_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCsrot_v2() { return refuse_cublas("cublasCsrot_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCsscal_v2() { return refuse_cublas("cublasCsscal_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCswap_v2() { return refuse_cublas("cublasCswap_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCsymm_v2() { return refuse_cublas("cublasCsymm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCsymv_v2() { return refuse_cublas("cublasCsymv_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCsyr2_v2() { return refuse_cublas("cublasCsyr2_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCsyr2k_v2() { return refuse_cublas("cublasCsyr2k_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCsyr_v2() { return refuse_cublas("cublasCsyr_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCsyrk_v2() { return refuse_cublas("cublasCsyrk_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCtrmm_v2() { return refuse_cublas("cublasCtrmm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCtrmv_v2() { return refuse_cublas("cublasCtrmv_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCtrsmBatched() { return refuse_cublas("cublasCtrsmBatched", kAdvice3); }
JITC_EXPORT int32_t cublasCtrsm_v2() { return refuse_cublas("cublasCtrsm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasCtrsv_v2() { return refuse_cublas("cublasCtrsv_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDasum_v2() { return refuse_cublas("cublasDasum_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDaxpy_v2() { return refuse_cublas("cublasDaxpy_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDcopy_v2() { return refuse_cublas("cublasDcopy_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDgelsBatched() { return refuse_cublas("cublasDgelsBatched", kAdvice3); }
JITC_EXPORT int32_t cublasDgemmBatched() { return refuse_cublas("cublasDgemmBatched", kAdvice0); }
JITC_EXPORT int32_t cublasDgemmGroupedBatched() { return refuse_cublas("cublasDgemmGroupedBatched", kAdvice0); }
JITC_EXPORT int32_t cublasDgeqrfBatched() { return refuse_cublas("cublasDgeqrfBatched", kAdvice3); }
JITC_EXPORT int32_t cublasDger_v2() { return refuse_cublas("cublasDger_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDgetrfBatched() { return refuse_cublas("cublasDgetrfBatched", kAdvice3); }
JITC_EXPORT int32_t cublasDgetrsBatched() { return refuse_cublas("cublasDgetrsBatched", kAdvice3); }
JITC_EXPORT int32_t cublasDnrm2_v2() { return refuse_cublas("cublasDnrm2_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDotcEx() { return refuse_cublas("cublasDotcEx", kAdvice3); }
JITC_EXPORT int32_t cublasDrot_v2() { return refuse_cublas("cublasDrot_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDrotg_v2() { return refuse_cublas("cublasDrotg_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDrotm_v2() { return refuse_cublas("cublasDrotm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDrotmg_v2() { return refuse_cublas("cublasDrotmg_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDscal_v2() { return refuse_cublas("cublasDscal_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDswap_v2() { return refuse_cublas("cublasDswap_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDsymm_v2() { return refuse_cublas("cublasDsymm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDsymv_v2() { return refuse_cublas("cublasDsymv_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDsyr2_v2() { return refuse_cublas("cublasDsyr2_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDsyr2k_v2() { return refuse_cublas("cublasDsyr2k_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDsyr_v2() { return refuse_cublas("cublasDsyr_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDsyrk_v2() { return refuse_cublas("cublasDsyrk_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDtrmm_v2() { return refuse_cublas("cublasDtrmm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDtrmv_v2() { return refuse_cublas("cublasDtrmv_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDtrsmBatched() { return refuse_cublas("cublasDtrsmBatched", kAdvice3); }
JITC_EXPORT int32_t cublasDtrsm_v2() { return refuse_cublas("cublasDtrsm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDtrsv_v2() { return refuse_cublas("cublasDtrsv_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDzasum_v2() { return refuse_cublas("cublasDzasum_v2", kAdvice3); }
JITC_EXPORT int32_t cublasDznrm2_v2() { return refuse_cublas("cublasDznrm2_v2", kAdvice3); }
JITC_EXPORT int32_t cublasGemmBatchedEx() { return refuse_cublas("cublasGemmBatchedEx", kAdvice0); }
JITC_EXPORT int32_t cublasGemmGroupedBatchedEx() { return refuse_cublas("cublasGemmGroupedBatchedEx", kAdvice0); }
JITC_EXPORT int32_t cublasGetMatrix() { return refuse_cublas("cublasGetMatrix", kAdvice2); }
JITC_EXPORT int32_t cublasGetMatrixAsync() { return refuse_cublas("cublasGetMatrixAsync", kAdvice2); }
JITC_EXPORT int32_t cublasGetVector() { return refuse_cublas("cublasGetVector", kAdvice2); }
JITC_EXPORT int32_t cublasGetVectorAsync() { return refuse_cublas("cublasGetVectorAsync", kAdvice2); }
JITC_EXPORT int32_t cublasHgemmBatched() { return refuse_cublas("cublasHgemmBatched", kAdvice0); }
JITC_EXPORT int32_t cublasIcamax_v2() { return refuse_cublas("cublasIcamax_v2", kAdvice3); }
JITC_EXPORT int32_t cublasIcamin_v2() { return refuse_cublas("cublasIcamin_v2", kAdvice3); }
JITC_EXPORT int32_t cublasIdamax_v2() { return refuse_cublas("cublasIdamax_v2", kAdvice3); }
JITC_EXPORT int32_t cublasIdamin_v2() { return refuse_cublas("cublasIdamin_v2", kAdvice3); }
JITC_EXPORT int32_t cublasIsamax_v2() { return refuse_cublas("cublasIsamax_v2", kAdvice3); }
JITC_EXPORT int32_t cublasIsamin_v2() { return refuse_cublas("cublasIsamin_v2", kAdvice3); }
JITC_EXPORT int32_t cublasIzamax_v2() { return refuse_cublas("cublasIzamax_v2", kAdvice3); }
JITC_EXPORT int32_t cublasIzamin_v2() { return refuse_cublas("cublasIzamin_v2", kAdvice3); }
JITC_EXPORT int32_t cublasNrm2Ex() { return refuse_cublas("cublasNrm2Ex", kAdvice3); }
JITC_EXPORT int32_t cublasRotEx() { return refuse_cublas("cublasRotEx", kAdvice3); }
JITC_EXPORT int32_t cublasSasum_v2() { return refuse_cublas("cublasSasum_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSaxpy_v2() { return refuse_cublas("cublasSaxpy_v2", kAdvice3); }
JITC_EXPORT int32_t cublasScalEx() { return refuse_cublas("cublasScalEx", kAdvice3); }
JITC_EXPORT int32_t cublasScasum_v2() { return refuse_cublas("cublasScasum_v2", kAdvice3); }
JITC_EXPORT int32_t cublasScnrm2_v2() { return refuse_cublas("cublasScnrm2_v2", kAdvice3); }
JITC_EXPORT int32_t cublasScopy_v2() { return refuse_cublas("cublasScopy_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSetMatrix() { return refuse_cublas("cublasSetMatrix", kAdvice2); }
JITC_EXPORT int32_t cublasSetMatrixAsync() { return refuse_cublas("cublasSetMatrixAsync", kAdvice2); }
JITC_EXPORT int32_t cublasSetVector() { return refuse_cublas("cublasSetVector", kAdvice2); }
JITC_EXPORT int32_t cublasSetVectorAsync() { return refuse_cublas("cublasSetVectorAsync", kAdvice2); }
JITC_EXPORT int32_t cublasSgelsBatched() { return refuse_cublas("cublasSgelsBatched", kAdvice3); }
JITC_EXPORT int32_t cublasSgemmBatched() { return refuse_cublas("cublasSgemmBatched", kAdvice0); }
JITC_EXPORT int32_t cublasSgemmGroupedBatched() { return refuse_cublas("cublasSgemmGroupedBatched", kAdvice0); }
JITC_EXPORT int32_t cublasSgeqrfBatched() { return refuse_cublas("cublasSgeqrfBatched", kAdvice3); }
JITC_EXPORT int32_t cublasSger_v2() { return refuse_cublas("cublasSger_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSgetrfBatched() { return refuse_cublas("cublasSgetrfBatched", kAdvice3); }
JITC_EXPORT int32_t cublasSgetrsBatched() { return refuse_cublas("cublasSgetrsBatched", kAdvice3); }
JITC_EXPORT int32_t cublasSnrm2_v2() { return refuse_cublas("cublasSnrm2_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSrot_v2() { return refuse_cublas("cublasSrot_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSrotg_v2() { return refuse_cublas("cublasSrotg_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSrotm_v2() { return refuse_cublas("cublasSrotm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSrotmg_v2() { return refuse_cublas("cublasSrotmg_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSscal_v2() { return refuse_cublas("cublasSscal_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSswap_v2() { return refuse_cublas("cublasSswap_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSsymm_v2() { return refuse_cublas("cublasSsymm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSsymv_v2() { return refuse_cublas("cublasSsymv_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSsyr2_v2() { return refuse_cublas("cublasSsyr2_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSsyr2k_v2() { return refuse_cublas("cublasSsyr2k_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSsyr_v2() { return refuse_cublas("cublasSsyr_v2", kAdvice3); }
JITC_EXPORT int32_t cublasSsyrk_v2() { return refuse_cublas("cublasSsyrk_v2", kAdvice3); }
JITC_EXPORT int32_t cublasStrmm_v2() { return refuse_cublas("cublasStrmm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasStrmv_v2() { return refuse_cublas("cublasStrmv_v2", kAdvice3); }
JITC_EXPORT int32_t cublasStrsmBatched() { return refuse_cublas("cublasStrsmBatched", kAdvice3); }
JITC_EXPORT int32_t cublasStrsm_v2() { return refuse_cublas("cublasStrsm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasStrsv_v2() { return refuse_cublas("cublasStrsv_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZaxpy_v2() { return refuse_cublas("cublasZaxpy_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZcopy_v2() { return refuse_cublas("cublasZcopy_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZdotc_v2() { return refuse_cublas("cublasZdotc_v2", kAdvice1); }
JITC_EXPORT int32_t cublasZdotu_v2() { return refuse_cublas("cublasZdotu_v2", kAdvice1); }
JITC_EXPORT int32_t cublasZdrot_v2() { return refuse_cublas("cublasZdrot_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZdscal_v2() { return refuse_cublas("cublasZdscal_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZgelsBatched() { return refuse_cublas("cublasZgelsBatched", kAdvice3); }
JITC_EXPORT int32_t cublasZgemmBatched() { return refuse_cublas("cublasZgemmBatched", kAdvice0); }
JITC_EXPORT int32_t cublasZgemmStridedBatched() { return refuse_cublas("cublasZgemmStridedBatched", kAdvice1); }
JITC_EXPORT int32_t cublasZgemm_v2() { return refuse_cublas("cublasZgemm_v2", kAdvice1); }
JITC_EXPORT int32_t cublasZgemv_v2() { return refuse_cublas("cublasZgemv_v2", kAdvice1); }
JITC_EXPORT int32_t cublasZgeqrfBatched() { return refuse_cublas("cublasZgeqrfBatched", kAdvice3); }
JITC_EXPORT int32_t cublasZgerc_v2() { return refuse_cublas("cublasZgerc_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZgeru_v2() { return refuse_cublas("cublasZgeru_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZgetrfBatched() { return refuse_cublas("cublasZgetrfBatched", kAdvice3); }
JITC_EXPORT int32_t cublasZgetrsBatched() { return refuse_cublas("cublasZgetrsBatched", kAdvice3); }
JITC_EXPORT int32_t cublasZhemm_v2() { return refuse_cublas("cublasZhemm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZhemv_v2() { return refuse_cublas("cublasZhemv_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZher2_v2() { return refuse_cublas("cublasZher2_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZher2k_v2() { return refuse_cublas("cublasZher2k_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZher_v2() { return refuse_cublas("cublasZher_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZherk_v2() { return refuse_cublas("cublasZherk_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZrot_v2() { return refuse_cublas("cublasZrot_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZrotg_v2() { return refuse_cublas("cublasZrotg_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZscal_v2() { return refuse_cublas("cublasZscal_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZswap_v2() { return refuse_cublas("cublasZswap_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZsymm_v2() { return refuse_cublas("cublasZsymm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZsymv_v2() { return refuse_cublas("cublasZsymv_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZsyr2_v2() { return refuse_cublas("cublasZsyr2_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZsyr2k_v2() { return refuse_cublas("cublasZsyr2k_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZsyr_v2() { return refuse_cublas("cublasZsyr_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZsyrk_v2() { return refuse_cublas("cublasZsyrk_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZtrmm_v2() { return refuse_cublas("cublasZtrmm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZtrmv_v2() { return refuse_cublas("cublasZtrmv_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZtrsmBatched() { return refuse_cublas("cublasZtrsmBatched", kAdvice3); }
JITC_EXPORT int32_t cublasZtrsm_v2() { return refuse_cublas("cublasZtrsm_v2", kAdvice3); }
JITC_EXPORT int32_t cublasZtrsv_v2() { return refuse_cublas("cublasZtrsv_v2", kAdvice3); }
