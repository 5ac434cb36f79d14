// The matrix products of the fake cuBLAS: one description, filled by every form of gemm.
#include <cstring>
#include <utility>

#include "../over_driver/stream_work.h"
#include "functions.h"
#include "handle.h"

namespace jitc::fakes {
namespace {
enum Compute { kCompute16 = 64, kCompute32 = 68, kCompute64 = 70, kComputeInt = 72 };

/// A matrix argument: where it is, how it is stored.
struct Argument {
  const void* address;
  int type, leading;
  long long stride = 0;
};

struct Gemm {
  int transpose_a, transpose_b, m, n, k;
  const void *alpha, *beta;
  Argument a, b, c;
  int compute = kCompute32;
  int batch = 1;
  bool pointers = false;  // the addresses are those of arrays of addresses on the device
};

/// The type of alpha and beta, from the documentation of cublasGemmEx.
int scalar_type(const Gemm& gemm) {
  if (gemm.compute < kCompute32) return kReal16;
  if (gemm.compute == kCompute64 || gemm.compute == kCompute64 + 1) return kReal64;
  return gemm.compute == kComputeInt || gemm.compute == kComputeInt + 1 ? int{kInt32Type} : int{kReal32};
}

Matrix matrix(const Argument& argument, int rows, int columns, int transpose) {
  if (transpose < 0 || transpose > 2) throw BlasFailure{kBlasInvalidValue};
  Matrix out{reinterpret_cast<uint64_t>(argument.address),
             argument.type,
             rows,
             columns,
             argument.leading,
             argument.stride,
             false,
             transpose != 0};
  if (out.transposed) std::swap(out.rows, out.columns);
  return out;
}

/// The address in an array of addresses on the device.
uint64_t from_array(const Matrix& matrix, int, int64_t item) {
  uint64_t address;
  std::memcpy(&address, touch(matrix.address + static_cast<uint64_t>(item) * 8, 8), sizeof address);
  return address;
}

void note(CallLine& line, const Gemm& gemm) {
  const int shape[] = {gemm.transpose_a, gemm.transpose_b, gemm.m, gemm.n, gemm.k, gemm.batch, gemm.compute};
  line.add(Field::bytes("shape", shape, sizeof shape));
  const auto add = [&](const char* name, const Argument& one) {
    const long long words[] = {static_cast<long long>(reinterpret_cast<uint64_t>(one.address)), one.type,
                               one.leading, one.stride};
    line.add(Field::bytes(name, words, sizeof words));
  };
  add("a", gemm.a), add("b", gemm.b), add("c", gemm.c);
}

int run(const char* name, void* handle, const Gemm& gemm) {
  return blas_call(name, {Field::address("handle", handle)}, [&](CallLine& line) {
    const BlasHandle one = handle_of(handle);
    note_state(line, one);
    note(line, gemm);
    Product product;
    product.alpha = scalar(line, "alpha", one, scalar_type(gemm), gemm.alpha);
    product.beta = scalar(line, "beta", one, scalar_type(gemm), gemm.beta);
    product.a = matrix(gemm.a, gemm.m, gemm.k, gemm.transpose_a);
    product.b = matrix(gemm.b, gemm.k, gemm.n, gemm.transpose_b);
    product.c = product.d = matrix(gemm.c, gemm.m, gemm.n, 0);
    product.batch = gemm.batch;
    product.in_double = scalar_type(gemm) == kReal64;
    if (gemm.pointers) product.place = from_array;
    if (!bytes_of(gemm.a.type) || !bytes_of(gemm.b.type) || !bytes_of(gemm.c.type))
      throw BlasFailure{kBlasNotSupported};
    if (!product.good()) throw BlasFailure{kBlasInvalidValue};
    submit(one, [product] { product.compute(); });
  });
}
}  // namespace

#define JITC_GEMM(letter, type, computes)                                                                 \
  int cublas##letter(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, \
                     int lda, const void* b, int ldb, const void* beta, void* c, int ldc) {               \
    return run("cublas" #letter, handle,                                                                  \
               {ta, tb, m, n, k, alpha, beta, {a, type, lda}, {b, type, ldb}, {c, type, ldc}, computes}); \
  }
