// Generated from interpose/spec/cublas/lt.py by `python -m jitc.interpose.generator`; do not edit.
#pragma once
#include "generated_ops.h"

namespace jitc::ops {

/// Functions that are called by hand-written code.
inline constexpr uint32_t kLtMatmulAlgoGetHeuristic = 0xcef0c7e0;
inline constexpr uint32_t kLtMatmul = 0x883a4bb3;

/// The functions that make an object, and set its attributes.
struct LtMaker {
  uint32_t create, set;
};
constexpr LtMaker lt_maker(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::lt_descriptor:
      return {0x70c6ac4a, 0xfca45c22};
    case ObjectKind::lt_layout:
      return {0xf4951f18, 0x58128b84};
    case ObjectKind::lt_preference:
      return {0x508a2412, 0xb47a909a};
    default:
      return {};
  }
}

inline constexpr uint32_t kLtWidestAttribute = 8;
/// Bytes of an attribute of a cuBLASLt object; 0: it does not travel.
constexpr uint32_t lt_attribute_bytes(ObjectKind kind, uint32_t attribute) {
  switch (kind) {
    case ObjectKind::lt_descriptor:
      switch (attribute) {
        case 25:  // FAST_ACCUM
          return 1;
        case 0:  // COMPUTE_TYPE
        case 1:  // SCALE_TYPE
        case 2:  // POINTER_MODE
        case 3:  // TRANSA
        case 4:  // TRANSB
        case 5:  // TRANSC
        case 6:  // FILL_MODE
        case 7:  // EPILOGUE
        case 15:  // SM_COUNT_TARGET
        case 22:  // EPILOGUE_AUX_DATA_TYPE
        case 26:  // BIAS_DATA_TYPE
        case 31:  // A_SCALE_MODE
        case 32:  // B_SCALE_MODE
        case 33:  // C_SCALE_MODE
        case 34:  // D_SCALE_MODE
        case 35:  // EPILOGUE_AUX_SCALE_MODE
        case 37:  // D_OUT_SCALE_MODE
          return 4;
        case 8:  // BIAS_POINTER
        case 10:  // BIAS_BATCH_STRIDE
        case 11:  // EPILOGUE_AUX_POINTER
        case 12:  // EPILOGUE_AUX_LD
        case 13:  // EPILOGUE_AUX_BATCH_STRIDE
        case 14:  // ALPHA_VECTOR_BATCH_STRIDE
        case 17:  // A_SCALE_POINTER
        case 18:  // B_SCALE_POINTER
        case 19:  // C_SCALE_POINTER
        case 20:  // D_SCALE_POINTER
        case 21:  // AMAX_D_POINTER
        case 23:  // EPILOGUE_AUX_SCALE_POINTER
        case 24:  // EPILOGUE_AUX_AMAX_POINTER
        case 36:  // D_OUT_SCALE_POINTER
          return 8;
        default:
          return 0;
      }
    case ObjectKind::lt_layout:
      switch (attribute) {
        case 0:  // TYPE
        case 1:  // ORDER
        case 5:  // BATCH_COUNT
        case 8:  // BATCH_MODE
          return 4;
        case 2:  // ROWS
        case 3:  // COLS
        case 4:  // LD
        case 6:  // STRIDED_BATCH_OFFSET
        case 7:  // PLANE_OFFSET
          return 8;
        default:
          return 0;
      }
    case ObjectKind::lt_preference:
      switch (attribute) {
        case 0:  // SEARCH_MODE
        case 3:  // REDUCTION_SCHEME_MASK
        case 5:  // MIN_ALIGNMENT_A_BYTES
        case 6:  // MIN_ALIGNMENT_B_BYTES
        case 7:  // MIN_ALIGNMENT_C_BYTES
        case 8:  // MIN_ALIGNMENT_D_BYTES
        case 9:  // MAX_WAVES_COUNT
          return 4;
        case 1:  // MAX_WORKSPACE_BYTES
        case 12:  // IMPL_MASK
          return 8;
        default:
          return 0;
      }
    default:
      return 0;
  }
}

}  // namespace jitc::ops
