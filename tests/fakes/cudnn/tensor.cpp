// See tensor.h.
#include "tensor.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "../over_driver/stream_work.h"
#include "../products/product.h"
#include "call.h"

namespace jitc::fakes {
namespace {
/// cudnnDataType_t -> cudaDataType; -1: unknown.
int number_type(int type) {
  switch (type) {
    case kDnnFloat:
      return kReal32;
    case kDnnDouble:
      return kReal64;
    case kDnnHalf:
      return kReal16;
    case kDnnInt8:
      return kInt8Type;
    case kDnnInt32:
      return kInt32Type;
    case kDnnBrain:
      return kBrain16;
    default:
      return -1;
  }
}

/// Calls visit(where an element lies, in elements) in row-major order.
template <class Visit>
void walk(const Shape& shape, Visit&& visit) {
  std::vector<int64_t> index(shape.dims.size(), 0);
  int64_t at = 0;
  for (size_t left = shape.count(); left; --left) {
    visit(at);
    for (size_t axis = index.size(); axis-- > 0;) {
      at += shape.strides[axis];
      if (++index[axis] < shape.dims[axis]) break;
      at -= shape.strides[axis] * index[axis];
      index[axis] = 0;
    }
  }
}
}  // namespace

size_t width_of(int type) { return bytes_of(number_type(type)); }

size_t Shape::count() const {
  return static_cast<size_t>(std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()));
}

size_t Shape::bytes() const {
  int64_t last = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) last += (dims[axis] - 1) * strides[axis];
  return static_cast<size_t>(last + 1) * width_of(type);
}

void Shape::check() const {
  require(width_of(type) != 0, "a data type that is not supported", kDnnNotSupported);
  require(!dims.empty() && dims.size() <= kMostDims && dims.size() == strides.size(), "wrong dimensions");
  require(std::ranges::all_of(dims, [](int64_t each) { return each > 0; }), "an empty dimension");
  require(std::ranges::all_of(strides, [](int64_t each) { return each >= 0; }), "a negative stride");
  int64_t all = 1;
  for (const int64_t each : dims) {
    require(each <= kMostElements && all * each <= kMostElements, "too many elements", kDnnNotSupported);
    all *= each;
  }
  require(std::ranges::all_of(strides, [](int64_t each) { return each <= kMostStep; }), "a stride too wide",
          kDnnNotSupported);
}

Shape packed(int type, std::vector<int64_t> dims) {
  Shape shape{type, dims, dims};
  int64_t step = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    shape.strides[axis] = step;
    step *= std::clamp(dims[axis], int64_t{1}, kMostStep / step);  // check() refuses what is not within
  }
  return shape;
}

Blend blend_of(const Shape& shape, const void* alpha, const void* beta) {
  const int type = shape.in_double() ? kReal64 : kReal32;
  return {load(type, given(alpha)), load(type, given(beta))};
}

Numbers read_all(const Shape& shape, const std::byte* from) {
  Numbers values;
  values.reserve(shape.count());
  walk(shape, [&, type = number_type(shape.type)](int64_t at) { values.push_back(load(type, from, at)); });
  return values;
}

/// As with cuDNN, what is there is not read where beta is zero.
void write_all(const Shape& shape, std::byte* to, std::span<const double> values, Blend blend) {
  auto next = values.begin();
  walk(shape, [&, type = number_type(shape.type)](int64_t at) {
    double value = rounded(blend.alpha * *next++, shape.in_double());
    if (blend.beta != 0) value = rounded(value + blend.beta * load(type, to, at), shape.in_double());
    store(type, to, at, value);
  });
}

Numbers read_at(const Shape& shape, uint64_t address) {
  return read_all(shape, touch(address, shape.bytes()));
}

void write_at(const Shape& shape, uint64_t address, std::span<const double> values, Blend blend) {
  write_all(shape, touch(address, shape.bytes()), values, blend);
}

}  // namespace jitc::fakes
