// The vector functions of the fake cuBLAS. Steps are positive; a result goes where the pointer mode says.
#include <cmath>

#include "../over_driver/stream_work.h"
#include "functions.h"
#include "handle.h"

namespace jitc::fakes {
namespace {
struct Vector {
  const void* address;
  int type, count, step;

  size_t extent() const {
    return count ? (static_cast<size_t>(count - 1) * static_cast<size_t>(step) + 1) * bytes_of(type) : 0;
  }
  std::byte* content() const { return touch(reinterpret_cast<uint64_t>(address), extent()); }
  double at(const std::byte* content, int64_t index) const { return load(type, content, index * step); }
};

void check(const Vector& vector) {
  if (vector.step < 1) throw BlasFailure{kBlasNotSupported};
  if (vector.count < 0 || !bytes_of(vector.type)) throw BlasFailure{kBlasInvalidValue};
}

double rounded(double value, int type) { return type == kReal64 ? value : static_cast<float>(value); }

/// A vector as a matrix of one column, whose elements lie `step` apart.
Matrix as_matrix(const Vector& vector) {
  return {
      reinterpret_cast<uint64_t>(vector.address), vector.type, vector.count, 1, vector.step, 0, true, false};
}

int gemv(const char* name, void* handle, int transpose, int m, int n, const void* alpha, int type,
         const void* a, int lda, const void* x, int step_x, const void* beta, void* y, int step_y) {
  return blas_call(name, {Field::address("handle", handle)}, [&](CallLine& line) {
    const BlasHandle one = handle_of(handle);
    note_state(line, one);
    const Vector in{x, type, transpose ? m : n, step_x}, out{y, type, transpose ? n : m, step_y};
    check(in), check(out);
    Product product;
    product.alpha = scalar(line, "alpha", one, type, alpha);
    product.beta = scalar(line, "beta", one, type, beta);
    product.a = {reinterpret_cast<uint64_t>(a), type, m, n, lda, 0, false, transpose != 0};
    product.b = as_matrix(in);
    product.c = product.d = as_matrix(out);
    product.in_double = type == kReal64;
    if (!product.good()) throw BlasFailure{kBlasInvalidValue};
    submit(one, [product] { product.compute(); });
  });
}

int dot(const char* name, void* handle, const Vector& x, const Vector& y, void* result, int type) {
  return blas_call(name, {Field::address("handle", handle), Field::address("result", result)},
                   [&](CallLine& line) {
                     const BlasHandle one = handle_of(handle);
                     note_state(line, one);
                     check(x), check(y);
                     submit_result(one, type, result, [x, y, type] {
                       const std::byte *left = x.content(), *right = y.content();
                       double total = 0;
                       for (int each = 0; each < x.count; ++each)
                         total = rounded(total + x.at(left, each) * y.at(right, each), type);
                       return total;
                     });
                   });
}

int norm(const char* name, void* handle, const Vector& x, void* result) {
  return blas_call(name, {Field::address("handle", handle), Field::address("result", result)},
                   [&](CallLine& line) {
                     const BlasHandle one = handle_of(handle);
                     note_state(line, one);
                     check(x);
                     submit_result(one, x.type, result, [x] {
                       const std::byte* content = x.content();
                       double total = 0;
                       for (int each = 0; each < x.count; ++each)
                         total += x.at(content, each) * x.at(content, each);
                       return std::sqrt(total);
                     });
                   });
}

/// y = alpha x + y, or y = alpha y without an x.
int scaled(const char* name, void* handle, const void* alpha, const Vector* x, const Vector& y) {
  return blas_call(
      name, {Field::address("handle", handle), Field::address("y", y.address)}, [&](CallLine& line) {
        const BlasHandle one = handle_of(handle);
        note_state(line, one);
        const Vector from = x ? *x : y;
        check(from), check(y);
        const Scalar by = scalar(line, "alpha", one, y.type, alpha);
        submit(one, [by, from, y, adds = x != nullptr] {
          const double value = by.now();
          const std::byte* in = from.content();
          std::byte* out = y.content();
          for (int64_t each = 0; each < y.count; ++each)
            store(y.type, out, each * y.step, value * from.at(in, each) + (adds ? y.at(out, each) : 0));
        });
      });
}
}  // namespace

int cublasSgemv_v2(void* handle, int transpose, int m, int n, const void* alpha, const void* a, int lda,
                   const void* x, int step_x, const void* beta, void* y, int step_y) {
  return gemv("cublasSgemv_v2", handle, transpose, m, n, alpha, kReal32, a, lda, x, step_x, beta, y, step_y);
}
int cublasDgemv_v2(void* handle, int transpose, int m, int n, const void* alpha, const void* a, int lda,
                   const void* x, int step_x, const void* beta, void* y, int step_y) {
  return gemv("cublasDgemv_v2", handle, transpose, m, n, alpha, kReal64, a, lda, x, step_x, beta, y, step_y);
}
int cublasSdot_v2(void* handle, int n, const void* x, int step_x, const void* y, int step_y, void* result) {
  return dot("cublasSdot_v2", handle, {x, kReal32, n, step_x}, {y, kReal32, n, step_y}, result, kReal32);
}
int cublasDdot_v2(void* handle, int n, const void* x, int step_x, const void* y, int step_y, void* result) {
  return dot("cublasDdot_v2", handle, {x, kReal64, n, step_x}, {y, kReal64, n, step_y}, result, kReal64);
}
int cublasDotEx(void* handle, int n, const void* x, int type_x, int step_x, const void* y, int type_y,
                int step_y, void* result, int type_result, int) {
  return dot("cublasDotEx", handle, {x, type_x, n, step_x}, {y, type_y, n, step_y}, result, type_result);
}
int cublasSaxpy_v2(void* handle, int n, const void* alpha, const void* x, int step_x, void* y, int step_y) {
  const Vector from{x, kReal32, n, step_x};
  return scaled("cublasSaxpy_v2", handle, alpha, &from, {y, kReal32, n, step_y});
}
int cublasDaxpy_v2(void* handle, int n, const void* alpha, const void* x, int step_x, void* y, int step_y) {
  const Vector from{x, kReal64, n, step_x};
  return scaled("cublasDaxpy_v2", handle, alpha, &from, {y, kReal64, n, step_y});
}
int cublasSscal_v2(void* handle, int n, const void* alpha, void* x, int step) {
  return scaled("cublasSscal_v2", handle, alpha, nullptr, {x, kReal32, n, step});
}
int cublasDscal_v2(void* handle, int n, const void* alpha, void* x, int step) {
  return scaled("cublasDscal_v2", handle, alpha, nullptr, {x, kReal64, n, step});
}
int cublasSnrm2_v2(void* handle, int n, const void* x, int step, void* result) {
  return norm("cublasSnrm2_v2", handle, {x, kReal32, n, step}, result);
}
int cublasDnrm2_v2(void* handle, int n, const void* x, int step, void* result) {
  return norm("cublasDnrm2_v2", handle, {x, kReal64, n, step}, result);
}

}  // namespace jitc::fakes
