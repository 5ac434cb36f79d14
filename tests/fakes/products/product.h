// D = alpha op(A) op(B) + beta C as the fake cuBLAS libraries compute it: plain loops, sums in double or
// rounded to float after every step. Used by cublas/ and cublaslt/; its numbers by cudnn/ too.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace jitc::fakes {

/// cudaDataType
enum NumberType : int {
  kReal32 = 0,
  kReal64 = 1,
  kReal16 = 2,
  kInt8Type = 3,
  kInt32Type = 10,
  kBrain16 = 14
};

/// 0: not a type that the fakes know.
size_t bytes_of(int type);
double load(int type, const void* from, int64_t index = 0);
void store(int type, void* to, int64_t index, double value);

/// A matrix as it is stored: by columns, or by rows.
struct Matrix {
  uint64_t address = 0;
  int type = kReal32;
  int64_t rows = 0, columns = 0, leading = 0, stride = 0;
  bool by_rows = false, transposed = false;

  int64_t index(int64_t row, int64_t column) const;
  int64_t logical_rows() const { return transposed ? columns : rows; }
  int64_t logical_columns() const { return transposed ? rows : columns; }
  /// Bytes from the first to the last element.
  size_t extent() const;
  bool good() const;
};

/// alpha or beta: its value, or the device address where work finds it.
struct Scalar {
  int type = kReal32;
  double value = 0;
  uint64_t address = 0;
  double now() const;
};

struct Product {
  Matrix a, b, c, d;
  Scalar alpha, beta;
  int64_t batch = 1;
  bool in_double = false;
  bool backwards = false;  // the sum from its last element: other rounding
  /// The address of a matrix of the batch; empty: stride by stride.
  std::function<uint64_t(const Matrix& matrix, int which, int64_t item)> place = {};
  /// What becomes of an element before it is stored.
  std::function<double(double value, int64_t row, int64_t column, int64_t item)> finish = {};

  /// False: sizes or types do not fit together.
  bool good() const;
  /// On a stream.
  void compute() const;

 private:
  void compute_item(int64_t item) const;
  double sum(const std::byte* left, const std::byte* right, int64_t row, int64_t column) const;
};

}  // namespace jitc::fakes
