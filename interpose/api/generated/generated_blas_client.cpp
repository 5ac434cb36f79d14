// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
// clang-format off
#include "generated_blas_client.h"
#include "api/cublas/blas_call.h"

namespace jitc::api::forward {

int32_t cublasAxpyEx(uint64_t handle, int32_t n, const void* alpha, int32_t type_alpha, uint64_t x, int32_t type_x, int32_t incx, uint64_t y, int32_t type_y, int32_t incy, int32_t compute) {
  return BlasCall(handle, "cublasAxpyEx", 0x0bacace4).number(n).scalar(alpha, element_bytes(type_alpha)).number(type_alpha).address(x).number(type_x).number(incx).address(y).number(type_y).number(incy).number(compute).submit();
}
int32_t cublasCaxpy_v2(uint64_t handle, int32_t n, const void* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasCaxpy_v2", 0x324fd0bb).number(n).scalar(alpha, 8).address(x).number(incx).address(y).number(incy).submit();
}
int32_t cublasCcopy_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasCcopy_v2", 0xec88a042).number(n).address(x).number(incx).address(y).number(incy).submit();
}
int32_t cublasCdotc_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, void* result) {
  return BlasCall(handle, "cublasCdotc_v2", 0x4960e0c9).number(n).address(x).number(incx).address(y).number(incy).result(result, 8).submit();
}
int32_t cublasCdotu_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, void* result) {
  return BlasCall(handle, "cublasCdotu_v2", 0x236d1e23).number(n).address(x).number(incx).address(y).number(incy).result(result, 8).submit();
}
int32_t cublasCgeam(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, const void* beta, uint64_t b, int32_t ldb, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasCgeam", 0xab19d7ae).number(transpose_a).number(transpose_b).count(m).count(n).scalar(alpha, 8).address(a).leading(lda, transpose_a ? n : m).scalar(beta, 8).address(b).leading(ldb, transpose_b ? n : m).address(c).leading(ldc, m).submit();
}
int32_t cublasCgelsBatched(uint64_t handle, int32_t transpose, int32_t m, int32_t n, int32_t columns, uint64_t a, int32_t lda, uint64_t c, int32_t ldc, int32_t* info, uint64_t infos, int32_t batch) {
  return BlasCall(handle, "cublasCgelsBatched", 0xe64a716e).number(transpose).number(m).number(n).number(columns).address(a).number(lda).address(c).number(ldc).info(info).address(infos).number(batch).submit();
}
int32_t cublasCgemmBatched(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const void* beta, uint64_t c, int32_t ldc, int32_t batch) {
  return BlasCall(handle, "cublasCgemmBatched", 0x31dfab87).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 8).address(a).leading(lda, transpose_a ? k : m).address(b).leading(ldb, transpose_b ? n : k).scalar(beta, 8).address(c).leading(ldc, m).count(batch).submit();
}
int32_t cublasCgemmStridedBatched(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t lda, int64_t stride_a, uint64_t b, int32_t ldb, int64_t stride_b, const void* beta, uint64_t c, int32_t ldc, int64_t stride_c, int32_t batch) {
  return BlasCall(handle, "cublasCgemmStridedBatched", 0x9cd6555e).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 8).address(a).leading(lda, transpose_a ? k : m).number(stride_a).address(b).leading(ldb, transpose_b ? n : k).number(stride_b).scalar(beta, 8).address(c).leading(ldc, m).number(stride_c).count(batch).submit();
}
int32_t cublasCgemm_v2(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const void* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasCgemm_v2", 0xfea7797b).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 8).address(a).leading(lda, transpose_a ? k : m).address(b).leading(ldb, transpose_b ? n : k).scalar(beta, 8).address(c).leading(ldc, m).submit();
}
int32_t cublasCgemv_v2(uint64_t handle, int32_t transpose, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t x, int32_t incx, const void* beta, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasCgemv_v2", 0x7d205af0).number(transpose).count(m).count(n).scalar(alpha, 8).address(a).leading(lda, m).address(x).increment(incx).scalar(beta, 8).address(y).increment(incy).submit();
}
int32_t cublasCgeqrfBatched(uint64_t handle, int32_t m, int32_t n, uint64_t a, int32_t lda, uint64_t tau, int32_t* info, int32_t batch) {
  return BlasCall(handle, "cublasCgeqrfBatched", 0x044d0864).number(m).number(n).address(a).number(lda).address(tau).info(info).number(batch).submit();
}
int32_t cublasCgerc_v2(uint64_t handle, int32_t m, int32_t n, const void* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasCgerc_v2", 0x986cd7b4).count(m).count(n).scalar(alpha, 8).address(x).increment(incx).address(y).increment(incy).address(a).leading(lda, m).submit();
}
int32_t cublasCgeru_v2(uint64_t handle, int32_t m, int32_t n, const void* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasCgeru_v2", 0x79c824a6).count(m).count(n).scalar(alpha, 8).address(x).increment(incx).address(y).increment(incy).address(a).leading(lda, m).submit();
}
int32_t cublasCgetrfBatched(uint64_t handle, int32_t n, uint64_t a, int32_t lda, uint64_t pivots, uint64_t infos, int32_t batch) {
  return BlasCall(handle, "cublasCgetrfBatched", 0x1e2a8ed1).number(n).address(a).number(lda).address(pivots).address(infos).number(batch).submit();
}
int32_t cublasCgetrsBatched(uint64_t handle, int32_t transpose, int32_t n, int32_t columns, uint64_t a, int32_t lda, uint64_t pivots, uint64_t b, int32_t ldb, int32_t* info, int32_t batch) {
  return BlasCall(handle, "cublasCgetrsBatched", 0x84934610).number(transpose).number(n).number(columns).address(a).number(lda).address(pivots).address(b).number(ldb).info(info).number(batch).submit();
}
int32_t cublasChemm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const void* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasChemm_v2", 0x656f8246).number(side).number(fill).count(m).count(n).scalar(alpha, 8).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).scalar(beta, 8).address(c).leading(ldc, m).submit();
}
int32_t cublasChemv_v2(uint64_t handle, int32_t fill, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t x, int32_t incx, const void* beta, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasChemv_v2", 0xfb49f9bd).number(fill).count(n).scalar(alpha, 8).address(a).leading(lda, n).address(x).increment(incx).scalar(beta, 8).address(y).increment(incy).submit();
}
int32_t cublasCher2_v2(uint64_t handle, int32_t fill, int32_t n, const void* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasCher2_v2", 0x1932c494).number(fill).count(n).scalar(alpha, 8).address(x).increment(incx).address(y).increment(incy).address(a).leading(lda, n).submit();
}
int32_t cublasCher2k_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const float* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasCher2k_v2", 0xfb17d919).number(fill).number(transpose).count(n).count(k).scalar(alpha, 8).address(a).leading(lda, transpose ? k : n).address(b).leading(ldb, transpose ? k : n).scalar(beta, 4).address(c).leading(ldc, n).submit();
}
int32_t cublasCher_v2(uint64_t handle, int32_t fill, int32_t n, const float* alpha, uint64_t x, int32_t incx, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasCher_v2", 0xf8dc18e4).number(fill).count(n).scalar(alpha, 4).address(x).increment(incx).address(a).leading(lda, n).submit();
}
int32_t cublasCherk_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t n, int32_t k, const float* alpha, uint64_t a, int32_t lda, const float* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasCherk_v2", 0xc27b1489).number(fill).number(transpose).count(n).count(k).scalar(alpha, 4).address(a).leading(lda, transpose ? k : n).scalar(beta, 4).address(c).leading(ldc, n).submit();
}
int32_t cublasCrot_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, const float* cosine, const void* sine) {
  return BlasCall(handle, "cublasCrot_v2", 0x89d09bb2).number(n).address(x).number(incx).address(y).number(incy).scalar(cosine, 4).scalar(sine, 8).submit();
}
int32_t cublasCscal_v2(uint64_t handle, int32_t n, const void* alpha, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasCscal_v2", 0xa7c7d568).number(n).scalar(alpha, 8).address(x).number(incx).submit();
}
int32_t cublasCsrot_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, const float* cosine, const float* sine) {
  return BlasCall(handle, "cublasCsrot_v2", 0xa411c63f).number(n).address(x).number(incx).address(y).number(incy).scalar(cosine, 4).scalar(sine, 4).submit();
}
int32_t cublasCsscal_v2(uint64_t handle, int32_t n, const float* alpha, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasCsscal_v2", 0x7a4a5d4f).number(n).scalar(alpha, 4).address(x).number(incx).submit();
}
int32_t cublasCswap_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasCswap_v2", 0x5789d498).number(n).address(x).number(incx).address(y).number(incy).submit();
}
int32_t cublasCsymm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const void* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasCsymm_v2", 0xf13ffe7b).number(side).number(fill).count(m).count(n).scalar(alpha, 8).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).scalar(beta, 8).address(c).leading(ldc, m).submit();
}
int32_t cublasCsymv_v2(uint64_t handle, int32_t fill, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t x, int32_t incx, const void* beta, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasCsymv_v2", 0x6fb8dff0).number(fill).count(n).scalar(alpha, 8).address(a).leading(lda, n).address(x).increment(incx).scalar(beta, 8).address(y).increment(incy).submit();
}
int32_t cublasCsyr2_v2(uint64_t handle, int32_t fill, int32_t n, const void* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasCsyr2_v2", 0xc1ca5f61).number(fill).count(n).scalar(alpha, 8).address(x).increment(incx).address(y).increment(incy).address(a).leading(lda, n).submit();
}
int32_t cublasCsyr2k_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const void* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasCsyr2k_v2", 0x7d17f20a).number(fill).number(transpose).count(n).count(k).scalar(alpha, 8).address(a).leading(lda, transpose ? k : n).address(b).leading(ldb, transpose ? k : n).scalar(beta, 8).address(c).leading(ldc, n).submit();
}
int32_t cublasCsyr_v2(uint64_t handle, int32_t fill, int32_t n, const void* alpha, uint64_t x, int32_t incx, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasCsyr_v2", 0xb44fba1b).number(fill).count(n).scalar(alpha, 8).address(x).increment(incx).address(a).leading(lda, n).submit();
}
int32_t cublasCsyrk_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t lda, const void* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasCsyrk_v2", 0x15d2e99c).number(fill).number(transpose).count(n).count(k).scalar(alpha, 8).address(a).leading(lda, transpose ? k : n).scalar(beta, 8).address(c).leading(ldc, n).submit();
}
int32_t cublasCtrmm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t transpose, int32_t diagonal, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasCtrmm_v2", 0xd0db114d).number(side).number(fill).number(transpose).number(diagonal).count(m).count(n).scalar(alpha, 8).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).address(c).leading(ldc, m).submit();
}
int32_t cublasCtrmv_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t diagonal, int32_t n, uint64_t a, int32_t lda, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasCtrmv_v2", 0xffea4676).number(fill).number(transpose).number(diagonal).count(n).address(a).leading(lda, n).address(x).increment(incx).submit();
}
int32_t cublasCtrsmBatched(uint64_t handle, int32_t side, int32_t fill, int32_t transpose, int32_t diagonal, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, int32_t batch) {
  return BlasCall(handle, "cublasCtrsmBatched", 0x763c1e2b).number(side).number(fill).number(transpose).number(diagonal).count(m).count(n).scalar(alpha, 8).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).number(batch).submit();
}
int32_t cublasCtrsm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t transpose, int32_t diagonal, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb) {
  return BlasCall(handle, "cublasCtrsm_v2", 0x87437827).number(side).number(fill).number(transpose).number(diagonal).count(m).count(n).scalar(alpha, 8).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).submit();
}
int32_t cublasCtrsv_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t diagonal, int32_t n, uint64_t a, int32_t lda, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasCtrsv_v2", 0x85e4328c).number(fill).number(transpose).number(diagonal).count(n).address(a).leading(lda, n).address(x).increment(incx).submit();
}
int32_t cublasDasum_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, double* result) {
  return BlasCall(handle, "cublasDasum_v2", 0xe9e0960c).number(n).address(x).number(incx).result(result, 8).submit();
}
int32_t cublasDaxpy_v2(uint64_t handle, int32_t n, const double* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasDaxpy_v2", 0xeea4d844).number(n).scalar(alpha, 8).address(x).number(incx).address(y).number(incy).submit();
}
int32_t cublasDcopy_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasDcopy_v2", 0xdd072139).number(n).address(x).number(incx).address(y).number(incy).submit();
}
int32_t cublasDdot_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, double* result) {
  return BlasCall(handle, "cublasDdot_v2", 0x34f25215).number(n).address(x).number(incx).address(y).number(incy).result(result, 8).submit();
}
int32_t cublasDgeam(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, const double* alpha, uint64_t a, int32_t lda, const double* beta, uint64_t b, int32_t ldb, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasDgeam", 0xb807af7b).number(transpose_a).number(transpose_b).count(m).count(n).scalar(alpha, 8).address(a).leading(lda, transpose_a ? n : m).scalar(beta, 8).address(b).leading(ldb, transpose_b ? n : m).address(c).leading(ldc, m).submit();
}
int32_t cublasDgelsBatched(uint64_t handle, int32_t transpose, int32_t m, int32_t n, int32_t columns, uint64_t a, int32_t lda, uint64_t c, int32_t ldc, int32_t* info, uint64_t infos, int32_t batch) {
  return BlasCall(handle, "cublasDgelsBatched", 0x2d303689).number(transpose).number(m).number(n).number(columns).address(a).number(lda).address(c).number(ldc).info(info).address(infos).number(batch).submit();
}
int32_t cublasDgemmBatched(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const double* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const double* beta, uint64_t c, int32_t ldc, int32_t batch) {
  return BlasCall(handle, "cublasDgemmBatched", 0x72e41570).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 8).address(a).leading(lda, transpose_a ? k : m).address(b).leading(ldb, transpose_b ? n : k).scalar(beta, 8).address(c).leading(ldc, m).count(batch).submit();
}
int32_t cublasDgemmStridedBatched(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const double* alpha, uint64_t a, int32_t lda, int64_t stride_a, uint64_t b, int32_t ldb, int64_t stride_b, const double* beta, uint64_t c, int32_t ldc, int64_t stride_c, int32_t batch) {
  return BlasCall(handle, "cublasDgemmStridedBatched", 0x72b3ca8f).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 8).address(a).leading(lda, transpose_a ? k : m).number(stride_a).address(b).leading(ldb, transpose_b ? n : k).number(stride_b).scalar(beta, 8).address(c).leading(ldc, m).number(stride_c).count(batch).submit();
}
int32_t cublasDgemm_v2(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const double* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const double* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasDgemm_v2", 0x291ad9d8).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 8).address(a).leading(lda, transpose_a ? k : m).address(b).leading(ldb, transpose_b ? n : k).scalar(beta, 8).address(c).leading(ldc, m).submit();
}
int32_t cublasDgemv_v2(uint64_t handle, int32_t transpose, int32_t m, int32_t n, const double* alpha, uint64_t a, int32_t lda, uint64_t x, int32_t incx, const double* beta, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasDgemv_v2", 0xf8d8fc93).number(transpose).count(m).count(n).scalar(alpha, 8).address(a).leading(lda, m).address(x).increment(incx).scalar(beta, 8).address(y).increment(incy).submit();
}
int32_t cublasDgeqrfBatched(uint64_t handle, int32_t m, int32_t n, uint64_t a, int32_t lda, uint64_t tau, int32_t* info, int32_t batch) {
  return BlasCall(handle, "cublasDgeqrfBatched", 0xb2be09c5).number(m).number(n).address(a).number(lda).address(tau).info(info).number(batch).submit();
}
int32_t cublasDger_v2(uint64_t handle, int32_t m, int32_t n, const double* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasDger_v2", 0x06fc2926).count(m).count(n).scalar(alpha, 8).address(x).increment(incx).address(y).increment(incy).address(a).leading(lda, m).submit();
}
int32_t cublasDgetrfBatched(uint64_t handle, int32_t n, uint64_t a, int32_t lda, uint64_t pivots, uint64_t infos, int32_t batch) {
  return BlasCall(handle, "cublasDgetrfBatched", 0x260f0290).number(n).address(a).number(lda).address(pivots).address(infos).number(batch).submit();
}
int32_t cublasDgetrsBatched(uint64_t handle, int32_t transpose, int32_t n, int32_t columns, uint64_t a, int32_t lda, uint64_t pivots, uint64_t b, int32_t ldb, int32_t* info, int32_t batch) {
  return BlasCall(handle, "cublasDgetrsBatched", 0xbfa64b51).number(transpose).number(n).number(columns).address(a).number(lda).address(pivots).address(b).number(ldb).info(info).number(batch).submit();
}
int32_t cublasDnrm2_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, double* result) {
  return BlasCall(handle, "cublasDnrm2_v2", 0x424ffc87).number(n).address(x).number(incx).result(result, 8).submit();
}
int32_t cublasDotEx(uint64_t handle, int32_t n, uint64_t x, int32_t type_x, int32_t incx, uint64_t y, int32_t type_y, int32_t incy, void* result, int32_t type_result, int32_t compute) {
  return BlasCall(handle, "cublasDotEx", 0xdb9b23d7).number(n).address(x).number(type_x).number(incx).address(y).number(type_y).number(incy).result(result, element_bytes(type_result)).number(type_result).number(compute).submit();
}
int32_t cublasDotcEx(uint64_t handle, int32_t n, uint64_t x, int32_t type_x, int32_t incx, uint64_t y, int32_t type_y, int32_t incy, void* result, int32_t type_result, int32_t compute) {
  return BlasCall(handle, "cublasDotcEx", 0x31041dfe).number(n).address(x).number(type_x).number(incx).address(y).number(type_y).number(incy).result(result, element_bytes(type_result)).number(type_result).number(compute).submit();
}
int32_t cublasDrot_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, const double* cosine, const double* sine) {
  return BlasCall(handle, "cublasDrot_v2", 0x878d71db).number(n).address(x).number(incx).address(y).number(incy).scalar(cosine, 8).scalar(sine, 8).submit();
}
int32_t cublasDscal_v2(uint64_t handle, int32_t n, const double* alpha, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasDscal_v2", 0xb6f9f5ab).number(n).scalar(alpha, 8).address(x).number(incx).submit();
}
int32_t cublasDswap_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasDswap_v2", 0xe6350a3b).number(n).address(x).number(incx).address(y).number(incy).submit();
}
int32_t cublasDsymm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t m, int32_t n, const double* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const double* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasDsymm_v2", 0xc8aa1470).number(side).number(fill).count(m).count(n).scalar(alpha, 8).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).scalar(beta, 8).address(c).leading(ldc, m).submit();
}
int32_t cublasDsymv_v2(uint64_t handle, int32_t fill, int32_t n, const double* alpha, uint64_t a, int32_t lda, uint64_t x, int32_t incx, const double* beta, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasDsymv_v2", 0x4a3132fb).number(fill).count(n).scalar(alpha, 8).address(a).leading(lda, n).address(x).increment(incx).scalar(beta, 8).address(y).increment(incy).submit();
}
int32_t cublasDsyr2_v2(uint64_t handle, int32_t fill, int32_t n, const double* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasDsyr2_v2", 0x3a9b3d1e).number(fill).count(n).scalar(alpha, 8).address(x).increment(incx).address(y).increment(incy).address(a).leading(lda, n).submit();
}
int32_t cublasDsyr2k_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t n, int32_t k, const double* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const double* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasDsyr2k_v2", 0x4268fd3b).number(fill).number(transpose).count(n).count(k).scalar(alpha, 8).address(a).leading(lda, transpose ? k : n).address(b).leading(ldb, transpose ? k : n).scalar(beta, 8).address(c).leading(ldc, n).submit();
}
int32_t cublasDsyr_v2(uint64_t handle, int32_t fill, int32_t n, const double* alpha, uint64_t x, int32_t incx, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasDsyr_v2", 0xcbf2424e).number(fill).count(n).scalar(alpha, 8).address(x).increment(incx).address(a).leading(lda, n).submit();
}
int32_t cublasDsyrk_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t n, int32_t k, const double* alpha, uint64_t a, int32_t lda, const double* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasDsyrk_v2", 0x997cad8b).number(fill).number(transpose).count(n).count(k).scalar(alpha, 8).address(a).leading(lda, transpose ? k : n).scalar(beta, 8).address(c).leading(ldc, n).submit();
}
int32_t cublasDtrmm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t transpose, int32_t diagonal, int32_t m, int32_t n, const double* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasDtrmm_v2", 0xa9f14092).number(side).number(fill).number(transpose).number(diagonal).count(m).count(n).scalar(alpha, 8).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).address(c).leading(ldc, m).submit();
}
int32_t cublasDtrmv_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t diagonal, int32_t n, uint64_t a, int32_t lda, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasDtrmv_v2", 0x9fa3acb9).number(fill).number(transpose).number(diagonal).count(n).address(a).leading(lda, n).address(x).increment(incx).submit();
}
int32_t cublasDtrsmBatched(uint64_t handle, int32_t side, int32_t fill, int32_t transpose, int32_t diagonal, int32_t m, int32_t n, const double* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, int32_t batch) {
  return BlasCall(handle, "cublasDtrsmBatched", 0x342856b4).number(side).number(fill).number(transpose).number(diagonal).count(m).count(n).scalar(alpha, 8).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).number(batch).submit();
}
int32_t cublasDtrsm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t transpose, int32_t diagonal, int32_t m, int32_t n, const double* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb) {
  return BlasCall(handle, "cublasDtrsm_v2", 0xfc8d2974).number(side).number(fill).number(transpose).number(diagonal).count(m).count(n).scalar(alpha, 8).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).submit();
}
int32_t cublasDtrsv_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t diagonal, int32_t n, uint64_t a, int32_t lda, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasDtrsv_v2", 0x9e2eaedf).number(fill).number(transpose).number(diagonal).count(n).address(a).leading(lda, n).address(x).increment(incx).submit();
}
int32_t cublasDzasum_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, double* result) {
  return BlasCall(handle, "cublasDzasum_v2", 0xc714618c).number(n).address(x).number(incx).result(result, 8).submit();
}
int32_t cublasDznrm2_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, double* result) {
  return BlasCall(handle, "cublasDznrm2_v2", 0x1f83c807).number(n).address(x).number(incx).result(result, 8).submit();
}
int32_t cublasGemmBatchedEx(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t type_a, int32_t lda, uint64_t b, int32_t type_b, int32_t ldb, const void* beta, uint64_t c, int32_t type_c, int32_t ldc, int32_t batch, int32_t compute, int32_t algorithm) {
  return BlasCall(handle, "cublasGemmBatchedEx", 0x3bc28a03).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, scalar_bytes(compute, type_c)).address(a).number(type_a).leading(lda, transpose_a ? k : m).address(b).number(type_b).leading(ldb, transpose_b ? n : k).scalar(beta, scalar_bytes(compute, type_c)).address(c).number(type_c).leading(ldc, m).count(batch).number(compute).number(algorithm).submit();
}
int32_t cublasGemmEx(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t type_a, int32_t lda, uint64_t b, int32_t type_b, int32_t ldb, const void* beta, uint64_t c, int32_t type_c, int32_t ldc, int32_t compute, int32_t algorithm) {
  return BlasCall(handle, "cublasGemmEx", 0xc837c46c).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, scalar_bytes(compute, type_c)).address(a).number(type_a).leading(lda, transpose_a ? k : m).address(b).number(type_b).leading(ldb, transpose_b ? n : k).scalar(beta, scalar_bytes(compute, type_c)).address(c).number(type_c).leading(ldc, m).number(compute).number(algorithm).submit();
}
int32_t cublasGemmStridedBatchedEx(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t type_a, int32_t lda, int64_t stride_a, uint64_t b, int32_t type_b, int32_t ldb, int64_t stride_b, const void* beta, uint64_t c, int32_t type_c, int32_t ldc, int64_t stride_c, int32_t batch, int32_t compute, int32_t algorithm) {
  return BlasCall(handle, "cublasGemmStridedBatchedEx", 0xacac1bac).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, scalar_bytes(compute, type_c)).address(a).number(type_a).leading(lda, transpose_a ? k : m).number(stride_a).address(b).number(type_b).leading(ldb, transpose_b ? n : k).number(stride_b).scalar(beta, scalar_bytes(compute, type_c)).address(c).number(type_c).leading(ldc, m).number(stride_c).count(batch).number(compute).number(algorithm).submit();
}
int32_t cublasHgemm(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const uint16_t* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const uint16_t* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasHgemm", 0xa273ccab).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 2).address(a).leading(lda, transpose_a ? k : m).address(b).leading(ldb, transpose_b ? n : k).scalar(beta, 2).address(c).leading(ldc, m).submit();
}
int32_t cublasHgemmBatched(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const uint16_t* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const uint16_t* beta, uint64_t c, int32_t ldc, int32_t batch) {
  return BlasCall(handle, "cublasHgemmBatched", 0x53673704).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 2).address(a).leading(lda, transpose_a ? k : m).address(b).leading(ldb, transpose_b ? n : k).scalar(beta, 2).address(c).leading(ldc, m).count(batch).submit();
}
int32_t cublasHgemmStridedBatched(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const uint16_t* alpha, uint64_t a, int32_t lda, int64_t stride_a, uint64_t b, int32_t ldb, int64_t stride_b, const uint16_t* beta, uint64_t c, int32_t ldc, int64_t stride_c, int32_t batch) {
  return BlasCall(handle, "cublasHgemmStridedBatched", 0x0a660c3b).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 2).address(a).leading(lda, transpose_a ? k : m).number(stride_a).address(b).leading(ldb, transpose_b ? n : k).number(stride_b).scalar(beta, 2).address(c).leading(ldc, m).number(stride_c).count(batch).submit();
}
int32_t cublasIcamax_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, int32_t* result) {
  return BlasCall(handle, "cublasIcamax_v2", 0xace81d19).number(n).address(x).number(incx).result(result, 4).submit();
}
int32_t cublasIcamin_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, int32_t* result) {
  return BlasCall(handle, "cublasIcamin_v2", 0x7e55f87b).number(n).address(x).number(incx).result(result, 4).submit();
}
int32_t cublasIdamax_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, int32_t* result) {
  return BlasCall(handle, "cublasIdamax_v2", 0x32f8b98e).number(n).address(x).number(incx).result(result, 4).submit();
}
int32_t cublasIdamin_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, int32_t* result) {
  return BlasCall(handle, "cublasIdamin_v2", 0x795dee54).number(n).address(x).number(incx).result(result, 4).submit();
}
int32_t cublasIsamax_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, int32_t* result) {
  return BlasCall(handle, "cublasIsamax_v2", 0xb0c5b849).number(n).address(x).number(incx).result(result, 4).submit();
}
int32_t cublasIsamin_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, int32_t* result) {
  return BlasCall(handle, "cublasIsamin_v2", 0xbd49e70b).number(n).address(x).number(incx).result(result, 4).submit();
}
int32_t cublasIzamax_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, int32_t* result) {
  return BlasCall(handle, "cublasIzamax_v2", 0x5b8e5994).number(n).address(x).number(incx).result(result, 4).submit();
}
int32_t cublasIzamin_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, int32_t* result) {
  return BlasCall(handle, "cublasIzamin_v2", 0xcf9d5ece).number(n).address(x).number(incx).result(result, 4).submit();
}
int32_t cublasNrm2Ex(uint64_t handle, int32_t n, uint64_t x, int32_t type_x, int32_t incx, void* result, int32_t type_result, int32_t compute) {
  return BlasCall(handle, "cublasNrm2Ex", 0x55e4c985).number(n).address(x).number(type_x).number(incx).result(result, element_bytes(type_result)).number(type_result).number(compute).submit();
}
int32_t cublasRotEx(uint64_t handle, int32_t n, uint64_t x, int32_t type_x, int32_t incx, uint64_t y, int32_t type_y, int32_t incy, const void* cosine, const void* sine, int32_t type_scalar, int32_t compute) {
  return BlasCall(handle, "cublasRotEx", 0x6db179c9).number(n).address(x).number(type_x).number(incx).address(y).number(type_y).number(incy).scalar(cosine, element_bytes(type_scalar)).scalar(sine, element_bytes(type_scalar)).number(type_scalar).number(compute).submit();
}
int32_t cublasSasum_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, float* result) {
  return BlasCall(handle, "cublasSasum_v2", 0x75283163).number(n).address(x).number(incx).result(result, 4).submit();
}
int32_t cublasSaxpy_v2(uint64_t handle, int32_t n, const float* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasSaxpy_v2", 0x29ffbeeb).number(n).scalar(alpha, 4).address(x).number(incx).address(y).number(incy).submit();
}
int32_t cublasScalEx(uint64_t handle, int32_t n, const void* alpha, int32_t type_alpha, uint64_t x, int32_t type_x, int32_t incx, int32_t compute) {
  return BlasCall(handle, "cublasScalEx", 0x3878f2bd).number(n).scalar(alpha, element_bytes(type_alpha)).number(type_alpha).address(x).number(type_x).number(incx).number(compute).submit();
}
int32_t cublasScasum_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, float* result) {
  return BlasCall(handle, "cublasScasum_v2", 0x855ca258).number(n).address(x).number(incx).result(result, 4).submit();
}
int32_t cublasScnrm2_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, float* result) {
  return BlasCall(handle, "cublasScnrm2_v2", 0x99d86a23).number(n).address(x).number(incx).result(result, 4).submit();
}
int32_t cublasScopy_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasScopy_v2", 0x5eff6752).number(n).address(x).number(incx).address(y).number(incy).submit();
}
int32_t cublasSdot_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, float* result) {
  return BlasCall(handle, "cublasSdot_v2", 0x0c9e432c).number(n).address(x).number(incx).address(y).number(incy).result(result, 4).submit();
}
int32_t cublasSgeam(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, const float* alpha, uint64_t a, int32_t lda, const float* beta, uint64_t b, int32_t ldb, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasSgeam", 0x90cb187e).number(transpose_a).number(transpose_b).count(m).count(n).scalar(alpha, 4).address(a).leading(lda, transpose_a ? n : m).scalar(beta, 4).address(b).leading(ldb, transpose_b ? n : m).address(c).leading(ldc, m).submit();
}
int32_t cublasSgelsBatched(uint64_t handle, int32_t transpose, int32_t m, int32_t n, int32_t columns, uint64_t a, int32_t lda, uint64_t c, int32_t ldc, int32_t* info, uint64_t infos, int32_t batch) {
  return BlasCall(handle, "cublasSgelsBatched", 0xb2913a9e).number(transpose).number(m).number(n).number(columns).address(a).number(lda).address(c).number(ldc).info(info).address(infos).number(batch).submit();
}
int32_t cublasSgemmBatched(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const float* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const float* beta, uint64_t c, int32_t ldc, int32_t batch) {
  return BlasCall(handle, "cublasSgemmBatched", 0xc2819a97).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 4).address(a).leading(lda, transpose_a ? k : m).address(b).leading(ldb, transpose_b ? n : k).scalar(beta, 4).address(c).leading(ldc, m).count(batch).submit();
}
int32_t cublasSgemmEx(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const float* alpha, uint64_t a, int32_t type_a, int32_t lda, uint64_t b, int32_t type_b, int32_t ldb, const float* beta, uint64_t c, int32_t type_c, int32_t ldc) {
  return BlasCall(handle, "cublasSgemmEx", 0x52d7f75f).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 4).address(a).number(type_a).leading(lda, transpose_a ? k : m).address(b).number(type_b).leading(ldb, transpose_b ? n : k).scalar(beta, 4).address(c).number(type_c).leading(ldc, m).submit();
}
int32_t cublasSgemmStridedBatched(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const float* alpha, uint64_t a, int32_t lda, int64_t stride_a, uint64_t b, int32_t ldb, int64_t stride_b, const float* beta, uint64_t c, int32_t ldc, int64_t stride_c, int32_t batch) {
  return BlasCall(handle, "cublasSgemmStridedBatched", 0xbdb729ee).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 4).address(a).leading(lda, transpose_a ? k : m).number(stride_a).address(b).leading(ldb, transpose_b ? n : k).number(stride_b).scalar(beta, 4).address(c).leading(ldc, m).number(stride_c).count(batch).submit();
}
int32_t cublasSgemm_v2(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const float* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const float* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasSgemm_v2", 0x5cb6f64b).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 4).address(a).leading(lda, transpose_a ? k : m).address(b).leading(ldb, transpose_b ? n : k).scalar(beta, 4).address(c).leading(ldc, m).submit();
}
int32_t cublasSgemv_v2(uint64_t handle, int32_t transpose, int32_t m, int32_t n, const float* alpha, uint64_t a, int32_t lda, uint64_t x, int32_t incx, const float* beta, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasSgemv_v2", 0xa293ed60).number(transpose).count(m).count(n).scalar(alpha, 4).address(a).leading(lda, m).address(x).increment(incx).scalar(beta, 4).address(y).increment(incy).submit();
}
int32_t cublasSgeqrfBatched(uint64_t handle, int32_t m, int32_t n, uint64_t a, int32_t lda, uint64_t tau, int32_t* info, int32_t batch) {
  return BlasCall(handle, "cublasSgeqrfBatched", 0x5882cf94).number(m).number(n).address(a).number(lda).address(tau).info(info).number(batch).submit();
}
int32_t cublasSger_v2(uint64_t handle, int32_t m, int32_t n, const float* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasSger_v2", 0xbd3295ab).count(m).count(n).scalar(alpha, 4).address(x).increment(incx).address(y).increment(incy).address(a).leading(lda, m).submit();
}
int32_t cublasSgetrfBatched(uint64_t handle, int32_t n, uint64_t a, int32_t lda, uint64_t pivots, uint64_t infos, int32_t batch) {
  return BlasCall(handle, "cublasSgetrfBatched", 0x54749e81).number(n).address(a).number(lda).address(pivots).address(infos).number(batch).submit();
}
int32_t cublasSgetrsBatched(uint64_t handle, int32_t transpose, int32_t n, int32_t columns, uint64_t a, int32_t lda, uint64_t pivots, uint64_t b, int32_t ldb, int32_t* info, int32_t batch) {
  return BlasCall(handle, "cublasSgetrsBatched", 0xe86020e0).number(transpose).number(n).number(columns).address(a).number(lda).address(pivots).address(b).number(ldb).info(info).number(batch).submit();
}
int32_t cublasSnrm2_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, float* result) {
  return BlasCall(handle, "cublasSnrm2_v2", 0xf771711c).number(n).address(x).number(incx).result(result, 4).submit();
}
int32_t cublasSrot_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, const float* cosine, const float* sine) {
  return BlasCall(handle, "cublasSrot_v2", 0x9008d762).number(n).address(x).number(incx).address(y).number(incy).scalar(cosine, 4).scalar(sine, 4).submit();
}
int32_t cublasSscal_v2(uint64_t handle, int32_t n, const float* alpha, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasSscal_v2", 0x81ff2598).number(n).scalar(alpha, 4).address(x).number(incx).submit();
}
int32_t cublasSswap_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasSswap_v2", 0xb8627008).number(n).address(x).number(incx).address(y).number(incy).submit();
}
int32_t cublasSsymm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t m, int32_t n, const float* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const float* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasSsymm_v2", 0x64ba19cb).number(side).number(fill).count(m).count(n).scalar(alpha, 4).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).scalar(beta, 4).address(c).leading(ldc, m).submit();
}
int32_t cublasSsymv_v2(uint64_t handle, int32_t fill, int32_t n, const float* alpha, uint64_t a, int32_t lda, uint64_t x, int32_t incx, const float* beta, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasSsymv_v2", 0xaa9710e0).number(fill).count(n).scalar(alpha, 4).address(a).leading(lda, n).address(x).increment(incx).scalar(beta, 4).address(y).increment(incy).submit();
}
int32_t cublasSsyr2_v2(uint64_t handle, int32_t fill, int32_t n, const float* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasSsyr2_v2", 0x57a673b1).number(fill).count(n).scalar(alpha, 4).address(x).increment(incx).address(y).increment(incy).address(a).leading(lda, n).submit();
}
int32_t cublasSsyr2k_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t n, int32_t k, const float* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const float* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasSsyr2k_v2", 0xb8af833a).number(fill).number(transpose).count(n).count(k).scalar(alpha, 4).address(a).leading(lda, transpose ? k : n).address(b).leading(ldb, transpose ? k : n).scalar(beta, 4).address(c).leading(ldc, n).submit();
}
int32_t cublasSsyr_v2(uint64_t handle, int32_t fill, int32_t n, const float* alpha, uint64_t x, int32_t incx, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasSsyr_v2", 0x8e87142b).number(fill).count(n).scalar(alpha, 4).address(x).increment(incx).address(a).leading(lda, n).submit();
}
int32_t cublasSsyrk_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t n, int32_t k, const float* alpha, uint64_t a, int32_t lda, const float* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasSsyrk_v2", 0x44753b8c).number(fill).number(transpose).count(n).count(k).scalar(alpha, 4).address(a).leading(lda, transpose ? k : n).scalar(beta, 4).address(c).leading(ldc, n).submit();
}
int32_t cublasStrmm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t transpose, int32_t diagonal, int32_t m, int32_t n, const float* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasStrmm_v2", 0xbdb7245d).number(side).number(fill).number(transpose).number(diagonal).count(m).count(n).scalar(alpha, 4).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).address(c).leading(ldc, m).submit();
}
int32_t cublasStrmv_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t diagonal, int32_t n, uint64_t a, int32_t lda, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasStrmv_v2", 0xb4830766).number(fill).number(transpose).number(diagonal).count(n).address(a).leading(lda, n).address(x).increment(incx).submit();
}
int32_t cublasStrsmBatched(uint64_t handle, int32_t side, int32_t fill, int32_t transpose, int32_t diagonal, int32_t m, int32_t n, const float* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, int32_t batch) {
  return BlasCall(handle, "cublasStrsmBatched", 0xe4b9879b).number(side).number(fill).number(transpose).number(diagonal).count(m).count(n).scalar(alpha, 4).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).number(batch).submit();
}
int32_t cublasStrsm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t transpose, int32_t diagonal, int32_t m, int32_t n, const float* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb) {
  return BlasCall(handle, "cublasStrsm_v2", 0x2079ce97).number(side).number(fill).number(transpose).number(diagonal).count(m).count(n).scalar(alpha, 4).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).submit();
}
int32_t cublasStrsv_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t diagonal, int32_t n, uint64_t a, int32_t lda, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasStrsv_v2", 0x1247e25c).number(fill).number(transpose).number(diagonal).count(n).address(a).leading(lda, n).address(x).increment(incx).submit();
}
int32_t cublasZaxpy_v2(uint64_t handle, int32_t n, const void* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasZaxpy_v2", 0x91074e3a).number(n).scalar(alpha, 16).address(x).number(incx).address(y).number(incy).submit();
}
int32_t cublasZcopy_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasZcopy_v2", 0xfcdd8a7f).number(n).address(x).number(incx).address(y).number(incy).submit();
}
int32_t cublasZdotc_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, void* result) {
  return BlasCall(handle, "cublasZdotc_v2", 0xe60e6b5c).number(n).address(x).number(incx).address(y).number(incy).result(result, 16).submit();
}
int32_t cublasZdotu_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, void* result) {
  return BlasCall(handle, "cublasZdotu_v2", 0x0106518e).number(n).address(x).number(incx).address(y).number(incy).result(result, 16).submit();
}
int32_t cublasZdrot_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, const double* cosine, const double* sine) {
  return BlasCall(handle, "cublasZdrot_v2", 0xad0457db).number(n).address(x).number(incx).address(y).number(incy).scalar(cosine, 8).scalar(sine, 8).submit();
}
int32_t cublasZdscal_v2(uint64_t handle, int32_t n, const double* alpha, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasZdscal_v2", 0xb12607ab).number(n).scalar(alpha, 8).address(x).number(incx).submit();
}
int32_t cublasZgeam(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, const void* beta, uint64_t b, int32_t ldb, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasZgeam", 0xce3796c5).number(transpose_a).number(transpose_b).count(m).count(n).scalar(alpha, 16).address(a).leading(lda, transpose_a ? n : m).scalar(beta, 16).address(b).leading(ldb, transpose_b ? n : m).address(c).leading(ldc, m).submit();
}
int32_t cublasZgelsBatched(uint64_t handle, int32_t transpose, int32_t m, int32_t n, int32_t columns, uint64_t a, int32_t lda, uint64_t c, int32_t ldc, int32_t* info, uint64_t infos, int32_t batch) {
  return BlasCall(handle, "cublasZgelsBatched", 0x5ab22c7b).number(transpose).number(m).number(n).number(columns).address(a).number(lda).address(c).number(ldc).info(info).address(infos).number(batch).submit();
}
int32_t cublasZgemmBatched(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const void* beta, uint64_t c, int32_t ldc, int32_t batch) {
  return BlasCall(handle, "cublasZgemmBatched", 0x966da916).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 16).address(a).leading(lda, transpose_a ? k : m).address(b).leading(ldb, transpose_b ? n : k).scalar(beta, 16).address(c).leading(ldc, m).count(batch).submit();
}
int32_t cublasZgemmStridedBatched(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t lda, int64_t stride_a, uint64_t b, int32_t ldb, int64_t stride_b, const void* beta, uint64_t c, int32_t ldc, int64_t stride_c, int32_t batch) {
  return BlasCall(handle, "cublasZgemmStridedBatched", 0x584cb4f1).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 16).address(a).leading(lda, transpose_a ? k : m).number(stride_a).address(b).leading(ldb, transpose_b ? n : k).number(stride_b).scalar(beta, 16).address(c).leading(ldc, m).number(stride_c).count(batch).submit();
}
int32_t cublasZgemm_v2(uint64_t handle, int32_t transpose_a, int32_t transpose_b, int32_t m, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const void* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasZgemm_v2", 0x15a27f92).number(transpose_a).number(transpose_b).count(m).count(n).count(k).scalar(alpha, 16).address(a).leading(lda, transpose_a ? k : m).address(b).leading(ldb, transpose_b ? n : k).scalar(beta, 16).address(c).leading(ldc, m).submit();
}
int32_t cublasZgemv_v2(uint64_t handle, int32_t transpose, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t x, int32_t incx, const void* beta, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasZgemv_v2", 0x0b54ebb9).number(transpose).count(m).count(n).scalar(alpha, 16).address(a).leading(lda, m).address(x).increment(incx).scalar(beta, 16).address(y).increment(incy).submit();
}
int32_t cublasZgeqrfBatched(uint64_t handle, int32_t m, int32_t n, uint64_t a, int32_t lda, uint64_t tau, int32_t* info, int32_t batch) {
  return BlasCall(handle, "cublasZgeqrfBatched", 0x70bf1fe7).number(m).number(n).address(a).number(lda).address(tau).info(info).number(batch).submit();
}
int32_t cublasZgerc_v2(uint64_t handle, int32_t m, int32_t n, const void* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasZgerc_v2", 0x75906b0d).count(m).count(n).scalar(alpha, 16).address(x).increment(incx).address(y).increment(incy).address(a).leading(lda, m).submit();
}
int32_t cublasZgeru_v2(uint64_t handle, int32_t m, int32_t n, const void* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasZgeru_v2", 0x90af1c6f).count(m).count(n).scalar(alpha, 16).address(x).increment(incx).address(y).increment(incy).address(a).leading(lda, m).submit();
}
int32_t cublasZgetrfBatched(uint64_t handle, int32_t n, uint64_t a, int32_t lda, uint64_t pivots, uint64_t infos, int32_t batch) {
  return BlasCall(handle, "cublasZgetrfBatched", 0xbc0043f2).number(n).address(a).number(lda).address(pivots).address(infos).number(batch).submit();
}
int32_t cublasZgetrsBatched(uint64_t handle, int32_t transpose, int32_t n, int32_t columns, uint64_t a, int32_t lda, uint64_t pivots, uint64_t b, int32_t ldb, int32_t* info, int32_t batch) {
  return BlasCall(handle, "cublasZgetrsBatched", 0xbe83db0b).number(transpose).number(n).number(columns).address(a).number(lda).address(pivots).address(b).number(ldb).info(info).number(batch).submit();
}
int32_t cublasZhemm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const void* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasZhemm_v2", 0x257e5a3f).number(side).number(fill).count(m).count(n).scalar(alpha, 16).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).scalar(beta, 16).address(c).leading(ldc, m).submit();
}
int32_t cublasZhemv_v2(uint64_t handle, int32_t fill, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t x, int32_t incx, const void* beta, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasZhemv_v2", 0x8e07fcd4).number(fill).count(n).scalar(alpha, 16).address(a).leading(lda, n).address(x).increment(incx).scalar(beta, 16).address(y).increment(incy).submit();
}
int32_t cublasZher2_v2(uint64_t handle, int32_t fill, int32_t n, const void* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasZher2_v2", 0x22c614c5).number(fill).count(n).scalar(alpha, 16).address(x).increment(incx).address(y).increment(incy).address(a).leading(lda, n).submit();
}
int32_t cublasZher2k_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const double* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasZher2k_v2", 0xfd661966).number(fill).number(transpose).count(n).count(k).scalar(alpha, 16).address(a).leading(lda, transpose ? k : n).address(b).leading(ldb, transpose ? k : n).scalar(beta, 8).address(c).leading(ldc, n).submit();
}
int32_t cublasZher_v2(uint64_t handle, int32_t fill, int32_t n, const double* alpha, uint64_t x, int32_t incx, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasZher_v2", 0x23d65817).number(fill).count(n).scalar(alpha, 8).address(x).increment(incx).address(a).leading(lda, n).submit();
}
int32_t cublasZherk_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t n, int32_t k, const double* alpha, uint64_t a, int32_t lda, const double* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasZherk_v2", 0xbbe497c0).number(fill).number(transpose).count(n).count(k).scalar(alpha, 8).address(a).leading(lda, transpose ? k : n).scalar(beta, 8).address(c).leading(ldc, n).submit();
}
int32_t cublasZrot_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, const double* cosine, const void* sine) {
  return BlasCall(handle, "cublasZrot_v2", 0x5fdaca8d).number(n).address(x).number(incx).address(y).number(incy).scalar(cosine, 8).scalar(sine, 16).submit();
}
int32_t cublasZscal_v2(uint64_t handle, int32_t n, const void* alpha, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasZscal_v2", 0xd28a2631).number(n).scalar(alpha, 16).address(x).number(incx).submit();
}
int32_t cublasZswap_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasZswap_v2", 0x3a392139).number(n).address(x).number(incx).address(y).number(incy).submit();
}
int32_t cublasZsymm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const void* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasZsymm_v2", 0xebd6d972).number(side).number(fill).count(m).count(n).scalar(alpha, 16).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).scalar(beta, 16).address(c).leading(ldc, m).submit();
}
int32_t cublasZsymv_v2(uint64_t handle, int32_t fill, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t x, int32_t incx, const void* beta, uint64_t y, int32_t incy) {
  return BlasCall(handle, "cublasZsymv_v2", 0xd4e3b499).number(fill).count(n).scalar(alpha, 16).address(a).leading(lda, n).address(x).increment(incx).scalar(beta, 16).address(y).increment(incy).submit();
}
int32_t cublasZsyr2_v2(uint64_t handle, int32_t fill, int32_t n, const void* alpha, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasZsyr2_v2", 0x8ad03000).number(fill).count(n).scalar(alpha, 16).address(x).increment(incx).address(y).increment(incy).address(a).leading(lda, n).submit();
}
int32_t cublasZsyr2k_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, const void* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasZsyr2k_v2", 0xb6f90d8d).number(fill).number(transpose).count(n).count(k).scalar(alpha, 16).address(a).leading(lda, transpose ? k : n).address(b).leading(ldb, transpose ? k : n).scalar(beta, 16).address(c).leading(ldc, n).submit();
}
int32_t cublasZsyr_v2(uint64_t handle, int32_t fill, int32_t n, const void* alpha, uint64_t x, int32_t incx, uint64_t a, int32_t lda) {
  return BlasCall(handle, "cublasZsyr_v2", 0x8fcc4158).number(fill).count(n).scalar(alpha, 16).address(x).increment(incx).address(a).leading(lda, n).submit();
}
int32_t cublasZsyrk_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t n, int32_t k, const void* alpha, uint64_t a, int32_t lda, const void* beta, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasZsyrk_v2", 0xd917bb85).number(fill).number(transpose).count(n).count(k).scalar(alpha, 16).address(a).leading(lda, transpose ? k : n).scalar(beta, 16).address(c).leading(ldc, n).submit();
}
int32_t cublasZtrmm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t transpose, int32_t diagonal, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, uint64_t c, int32_t ldc) {
  return BlasCall(handle, "cublasZtrmm_v2", 0x99de74b4).number(side).number(fill).number(transpose).number(diagonal).count(m).count(n).scalar(alpha, 16).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).address(c).leading(ldc, m).submit();
}
int32_t cublasZtrmv_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t diagonal, int32_t n, uint64_t a, int32_t lda, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasZtrmv_v2", 0x2233451f).number(fill).number(transpose).number(diagonal).count(n).address(a).leading(lda, n).address(x).increment(incx).submit();
}
int32_t cublasZtrsmBatched(uint64_t handle, int32_t side, int32_t fill, int32_t transpose, int32_t diagonal, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb, int32_t batch) {
  return BlasCall(handle, "cublasZtrsmBatched", 0x4c4400d6).number(side).number(fill).number(transpose).number(diagonal).count(m).count(n).scalar(alpha, 16).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).number(batch).submit();
}
int32_t cublasZtrsm_v2(uint64_t handle, int32_t side, int32_t fill, int32_t transpose, int32_t diagonal, int32_t m, int32_t n, const void* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb) {
  return BlasCall(handle, "cublasZtrsm_v2", 0x73819cd2).number(side).number(fill).number(transpose).number(diagonal).count(m).count(n).scalar(alpha, 16).address(a).leading(lda, side ? n : m).address(b).leading(ldb, m).submit();
}
int32_t cublasZtrsv_v2(uint64_t handle, int32_t fill, int32_t transpose, int32_t diagonal, int32_t n, uint64_t a, int32_t lda, uint64_t x, int32_t incx) {
  return BlasCall(handle, "cublasZtrsv_v2", 0x6bae71f9).number(fill).number(transpose).number(diagonal).count(n).address(a).leading(lda, n).address(x).increment(incx).submit();
}

}  // namespace jitc::api::forward
