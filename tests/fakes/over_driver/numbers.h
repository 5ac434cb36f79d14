// Numbers of 16 bits as float and back, rounded to nearest even as GPUs do. Used by the fake NCCL and cuBLAS.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace jitc::fakes {

/// IEEE half precision.
struct Half {
  uint16_t bits;

  Half() = default;
  explicit Half(float value) : bits(from(value)) {}
  explicit operator float() const {
    const uint32_t sign = uint32_t{bits & 0x8000u} << 16, exponent = (bits >> 10) & 31,
                   fraction = bits & 1023;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13);
    if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float small = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -small : small;
  }

 private:
  static uint16_t from(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value), sign = (word >> 16) & 0x8000u;
    const float size = std::fabs(value);
    if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7E00u);
    if (size >= 65520.0f) return static_cast<uint16_t>(sign | 0x7C00u);
    if (size < 0x1p-14f)
      return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(size * 0x1p24f)));
    const uint32_t kept = (word & 0x7FFFFFFFu) - (112u << 23);
    return static_cast<uint16_t>(sign | ((kept + 0xFFFu + ((kept >> 13) & 1u)) >> 13));
  }
};

/// The upper half of a float.
struct Bfloat16 {
  uint16_t bits;

  Bfloat16() = default;
  explicit Bfloat16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    bits = std::isnan(value) ? uint16_t{0x7FFF}
                             : static_cast<uint16_t>((word + 0x7FFFu + ((word >> 16) & 1u)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

}  // namespace jitc::fakes
