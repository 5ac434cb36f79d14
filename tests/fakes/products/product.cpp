// See product.h.
#include "product.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "../over_driver/numbers.h"
#include "../over_driver/stream_work.h"

namespace jitc::fakes {
namespace {
template <class T>
T at(const void* from, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(from) + index * static_cast<int64_t>(sizeof(T)),
              sizeof value);
  return value;
}

template <class T>
void put(void* to, int64_t index, T value) {
  std::memcpy(static_cast<std::byte*>(to) + index * static_cast<int64_t>(sizeof(T)), &value, sizeof value);
}

/// JITC_FAKE_NOISE=1: each sum begins somewhere else, as those of kernels with split-K and atomics do.
int64_t beginning(int64_t count) {
  static const bool noise = std::getenv("JITC_FAKE_NOISE") != nullptr;
  thread_local std::minstd_rand numbers(std::random_device{}());
  return noise && count ? static_cast<int64_t>(numbers()) % count : 0;
}
}  // namespace

size_t bytes_of(int type) {
  switch (type) {
    case kReal32:
    case kInt32Type:
      return 4;
    case kReal64:
      return 8;
    case kReal16:
    case kBrain16:
      return 2;
    case kInt8Type:
      return 1;
    default:
      return 0;
  }
}

double load(int type, const void* from, int64_t index) {
  switch (type) {
    case kReal32:
      return at<float>(from, index);
    case kReal64:
      return at<double>(from, index);
    case kReal16:
      return static_cast<float>(at<Half>(from, index));
    case kBrain16:
      return static_cast<float>(at<Bfloat16>(from, index));
    case kInt8Type:
      return at<int8_t>(from, index);
    default:
      return at<int32_t>(from, index);
  }
}

void store(int type, void* to, int64_t index, double value) {
  switch (type) {
    case kReal32:
      return put(to, index, static_cast<float>(value));
    case kReal64:
      return put(to, index, value);
    case kReal16:
      return put(to, index, Half(static_cast<float>(value)));
    case kBrain16:
      return put(to, index, Bfloat16(static_cast<float>(value)));
    case kInt8Type:
      return put(to, index, static_cast<int8_t>(std::clamp(value, -128.0, 127.0)));
    default:
      return put(to, index, static_cast<int32_t>(value));
  }
}

int64_t Matrix::index(int64_t row, int64_t column) const {
  if (transposed) std::swap(row, column);
  return by_rows ? row * leading + column : row + column * leading;
}

size_t Matrix::extent() const {
  if (!rows || !columns) return 0;
  const int64_t lines = by_rows ? rows : columns, line = by_rows ? columns : rows;
  return static_cast<size_t>((lines - 1) * leading + line) * bytes_of(type);
}

bool Matrix::good() const {
  const int64_t line = by_rows ? columns : rows;
  return rows >= 0 && columns >= 0 && leading >= std::max<int64_t>(line, 1) && bytes_of(type) != 0;
}

double Scalar::now() const { return address ? load(type, touch(address, bytes_of(type))) : value; }

bool Product::good() const {
  return a.good() && b.good() && c.good() && d.good() && batch >= 0 &&
         a.logical_columns() == b.logical_rows() && a.logical_rows() == d.rows &&
         b.logical_columns() == d.columns && c.rows == d.rows && c.columns == d.columns;
}

double Product::sum(const std::byte* left, const std::byte* right, int64_t row, int64_t column) const {
  const int64_t count = a.logical_columns();
  const int64_t first = beginning(count);
  double total = 0;
  for (int64_t step = 0; step < count; ++step) {
    const int64_t at = (first + step) % count;
    const int64_t each = backwards ? count - 1 - at : at;
    total += load(a.type, left, a.index(row, each)) * load(b.type, right, b.index(each, column));
    if (!in_double) total = static_cast<float>(total);
  }
  return total;
}

/// As BLAS has it, C is not read where beta is zero, and A and B not where alpha is.
void Product::compute_item(int64_t item) const {
  const auto start = [&](const Matrix& matrix, int which) {
    const uint64_t stride = static_cast<uint64_t>(item * matrix.stride) * bytes_of(matrix.type);
    return touch(place ? place(matrix, which, item) : matrix.address + stride, matrix.extent());
  };
  const double by = alpha.now(), kept = beta.now();
  const std::byte* const left = by == 0 ? nullptr : start(a, 0);
  const std::byte* const right = by == 0 ? nullptr : start(b, 1);
  const std::byte* const old = kept == 0 ? nullptr : start(c, 2);
  std::byte* const out = start(d, 3);
  for (int64_t column = 0; column < d.columns; ++column)
    for (int64_t row = 0; row < d.rows; ++row) {
      double value = by == 0 ? 0 : by * sum(left, right, row, column);
      if (kept != 0) value += kept * load(c.type, old, c.index(row, column));
      if (!in_double) value = static_cast<float>(value);
      if (finish) value = finish(value, row, column, item);
      store(d.type, out, d.index(row, column), value);
    }
}

void Product::compute() const {
  if (d.rows == 0 || d.columns == 0) return;
  for (int64_t item = 0; item < batch; ++item) compute_item(item);
}

}  // namespace jitc::fakes
