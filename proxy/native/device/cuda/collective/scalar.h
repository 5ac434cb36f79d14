// Converts a number to an element of an NCCL data type. Called by: CollectiveCall, for pre-multiplied sums.
#pragma once
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

namespace jitc::cuda {

using Scalar = std::array<std::byte, 8>;

/// Rounds to nearest, ties to even.
inline uint16_t half_of(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (size >= 65520.0) return sign | 0x7c00;
  const int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
  const double steps = std::nearbyint(std::ldexp(size, 10 - exponent));
  return static_cast<uint16_t>(sign | ((exponent + 14) * 1024 + static_cast<int>(steps)));
}

inline uint16_t bfloat16_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class T>
std::optional<Scalar> scalar_as(T value) {
  Scalar out{};
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

template <class T>
std::optional<Scalar> integer_as(double value) {
  constexpr double kEnd = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
  if (!(value > static_cast<double>(std::numeric_limits<T>::min()) - 1 && value < kEnd)) return std::nullopt;
  return scalar_as(static_cast<T>(value));
}

/// Returns nothing if the type (ncclDataType_t) has no such number.
inline std::optional<Scalar> scalar_of(uint32_t dtype, double value) {
  switch (dtype) {
    case 0:
      return integer_as<int8_t>(value);
    case 1:
      return integer_as<uint8_t>(value);
    case 2:
      return integer_as<int32_t>(value);
    case 3:
      return integer_as<uint32_t>(value);
    case 4:
      return integer_as<int64_t>(value);
    case 5:
      return integer_as<uint64_t>(value);
    case 6:
      return scalar_as(half_of(value));
    case 7:
      return scalar_as(static_cast<float>(value));
    case 8:
      return scalar_as(value);
    case 9:
      return scalar_as(bfloat16_of(static_cast<float>(value)));
    default:
      return std::nullopt;
  }
}

}  // namespace jitc::cuda