JITC_GEMM(Sgemm_v2, kReal32, kCompute32)
JITC_GEMM(Dgemm_v2, kReal64, kCompute64)
JITC_GEMM(Hgemm, kReal16, kCompute16)

#define JITC_STRIDED(letter, type, computes)                                                                 \
  int cublas##letter(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a,    \
                     int lda, long long sa, const void* b, int ldb, long long sb, const void* beta, void* c, \
                     int ldc, long long sc, int batch) {                                                     \
    return run("cublas" #letter, handle,                                                                     \
               {ta,                                                                                          \
                tb,                                                                                          \
                m,                                                                                           \
                n,                                                                                           \
                k,                                                                                           \
                alpha,                                                                                       \
                beta,                                                                                        \
                {a, type, lda, sa},                                                                          \
                {b, type, ldb, sb},                                                                          \
                {c, type, ldc, sc},                                                                          \
                computes,                                                                                    \
                batch});                                                                                     \
  }
JITC_STRIDED(SgemmStridedBatched, kReal32, kCompute32)
JITC_STRIDED(DgemmStridedBatched, kReal64, kCompute64)
JITC_STRIDED(HgemmStridedBatched, kReal16, kCompute16)

#define JITC_BATCHED(letter, type, computes)                                                                 \
  int cublas##letter(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a,    \
                     int lda, const void* b, int ldb, const void* beta, const void* c, int ldc, int batch) { \
    return run("cublas" #letter, handle,                                                                     \
               {ta,                                                                                          \
                tb,                                                                                          \
                m,                                                                                           \
                n,                                                                                           \
                k,                                                                                           \
                alpha,                                                                                       \
                beta,                                                                                        \
                {a, type, lda},                                                                              \
                {b, type, ldb},                                                                              \
                {c, type, ldc},                                                                              \
                computes,                                                                                    \
                batch,                                                                                       \
                true});                                                                                      \
  }
JITC_BATCHED(SgemmBatched, kReal32, kCompute32)
JITC_BATCHED(DgemmBatched, kReal64, kCompute64)

int cublasSgemmEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a,
                  int type_a, int lda, const void* b, int type_b, int ldb, const void* beta, void* c,
                  int type_c, int ldc) {
  return run(
      "cublasSgemmEx", handle,
      {ta, tb, m, n, k, alpha, beta, {a, type_a, lda}, {b, type_b, ldb}, {c, type_c, ldc}, kCompute32});
}

int cublasGemmEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a,
                 int type_a, int lda, const void* b, int type_b, int ldb, const void* beta, void* c,
                 int type_c, int ldc, int compute, int) {
  return run("cublasGemmEx", handle,
             {ta, tb, m, n, k, alpha, beta, {a, type_a, lda}, {b, type_b, ldb}, {c, type_c, ldc}, compute});
}

int cublasGemmStridedBatchedEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha,
                               const void* a, int type_a, int lda, long long sa, const void* b, int type_b,
                               int ldb, long long sb, const void* beta, void* c, int type_c, int ldc,
                               long long sc, int batch, int compute, int) {
  return run("cublasGemmStridedBatchedEx", handle,
             {ta,
              tb,
              m,
              n,
              k,
              alpha,
              beta,
              {a, type_a, lda, sa},
              {b, type_b, ldb, sb},
              {c, type_c, ldc, sc},
              compute,
              batch});
}

int cublasGemmBatchedEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a,
                        int type_a, int lda, const void* b, int type_b, int ldb, const void* beta,
                        const void* c, int type_c, int ldc, int batch, int compute, int) {
  return run("cublasGemmBatchedEx", handle,
             {ta,
              tb,
              m,
              n,
              k,
              alpha,
              beta,
              {a, type_a, lda},
              {b, type_b, ldb},
              {c, type_c, ldc},
              compute,
              batch,
              true});
}

}  // namespace jitc::fakes
