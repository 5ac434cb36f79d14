// Matmul without the operator library: three plain loops with float (fp64: double) sums.
//
// For machines without PyTorch and as the reference in tests. Column major, as cuBLAS: element (row, column)
// of a matrix with leading dimension ld lies at column * ld + row.
#include <cmath>
#include <cstring>

#include "device/software/arithmetic/half.h"
#include "device/software/errors/error.h"
#include "device/software/memory/copy.h"
#include "operators.h"

namespace jitc::software {
namespace {
// cudaDataType_t
enum Type : uint32_t { kFloat = 0, kDouble = 1, kHalf = 2, kBFloat = 14 };
// cublasLtEpilogue_t
enum Epilogue : uint32_t { kDefault = 1, kRelu = 2, kBias = 4, kReluBias = 6, kGelu = 32, kGeluBias = 36 };

uint64_t width(uint32_t type) {
  switch (type) {
    case kFloat:
      return 4;
    case kDouble:
      return 8;
    case kHalf:
    case kBFloat:
      return 2;
    default:
      refuse(kNotSupported, "not-supported", "data type " + std::to_string(type) + " in a matrix product");
  }
}

template <class T>
T at(const std::byte* base, uint64_t index) {
  T value;
  std::memcpy(&value, base + index * sizeof(T), sizeof(T));
  return value;
}

double load(uint32_t type, const std::byte* base, uint64_t index) {
  switch (type) {
    case kFloat:
      return at<float>(base, index);
    case kDouble:
      return at<double>(base, index);
    case kHalf:
      return to_float(at<Half>(base, index));
    default:
      return to_float(at<BFloat>(base, index));
  }
}

template <class T>
void put(std::byte* base, uint64_t index, T value) {
  std::memcpy(base + index * sizeof(T), &value, sizeof(T));
}

void store(uint32_t type, std::byte* base, uint64_t index, double value) {
  switch (type) {
    case kFloat:
      return put(base, index, static_cast<float>(value));
    case kDouble:
      return put(base, index, value);
    case kHalf:
      return put(base, index, to_half(static_cast<float>(value)));
    default:
      return put(base, index, to_bfloat(static_cast<float>(value)));
  }
}

struct Matrix {
  uint32_t type = kFloat;
  std::byte* data = nullptr;
  uint64_t ld = 0, stride = 0;
  bool transposed = false;
  double get(int64_t batch, int64_t row, int64_t column) const {
    if (transposed) std::swap(row, column);
    return load(type, data,
                static_cast<uint64_t>(batch) * stride + static_cast<uint64_t>(column) * ld +
                    static_cast<uint64_t>(row));
  }
};

struct Shape {
  int64_t rows, columns, ld, stride;
};

/// Checks the matrix in its memory layout (before transposition) and locates it.
Matrix matrix(const Memory& memory, const ops::Matmul& op, const char* name, uint64_t address, uint32_t type,
              Shape shape, uint32_t transpose) {
  if (transpose > 2) refuse_value(std::string("transposition of ") + name);
  if (transpose) std::swap(shape.rows, shape.columns);
  if (shape.ld < shape.rows || shape.stride < 0)
    refuse_value(std::string("leading dimension or stride of ") + name + " is too small");
  Matrix result{type, nullptr, static_cast<uint64_t>(shape.ld), static_cast<uint64_t>(shape.stride),
                transpose != 0};
  const uint64_t item = width(type);
  if (shape.rows == 0 || shape.columns == 0) return result;
  uint64_t columns = 0, batches = 0, items = 0, bytes = 0;
  const bool overflow =
      __builtin_mul_overflow(static_cast<uint64_t>(shape.columns - 1), result.ld, &columns) ||
      __builtin_mul_overflow(static_cast<uint64_t>(op.batch - 1), result.stride, &batches) ||
      __builtin_add_overflow(columns, batches, &items) ||
      __builtin_add_overflow(items, static_cast<uint64_t>(shape.rows), &items) ||
      __builtin_mul_overflow(items, item, &bytes);
  if (overflow) refuse_value(std::string("size of ") + name + " overflows");
  result.data = operand(memory, op.header, name, address, bytes);
  return result;
}

double scalar(const Memory& memory, const ops::Matmul& op, const char* name, uint64_t address, double value) {
  if (address == 0) return value;
  const uint64_t bytes = width(op.scale_type);
  return load(op.scale_type, operand(memory, op.header, name, address, bytes), 0);
}

double activation(uint32_t epilogue, double value) {
  if (epilogue & kRelu) return value > 0 ? value : 0;
  if (epilogue & kGelu)
    return 0.5 * value * (1 + std::tanh(0.7978845608028654 * (value + 0.044715 * value * value * value)));
  return value;
}

void check(const ops::Matmul& op) {
  constexpr int64_t kLimit = int64_t{1} << 40;
  for (const int64_t size : {op.m, op.n, op.k})
    if (size < 0 || size > kLimit) refuse_value("a matrix dimension is negative or too large");
  if (op.batch < 1 || (op.batch > 1 && op.stride_d == 0)) refuse_value("batch count or stride of D");
  switch (op.epilogue) {
    case 0:
    case kDefault:
    case kRelu:
    case kBias:
    case kReluBias:
    case kGelu:
    case kGeluBias:
      return;
    default:
      refuse(kNotSupported, "not-supported",
             "epilogue " + std::to_string(op.epilogue) + " of a matrix product");
  }
}

template <class Sum>
Sum dot(const Matrix& a, const Matrix& b, int64_t batch, int64_t row, int64_t column, int64_t k) {
  Sum sum = 0;
  for (int64_t i = 0; i < k; ++i)
    sum += static_cast<Sum>(a.get(batch, row, i)) * static_cast<Sum>(b.get(batch, i, column));
  return sum;
}
}  // namespace

void plain_matmul(const Memory& memory, const ops::Matmul& op) {
  check(op);
  if (op.m == 0 || op.n == 0) return;
  const double alpha = scalar(memory, op, "alpha", op.alpha_address, op.alpha);
  const double beta = scalar(memory, op, "beta", op.beta_address, op.beta);
  const Matrix a =
      matrix(memory, op, "A", op.a, op.type_a, {op.m, op.k, op.lda, op.stride_a}, op.transpose_a);
  const Matrix b =
      matrix(memory, op, "B", op.b, op.type_b, {op.k, op.n, op.ldb, op.stride_b}, op.transpose_b);
  const Matrix d = matrix(memory, op, "D", op.d, op.type_d, {op.m, op.n, op.ldd, op.stride_d}, 0);
  Matrix c;
  if (beta != 0) c = matrix(memory, op, "C", op.c, op.type_c, {op.m, op.n, op.ldc, op.stride_c}, 0);
  const std::byte* bias = nullptr;
  if (op.epilogue & kBias)
    bias = operand(memory, op.header, "bias", op.bias, width(op.type_bias) * static_cast<uint64_t>(op.m));
  for (int64_t batch = 0; batch < op.batch; ++batch)
    for (int64_t column = 0; column < op.n; ++column)
      for (int64_t row = 0; row < op.m; ++row) {
        double value = op.type_a == kDouble ? dot<double>(a, b, batch, row, column, op.k)
                                            : dot<float>(a, b, batch, row, column, op.k);
        value *= alpha;
        if (beta != 0) value += beta * c.get(batch, row, column);
        if (bias) value += load(op.type_bias, bias, static_cast<uint64_t>(row));
        store(d.type, d.data,
              static_cast<uint64_t>(batch) * d.stride + static_cast<uint64_t>(column) * d.ld +
                  static_cast<uint64_t>(row),
              activation(op.epilogue, value));
      }
}

}  // namespace jitc::software
