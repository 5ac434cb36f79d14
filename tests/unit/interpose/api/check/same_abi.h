// Whether two function types are the same to the C calling convention (x86-64 and AArch64): the same
// number of parameters, each passed in the same way. Where types of our own are numbers and plain
// structures, "is_same" would say no although the machine code is equal.
#pragma once
#include <type_traits>

namespace jitc {

template <class T>
constexpr bool kWord = std::is_pointer_v<T> || std::is_integral_v<T> || std::is_enum_v<T>;

template <class A, class B>
constexpr bool same_passing() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>) {
    return std::is_void_v<A> == std::is_void_v<B>;
  } else if constexpr (kWord<A> || kWord<B>) {
    return kWord<A> && kWord<B> && sizeof(A) == sizeof(B);
  } else if constexpr (std::is_floating_point_v<A> || std::is_floating_point_v<B>) {
    return std::is_same_v<A, B>;
  } else {
    return sizeof(A) == sizeof(B) && alignof(A) <= alignof(B);
  }
}

template <class A, class B>
struct SameAbi : std::false_type {};
template <class A, class B, class... Ps, class... Qs>
struct SameAbi<A(Ps...), B(Qs...)> {
  static constexpr bool check() {
    if constexpr (sizeof...(Ps) != sizeof...(Qs)) {
      return false;
    } else {
      return same_passing<A, B>() && (same_passing<Ps, Qs>() && ...);
    }
  }
  static constexpr bool value = check();
};

}  // namespace jitc
