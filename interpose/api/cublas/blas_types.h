// Element and scalar types of cuBLAS by their numbers, for calls that travel as they are.
//
// Used by blas_call and lt_call. Promise: 0 for a number that no CUDA version before 14 has given out.
#pragma once
#include <cstdint>

namespace jitc::api {

/// Whether a cudaDataType_t is a complex one.
constexpr bool is_complex(int32_t type) {
  switch (type) {
    case 4:   // 32F
    case 5:   // 64F
    case 6:   // 16F
    case 7:   // 8I
    case 9:   // 8U
    case 11:  // 32I
    case 13:  // 32U
    case 15:  // 16BF
    case 21:  // 16I
    case 23:  // 16U
    case 25:  // 64I
    case 27:  // 64U
      return true;
    default:
      return false;
  }
}

/// Bytes of one element of a cudaDataType_t that a scalar can have; 0: none.
constexpr uint32_t element_bytes(int32_t type) {
  switch (type) {
    case 3:  // R_8I
    case 8:  // R_8U
      return 1;
    case 2:   // R_16F
    case 14:  // R_16BF
    case 20:  // R_16I
    case 22:  // R_16U
    case 7:   // C_8I
    case 9:   // C_8U
      return 2;
    case 0:   // R_32F
    case 10:  // R_32I
    case 12:  // R_32U
    case 6:   // C_16F
    case 15:  // C_16BF
    case 21:  // C_16I
    case 23:  // C_16U
      return 4;
    case 1:   // R_64F
    case 24:  // R_64I
    case 26:  // R_64U
    case 4:   // C_32F
    case 11:  // C_32I
    case 13:  // C_32U
      return 8;
    case 5:   // C_64F
    case 25:  // C_64I
    case 27:  // C_64U
      return 16;
    default:
      return 0;
  }
}

/// Bytes of alpha and beta for a cublasComputeType_t and the type of C (cublasGemmEx and its kin); 0:
/// unknown.
constexpr uint32_t scalar_bytes(int32_t compute, int32_t type_c) {
  const uint32_t twice = is_complex(type_c) ? 2 : 1;
  switch (compute) {
    case 64:  // 16F
    case 65:
      return 2 * twice;
    case 68:  // 32F
    case 69:
    case 72:  // 32I
    case 73:
    case 74:  // 32F, fast 16F, 16BF, TF32, emulated
    case 75:
    case 77:
    case 78:
      return 4 * twice;
    case 70:  // 64F
    case 71:
    case 79:
      return 8 * twice;
    default:
      return 0;
  }
}

}  // namespace jitc::api
