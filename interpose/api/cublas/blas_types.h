// Element and scalar types of cuBLAS by their numbers, for calls that are sent unchanged.
//
// Used by blas_call, lt_call and matmul. Promise: 0 for a number that no CUDA version before 14 has defined.
#pragma once
#include <cstdint>

namespace jitc::api {

/// cudaDataType_t: those that cuBLAS can take as scalars.
enum DataType : uint32_t {
  kF32 = 0,
  kF64 = 1,
  kF16 = 2,
  kI8 = 3,
  kComplexF32 = 4,
  kComplexF64 = 5,
  kComplexF16 = 6,
  kComplexI8 = 7,
  kU8 = 8,
  kComplexU8 = 9,
  kI32 = 10,
  kComplexI32 = 11,
  kU32 = 12,
  kComplexU32 = 13,
  kBf16 = 14,
  kComplexBf16 = 15,
  kI16 = 20,
  kComplexI16 = 21,
  kU16 = 22,
  kComplexU16 = 23,
  kI64 = 24,
  kComplexI64 = 25,
  kU64 = 26,
  kComplexU64 = 27,
};
/// cublasComputeType_t.
enum Compute : uint32_t {
  kCompute16F = 64,
  kCompute16FPedantic = 65,
  kCompute32F = 68,
  kCompute32FPedantic = 69,
  kCompute64F = 70,
  kCompute64FPedantic = 71,
  kCompute32I = 72,
  kCompute32IPedantic = 73,
  kCompute32FFast16F = 74,
  kCompute32FFast16BF = 75,
  kCompute32FFastTF32 = 77,
  kCompute32FEmulated16BFx9 = 78,
  kCompute64FEmulatedFixed = 79,
};

/// Returns whether a cudaDataType_t is complex.
constexpr bool is_complex(int32_t type) {
  switch (type) {
    case kComplexF32:
    case kComplexF64:
    case kComplexF16:
    case kComplexI8:
    case kComplexU8:
    case kComplexI32:
    case kComplexU32:
    case kComplexBf16:
    case kComplexI16:
    case kComplexU16:
    case kComplexI64:
    case kComplexU64:
      return true;
    default:
      return false;
  }
}

/// Returns the bytes of one element of a cudaDataType_t that a scalar can have; 0: none.
constexpr uint32_t element_bytes(int32_t type) {
  switch (type) {
    case kI8:
    case kU8:
      return 1;
    case kF16:
    case kBf16:
    case kI16:
    case kU16:
    case kComplexI8:
    case kComplexU8:
      return 2;
    case kF32:
    case kI32:
    case kU32:
    case kComplexF16:
    case kComplexBf16:
    case kComplexI16:
    case kComplexU16:
      return 4;
    case kF64:
    case kI64:
    case kU64:
    case kComplexF32:
    case kComplexI32:
    case kComplexU32:
      return 8;
    case kComplexF64:
    case kComplexI64:
    case kComplexU64:
      return 16;
    default:
      return 0;
  }
}

/// Returns the bytes of alpha and beta for a cublasComputeType_t and the type of C (cublasGemmEx and its
/// kin); 0: unknown.
constexpr uint32_t scalar_bytes(int32_t compute, int32_t type_c) {
  const uint32_t twice = is_complex(type_c) ? 2 : 1;
  switch (compute) {
    case kCompute16F:
    case kCompute16FPedantic:
      return 2 * twice;
    case kCompute32F:
    case kCompute32FPedantic:
    case kCompute32I:
    case kCompute32IPedantic:
    case kCompute32FFast16F:
    case kCompute32FFast16BF:
    case kCompute32FFastTF32:
    case kCompute32FEmulated16BFx9:
      return 4 * twice;
    case kCompute64F:
    case kCompute64FPedantic:
    case kCompute64FEmulatedFixed:
      return 8 * twice;
    default:
      return 0;
  }
}

}  // namespace jitc::api
