// Generated from interpose/spec/cublas/lt.py by `python -m jitc.interpose.generator`; do not edit.
#pragma once
#include "generated_ops.h"

namespace jitc::ops {

/// Bytes of an attribute of a cuBLASLt object; 0: it does not travel.
constexpr uint32_t lt_attribute_bytes(LtKind kind, uint32_t attribute) {
  switch (static_cast<uint32_t>(kind) << 16 | attribute) {
    case 0x19:  // descriptor: FAST_ACCUM
      return 1;
    case 0x0:  // descriptor: COMPUTE_TYPE
    case 0x1:  // descriptor: SCALE_TYPE
    case 0x2:  // descriptor: POINTER_MODE
    case 0x3:  // descriptor: TRANSA
    case 0x4:  // descriptor: TRANSB
    case 0x5:  // descriptor: TRANSC
    case 0x6:  // descriptor: FILL_MODE
    case 0x7:  // descriptor: EPILOGUE
    case 0xf:  // descriptor: SM_COUNT_TARGET
    case 0x16:  // descriptor: EPILOGUE_AUX_DATA_TYPE
    case 0x1a:  // descriptor: BIAS_DATA_TYPE
    case 0x1f:  // descriptor: A_SCALE_MODE
    case 0x20:  // descriptor: B_SCALE_MODE
    case 0x21:  // descriptor: C_SCALE_MODE
    case 0x22:  // descriptor: D_SCALE_MODE
    case 0x23:  // descriptor: EPILOGUE_AUX_SCALE_MODE
    case 0x25:  // descriptor: D_OUT_SCALE_MODE
      return 4;
    case 0x8:  // descriptor: BIAS_POINTER
    case 0xa:  // descriptor: BIAS_BATCH_STRIDE
    case 0xb:  // descriptor: EPILOGUE_AUX_POINTER
    case 0xc:  // descriptor: EPILOGUE_AUX_LD
    case 0xd:  // descriptor: EPILOGUE_AUX_BATCH_STRIDE
    case 0xe:  // descriptor: ALPHA_VECTOR_BATCH_STRIDE
    case 0x11:  // descriptor: A_SCALE_POINTER
    case 0x12:  // descriptor: B_SCALE_POINTER
    case 0x13:  // descriptor: C_SCALE_POINTER
    case 0x14:  // descriptor: D_SCALE_POINTER
    case 0x15:  // descriptor: AMAX_D_POINTER
    case 0x17:  // descriptor: EPILOGUE_AUX_SCALE_POINTER
    case 0x18:  // descriptor: EPILOGUE_AUX_AMAX_POINTER
    case 0x24:  // descriptor: D_OUT_SCALE_POINTER
      return 8;
    case 0x10000:  // layout: TYPE
    case 0x10001:  // layout: ORDER
    case 0x10005:  // layout: BATCH_COUNT
    case 0x10008:  // layout: BATCH_MODE
      return 4;
    case 0x10002:  // layout: ROWS
    case 0x10003:  // layout: COLS
    case 0x10004:  // layout: LD
    case 0x10006:  // layout: STRIDED_BATCH_OFFSET
    case 0x10007:  // layout: PLANE_OFFSET
      return 8;
    case 0x20000:  // preference: SEARCH_MODE
    case 0x20003:  // preference: REDUCTION_SCHEME_MASK
    case 0x20005:  // preference: MIN_ALIGNMENT_A_BYTES
    case 0x20006:  // preference: MIN_ALIGNMENT_B_BYTES
    case 0x20007:  // preference: MIN_ALIGNMENT_C_BYTES
    case 0x20008:  // preference: MIN_ALIGNMENT_D_BYTES
    case 0x20009:  // preference: MAX_WAVES_COUNT
      return 4;
    case 0x20001:  // preference: MAX_WORKSPACE_BYTES
    case 0x2000c:  // preference: IMPL_MASK
      return 8;
    default:
      return 0;
  }
}

}  // namespace jitc::ops
