#include "tolerance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "jitc/element_type.h"

namespace jitc {
namespace {
constexpr double kInfinite = std::numeric_limits<double>::infinity();
using Bytes = std::span<const std::byte>;

template <class T>
T at(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

double half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31) return fraction ? std::nan("") : sign * kInfinite;
  return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}

float bfloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  return at<float>(reinterpret_cast<const std::byte*>(&wide));
}

size_t width(uint32_t element) {
  switch (element) {
    case JITC_ELEMENT_F16:
    case JITC_ELEMENT_BF16:
      return 2;
    case JITC_ELEMENT_F32:
      return 4;
    case JITC_ELEMENT_F64:
      return 8;
    default:
      return 0;
  }
}

double value(uint32_t element, const std::byte* from) {
  switch (element) {
    case JITC_ELEMENT_F16:
      return half(at<uint16_t>(from));
    case JITC_ELEMENT_BF16:
      return bfloat(at<uint16_t>(from));
    case JITC_ELEMENT_F32:
      return at<float>(from);
    default:
      return at<double>(from);
  }
}

/// Returns the distance of two elements; those that are no finite numbers are equal or infinitely far apart.
double distance(double one, double other) {
  if (std::isfinite(one) && std::isfinite(other)) return std::fabs(one - other);
  const bool same = one == other || (std::isnan(one) && std::isnan(other));
  return same ? 0 : kInfinite;
}

}  // namespace

double relative_difference(uint32_t element, Bytes had, Bytes now) {
  const size_t step = width(element);
  if (!step || had.size() != now.size() || had.size() % step) return kInfinite;
  double largest = 0, scale = 0;
  for (size_t i = 0; i < had.size(); i += step) {
    const double one = value(element, had.data() + i);
    if (std::isfinite(one)) scale = std::max(scale, std::fabs(one));
    largest = std::max(largest, distance(one, value(element, now.data() + i)));
  }
  if (largest == 0) return 0;
  return scale == 0 ? kInfinite : largest / scale;
}

void Tolerance::begin(double bound) {
  const std::lock_guard lock(mutex_);
  bound_ = bound;
  seen_ = {};
}

bool Tolerance::bears(double difference) {
  const std::lock_guard lock(mutex_);
  if (!(difference <= bound_) || bound_ == 0) return false;
  ++seen_.results;
  seen_.largest = std::max(seen_.largest, difference);
  return true;
}

double Tolerance::bound() const {
  const std::lock_guard lock(mutex_);
  return bound_;
}

Tolerance::Seen Tolerance::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

}  // namespace jitc
