// Whether two function types are the same to the C calling convention (x86-64 and AArch64): the same
// number of parameters, each passed in the same way. The spec's own types are numbers and plain
// structures, so that "is_same" would say no where the machine code is equal.
#pragma once
#include <cstddef>
#include <type_traits>

#include "abi_types.h"

namespace jitc::front {

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

#define JITC_CHECK(name, ...) \
  static_assert(SameAbi<__VA_ARGS__, std::remove_pointer_t<decltype(&::name)>>::value, #name)

static_assert(sizeof(PointerAttributes) == sizeof(cudaPointerAttributes));
static_assert(offsetof(PointerAttributes, device_pointer) == offsetof(cudaPointerAttributes, devicePointer));
static_assert(sizeof(FuncAttributes) == sizeof(cudaFuncAttributes));
static_assert(offsetof(FuncAttributes, max_dynamic_shared) ==
              offsetof(cudaFuncAttributes, maxDynamicSharedSizeBytes));
static_assert(sizeof(Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(Heuristic, waves) == offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));
static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId) && sizeof(Dim3) == sizeof(dim3) &&
              sizeof(Uuid) == sizeof(CUuuid));
static_assert(NCCL_VERSION_CODE / 100 >= 228 && ncclNumTypes == 12 && ncclAvg == 4);

}  // namespace jitc::front
