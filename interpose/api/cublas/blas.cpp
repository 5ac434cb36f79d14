// Products of cuBLAS on the software device: each becomes a matmul op.
//
// Promises: an unsupported call (types, results on the host) is refused with CUBLAS_STATUS_NOT_SUPPORTED and
// one message; a wrong argument never reaches the device.

#include "api/common/scalar.h"
#include "api/generated/generated_api.h"
#include "blas_handle.h"
#include "matmul.h"
#include "session/message.h"

namespace jitc::api {
namespace {

Status refuse_types(const char* what) {
  session::message_once(std::string("cuBLAS: ") + what +
                        " is not served on the software device: use fp32, fp64, fp16 or bf16");
  return kBlasNotSupported;
}

struct Scalars {
  const void *alpha, *beta;
};

Status product(uint64_t handle, ops::Matmul op, uint32_t compute, Scalars scalars) {
  Blas blas;
  StreamRef stream;
  if (const Status status = blas_stream(handle, &blas, &stream)) return status;
  if (!scalars.alpha || !scalars.beta) return kBlasInvalidValue;
  op.compute = compute;
  if (!scale_type_of(compute, &op.scale_type)) return refuse_types("this compute type");
  if (const Status status =
          set_scalars(&op, scalars.alpha, scalars.beta, blas.pointer_mode == kScalarsOnDevice))
    return status;
  return submit_matmul(stream, op);
}

struct Shape {
  int32_t transpose_a, transpose_b, m, n, k;
};
ops::Matmul shaped(const Shape& s, uint64_t a, uint32_t type_a, int64_t lda, uint64_t b, uint32_t type_b,
                   int64_t ldb, uint64_t c, uint32_t type_c, int64_t ldc) {
  ops::Matmul op;
  op.m = s.m, op.n = s.n, op.k = s.k, op.batch = 1;
  op.transpose_a = static_cast<uint32_t>(s.transpose_a),
  op.transpose_b = static_cast<uint32_t>(s.transpose_b);
  op.a = a, op.lda = lda, op.type_a = type_a;
  op.b = b, op.ldb = ldb, op.type_b = type_b;
  op.c = op.d = c, op.ldc = op.ldd = ldc, op.type_c = op.type_d = op.type_bias = type_c;
  op.epilogue = kNoEpilogue;
  return op;
}
ops::Matmul with_batch(ops::Matmul op, int64_t stride_a, int64_t stride_b, int64_t stride_c, int32_t batch) {
  op.batch = batch;
  op.stride_a = stride_a, op.stride_b = stride_b, op.stride_c = op.stride_d = stride_c;
  return op;
}

/// Computes y = alpha * op(A) x + beta * y as a product of one row: y' = alpha * x' op(A)' + beta * y',
/// because only a row can have a distance between its elements.
Status matrix_vector(uint64_t handle, int32_t transpose, int32_t m, int32_t n, Scalars scalars, uint64_t a,
                     int32_t lda, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint32_t type,
                     uint32_t compute) {
  if (incx <= 0 || incy <= 0) return kBlasNotSupported;
  const bool flipped = transpose != 0;
  const Shape shape{0, flipped ? 0 : 1, 1, flipped ? n : m, flipped ? m : n};
  return product(handle, shaped(shape, x, type, incx, a, type, lda, y, type, incy), compute, scalars);
}

Status dot(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy, uint64_t result,
           uint32_t type, uint32_t compute) {
  static const double one64 = 1, zero64 = 0;
  static const float one = 1, zero = 0;
  Blas blas;
  if (!find_blas(handle, &blas)) return kBlasNotInitialized;
  if (incx <= 0 || incy <= 0) return kBlasNotSupported;
  if (blas.pointer_mode != kScalarsOnDevice) {
    session::message_once(
        "cuBLAS: dot with its result on the host is not served: set the pointer mode to device");
    return kBlasNotSupported;
  }
  ops::Matmul op = shaped({0, 1, 1, 1, n}, x, type, incx, y, type, incy, result, type, 1);
  op.compute = compute;
  if (!scale_type_of(compute, &op.scale_type)) return refuse_types("this compute type");
  const bool wide = op.scale_type == kF64;
  const void* alpha = wide ? static_cast<const void*>(&one64) : &one;
  const void* beta = wide ? static_cast<const void*>(&zero64) : &zero;
  if (const Status status = set_scalars(&op, alpha, beta, false)) return status;
  StreamRef stream;
  const Status status = blas_stream(handle, &blas, &stream);
  return status ? status : submit_matmul(stream, op);
}

}  // namespace

int32_t cublasSgemm_v2(uint64_t handle, int32_t ta, int32_t tb, int32_t m, int32_t n, int32_t k,
                       const float* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb,
                       const float* beta, uint64_t c, int32_t ldc) {
  return product(handle, shaped({ta, tb, m, n, k}, a, kF32, lda, b, kF32, ldb, c, kF32, ldc), kCompute32F,
                 {alpha, beta});
}
int32_t cublasDgemm_v2(uint64_t handle, int32_t ta, int32_t tb, int32_t m, int32_t n, int32_t k,
                       const double* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb,
                       const double* beta, uint64_t c, int32_t ldc) {
  return product(handle, shaped({ta, tb, m, n, k}, a, kF64, lda, b, kF64, ldb, c, kF64, ldc), kCompute64F,
                 {alpha, beta});
}
int32_t cublasHgemm(uint64_t handle, int32_t ta, int32_t tb, int32_t m, int32_t n, int32_t k,
                    const uint16_t* alpha, uint64_t a, int32_t lda, uint64_t b, int32_t ldb,
                    const uint16_t* beta, uint64_t c, int32_t ldc) {
  return product(handle, shaped({ta, tb, m, n, k}, a, kF16, lda, b, kF16, ldb, c, kF16, ldc), kCompute16F,
                 {alpha, beta});
}
int32_t cublasSgemmEx(uint64_t handle, int32_t ta, int32_t tb, int32_t m, int32_t n, int32_t k,
                      const float* alpha, uint64_t a, int32_t type_a, int32_t lda, uint64_t b, int32_t type_b,
                      int32_t ldb, const float* beta, uint64_t c, int32_t type_c, int32_t ldc) {
  return cublasGemmEx(handle, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                      kCompute32F, 0);
}
int32_t cublasGemmEx(uint64_t handle, int32_t ta, int32_t tb, int32_t m, int32_t n, int32_t k,
                     const void* alpha, uint64_t a, int32_t type_a, int32_t lda, uint64_t b, int32_t type_b,
                     int32_t ldb, const void* beta, uint64_t c, int32_t type_c, int32_t ldc, int32_t compute,
                     int32_t) {
  return product(handle,
                 shaped({ta, tb, m, n, k}, a, static_cast<uint32_t>(type_a), lda, b,
                        static_cast<uint32_t>(type_b), ldb, c, static_cast<uint32_t>(type_c), ldc),
                 static_cast<uint32_t>(compute), {alpha, beta});
}
int32_t cublasSgemmStridedBatched(uint64_t handle, int32_t ta, int32_t tb, int32_t m, int32_t n, int32_t k,
                                  const float* alpha, uint64_t a, int32_t lda, int64_t stride_a, uint64_t b,
                                  int32_t ldb, int64_t stride_b, const float* beta, uint64_t c, int32_t ldc,
                                  int64_t stride_c, int32_t batch) {
  const auto op = shaped({ta, tb, m, n, k}, a, kF32, lda, b, kF32, ldb, c, kF32, ldc);
  return product(handle, with_batch(op, stride_a, stride_b, stride_c, batch), kCompute32F, {alpha, beta});
}
int32_t cublasDgemmStridedBatched(uint64_t handle, int32_t ta, int32_t tb, int32_t m, int32_t n, int32_t k,
                                  const double* alpha, uint64_t a, int32_t lda, int64_t stride_a, uint64_t b,
                                  int32_t ldb, int64_t stride_b, const double* beta, uint64_t c, int32_t ldc,
                                  int64_t stride_c, int32_t batch) {
  const auto op = shaped({ta, tb, m, n, k}, a, kF64, lda, b, kF64, ldb, c, kF64, ldc);
  return product(handle, with_batch(op, stride_a, stride_b, stride_c, batch), kCompute64F, {alpha, beta});
}
int32_t cublasHgemmStridedBatched(uint64_t handle, int32_t ta, int32_t tb, int32_t m, int32_t n, int32_t k,
                                  const uint16_t* alpha, uint64_t a, int32_t lda, int64_t stride_a,
                                  uint64_t b, int32_t ldb, int64_t stride_b, const uint16_t* beta, uint64_t c,
                                  int32_t ldc, int64_t stride_c, int32_t batch) {
  const auto op = shaped({ta, tb, m, n, k}, a, kF16, lda, b, kF16, ldb, c, kF16, ldc);
  return product(handle, with_batch(op, stride_a, stride_b, stride_c, batch), kCompute16F, {alpha, beta});
}
int32_t cublasGemmStridedBatchedEx(uint64_t handle, int32_t ta, int32_t tb, int32_t m, int32_t n, int32_t k,
                                   const void* alpha, uint64_t a, int32_t type_a, int32_t lda,
                                   int64_t stride_a, uint64_t b, int32_t type_b, int32_t ldb,
                                   int64_t stride_b, const void* beta, uint64_t c, int32_t type_c,
                                   int32_t ldc, int64_t stride_c, int32_t batch, int32_t compute, int32_t) {
  const auto op = shaped({ta, tb, m, n, k}, a, static_cast<uint32_t>(type_a), lda, b,
                         static_cast<uint32_t>(type_b), ldb, c, static_cast<uint32_t>(type_c), ldc);
  return product(handle, with_batch(op, stride_a, stride_b, stride_c, batch), static_cast<uint32_t>(compute),
                 {alpha, beta});
}

int32_t cublasSgemv_v2(uint64_t handle, int32_t transpose, int32_t m, int32_t n, const float* alpha,
                       uint64_t a, int32_t lda, uint64_t x, int32_t incx, const float* beta, uint64_t y,
                       int32_t incy) {
  return matrix_vector(handle, transpose, m, n, {alpha, beta}, a, lda, x, incx, y, incy, kF32, kCompute32F);
}
int32_t cublasDgemv_v2(uint64_t handle, int32_t transpose, int32_t m, int32_t n, const double* alpha,
                       uint64_t a, int32_t lda, uint64_t x, int32_t incx, const double* beta, uint64_t y,
                       int32_t incy) {
  return matrix_vector(handle, transpose, m, n, {alpha, beta}, a, lda, x, incx, y, incy, kF64, kCompute64F);
}
int32_t cublasSdot_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy,
                      float* result) {
  return dot(handle, n, x, incx, y, incy, reinterpret_cast<uint64_t>(result), kF32, kCompute32F);
}
int32_t cublasDdot_v2(uint64_t handle, int32_t n, uint64_t x, int32_t incx, uint64_t y, int32_t incy,
                      double* result) {
  return dot(handle, n, x, incx, y, incy, reinterpret_cast<uint64_t>(result), kF64, kCompute64F);
}
int32_t cublasDotEx(uint64_t handle, int32_t n, uint64_t x, int32_t type_x, int32_t incx, uint64_t y,
                    int32_t type_y, int32_t incy, void* result, int32_t type_result, int32_t type_compute) {
  if (type_x != type_y || type_x != type_result) return refuse_types("dot of mixed types");
  const uint32_t compute = type_compute == kF64 ? kCompute64F : kCompute32F;
  return dot(handle, n, x, incx, y, incy, reinterpret_cast<uint64_t>(result), static_cast<uint32_t>(type_x),
             compute);
}

}  // namespace jitc::api
