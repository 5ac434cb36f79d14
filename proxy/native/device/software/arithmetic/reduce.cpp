// See reduce.h. Reductions work in blocks, so that partial sums stay in the cache.
#include "reduce.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#include "half.h"
#include "jitc/generated_ops.h"

namespace jitc::software {
namespace {
using ops::Reduction;
constexpr size_t kBlock = 1024;

struct TypeInfo {
  const char* name;
  size_t width;
};
// By ncclDataType_t.
constexpr std::array<TypeInfo, 12> kTypes{{{"int8", 1},
                                           {"uint8", 1},
                                           {"int32", 4},
                                           {"uint32", 4},
                                           {"int64", 8},
                                           {"uint64", 8},
                                           {"float16", 2},
                                           {"float32", 4},
                                           {"float64", 8},
                                           {"bfloat16", 2},
                                           {"float8e4m3", 1},
                                           {"float8e5m2", 1}}};
constexpr uint32_t kFirstFp8 = 10;

template <class T>
constexpr bool is_short = std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;
template <class T>
using Sum = std::conditional_t<is_short<T>, float, T>;

template <class T>
Sum<T> widen(T value) {
  if constexpr (is_short<T>)
    return to_float(value);
  else
    return value;
}
template <class T>
T narrow(Sum<T> value) {
  if constexpr (std::is_same_v<T, Half>)
    return to_half(value);
  else if constexpr (std::is_same_v<T, BFloat>)
    return to_bfloat(value);
  else
    return value;
}

/// Adds integers with wrap-around, as on a GPU.
template <class S, class F>
S wrapping(S a, S b, F f) {
  if constexpr (std::is_integral_v<S>) {
    return static_cast<S>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  } else {
    return f(a, b);
  }
}

template <class S>
S combine(Reduction reduction, S a, S b) {
  switch (reduction) {
    case Reduction::prod:
      return wrapping(a, b, [](auto x, auto y) { return x * y; });
    case Reduction::max:
      return b > a || a != a ? b : a;
    case Reduction::min:
      return b < a || a != a ? b : a;
    default:
      return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
}

template <class S>
S divided(S sum, size_t ranks) {
  if constexpr (std::is_floating_point_v<S>)
    return sum / static_cast<S>(ranks);
  else if constexpr (std::is_signed_v<S>)
    return static_cast<S>(int64_t{sum} / static_cast<int64_t>(ranks));
  else
    return static_cast<S>(uint64_t{sum} / ranks);
}

/// Clamps values to the type's range.
template <class S>
S from_double(double value) {
  if constexpr (std::is_integral_v<S>) {
    constexpr double kLow = static_cast<double>(std::numeric_limits<S>::min());
    constexpr double kHigh = static_cast<double>(std::numeric_limits<S>::max());
    if (!(value > kLow)) return std::numeric_limits<S>::min();
    if (value >= kHigh) return std::numeric_limits<S>::max();
  }
  return static_cast<S>(value);
}

template <class T>
void load_block(const std::byte* from, size_t at, size_t count, std::array<T, kBlock>& block) {
  std::memcpy(block.data(), from + at * sizeof(T), count * sizeof(T));
}

template <class T>
void store_block(std::byte* to, size_t at, size_t count, const std::array<T, kBlock>& block) {
  std::memcpy(to + at * sizeof(T), block.data(), count * sizeof(T));
}

// The loops always take whole blocks, with any content in the unused part of the last one: a fixed trip count
// lets the compiler use vector instructions.
template <class T, Reduction kReduction>
void reduce_as(std::span<const std::byte* const> inputs, std::byte* out, size_t count) {
  std::array<Sum<T>, kBlock> sums;
  std::array<T, kBlock> block{};
  for (size_t at = 0; at < count; at += kBlock) {
    const size_t size = std::min(kBlock, count - at);
    load_block(inputs[0], at, size, block);
    for (size_t i = 0; i < kBlock; ++i) sums[i] = widen(block[i]);
    for (const std::byte* const input : inputs.subspan(1)) {
      load_block(input, at, size, block);
      for (size_t i = 0; i < kBlock; ++i) sums[i] = combine(kReduction, sums[i], widen(block[i]));
    }
    if constexpr (kReduction == Reduction::avg)
      for (size_t i = 0; i < kBlock; ++i) sums[i] = divided(sums[i], inputs.size());
    for (size_t i = 0; i < kBlock; ++i) block[i] = narrow<T>(sums[i]);
    store_block(out, at, size, block);
  }
}

template <class T>
void scale_as(const std::byte* address, double value, const std::byte* in, std::byte* out, size_t count) {
  T given = narrow<T>(from_double<Sum<T>>(value));
  if (address) std::memcpy(&given, address, sizeof given);
  const Sum<T> factor = widen(given);
  std::array<T, kBlock> block{};
  for (size_t at = 0; at < count; at += kBlock) {
    const size_t size = std::min(kBlock, count - at);
    load_block(in, at, size, block);
    for (size_t i = 0; i < kBlock; ++i)
      block[i] = narrow<T>(combine<Sum<T>>(Reduction::prod, widen(block[i]), factor));
    store_block(out, at, size, block);
  }
}

/// Calls f with a value of the C++ type of dtype.
template <class F>
void with_type(uint32_t dtype, F f) {
  switch (dtype) {
    case 0:
      return f(int8_t{});
    case 1:
      return f(uint8_t{});
    case 2:
      return f(int32_t{});
    case 3:
      return f(uint32_t{});
    case 4:
      return f(int64_t{});
    case 5:
      return f(uint64_t{});
    case 6:
      return f(Half{});
    case 7:
      return f(float{});
    case 8:
      return f(double{});
    case 9:
      return f(BFloat{});
    default:
      return;
  }
}
}  // namespace

size_t element_width(uint32_t dtype) { return dtype < kTypes.size() ? kTypes[dtype].width : 0; }
bool reducible(uint32_t dtype) { return dtype < kFirstFp8; }
const char* dtype_name(uint32_t dtype) { return dtype < kTypes.size() ? kTypes[dtype].name : "unknown type"; }

void reduce(uint32_t dtype, uint32_t reduction, std::span<const std::byte* const> inputs, std::byte* out,
            size_t count) {
  with_type(dtype, [&]<class T>(T) {
    switch (static_cast<Reduction>(reduction)) {
      case Reduction::prod:
        return reduce_as<T, Reduction::prod>(inputs, out, count);
      case Reduction::max:
        return reduce_as<T, Reduction::max>(inputs, out, count);
      case Reduction::min:
        return reduce_as<T, Reduction::min>(inputs, out, count);
      case Reduction::avg:
        return reduce_as<T, Reduction::avg>(inputs, out, count);
      default:
        return reduce_as<T, Reduction::sum>(inputs, out, count);
    }
  });
}

void scale(uint32_t dtype, const std::byte* address, double value, const std::byte* in, std::byte* out,
           size_t count) {
  with_type(dtype, [&]<class T>(T) { scale_as<T>(address, value, in, out, count); });
}

}  // namespace jitc::software
