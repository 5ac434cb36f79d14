// See reduce.h. Numbers of 16 bits are added as float and rounded once.
#include "reduce.h"

#include <algorithm>
#include <cstring>

#include "../over_driver/numbers.h"

namespace jitc::fakes {
namespace {
template <class T>
struct Wide {
  using type = T;
};
template <>
struct Wide<Half> {
  using type = float;
};
template <>
struct Wide<Bfloat16> {
  using type = float;
};

template <class T>
typename Wide<T>::type load(const std::byte* from, size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof value);
  return static_cast<typename Wide<T>::type>(value);
}

template <class T>
void store(std::byte* to, size_t index, typename Wide<T>::type value) {
  const T narrow(value);
  std::memcpy(to + index * sizeof(T), &narrow, sizeof narrow);
}

template <class V>
V combined(int op, V left, V right) {
  switch (op) {
    case kProd:
      return static_cast<V>(left * right);
    case kMax:
      return std::max(left, right);
    case kMin:
      return std::min(left, right);
    default:
      return static_cast<V>(left + right);
  }
}

template <class T>
void reduce_as(int op, std::byte* out, const std::vector<const std::byte*>& parts, size_t count) {
  using V = typename Wide<T>::type;
  for (size_t each = 0; each < count; ++each) {
    V value = load<T>(parts[0], each);
    for (size_t part = 1; part < parts.size(); ++part)
      value = combined<V>(op, value, load<T>(parts[part], each));
    if (op == kAvg) value = static_cast<V>(value / static_cast<V>(parts.size()));
    store<T>(out, each, value);
  }
}

template <class T>
void scale_as(std::byte* values, size_t count, const std::byte* scalar) {
  for (size_t each = 0; each < count; ++each)
    store<T>(values, each, static_cast<typename Wide<T>::type>(load<T>(values, each) * load<T>(scalar, 0)));
}

/// Calls the body with a value of the C++ type.
template <class Body>
void with_type(int type, Body body) {
  switch (type) {
    case kInt8:
      return body(int8_t{});
    case kUint8:
      return body(uint8_t{});
    case kInt32:
      return body(int32_t{});
    case kUint32:
      return body(uint32_t{});
    case kInt64:
      return body(int64_t{});
    case kUint64:
      return body(uint64_t{});
    case kFloat16:
      return body(Half{});
    case kFloat32:
      return body(float{});
    case kFloat64:
      return body(double{});
    default:
      return body(Bfloat16{});
  }
}
}  // namespace

size_t size_of(int type) {
  constexpr size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type < 0 || type > kFloat8e5m2 ? 0 : kSizes[type];
}

bool reducible(int type) { return type >= 0 && type <= kBfloat16; }

void reduce(int type, int op, std::byte* out, const std::vector<const std::byte*>& parts, size_t count) {
  with_type(type, [&](auto value) { reduce_as<decltype(value)>(op, out, parts, count); });
}

void scale(int type, std::byte* values, size_t count, const std::byte* scalar) {
  with_type(type, [&](auto value) { scale_as<decltype(value)>(values, count, scalar); });
}

}  // namespace jitc::fakes
