// Host scalars of the types that NCCL and cuBLAS take, as double.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace jitc::api {

inline double half_to_double(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
  return sign * std::ldexp(mantissa + 1024, exponent - 25);
}
inline double bfloat16_to_double(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float out;
  std::memcpy(&out, &wide, sizeof out);
  return out;
}
template <class T>
double read_as(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

}  // namespace jitc::api
