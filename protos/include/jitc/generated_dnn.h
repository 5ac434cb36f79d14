// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
// clang-format off
#pragma once
#include <cstdint>

namespace jitc::ops {

/// Descriptors and attributes of the graph API that are looked at.
inline constexpr int32_t kDnn_EXECUTION_PLAN = 5;
inline constexpr int32_t kDnn_TENSOR = 17;
inline constexpr int32_t kDnn_VARIANT_PACK = 16;
inline constexpr int32_t kDnn_TENSOR_DATA_TYPE = 901;
inline constexpr int32_t kDnn_TENSOR_DIMENSIONS = 902;
inline constexpr int32_t kDnn_TENSOR_IS_BY_VALUE = 908;
inline constexpr int32_t kDnn_TENSOR_UNIQUE_ID = 906;
inline constexpr int32_t kDnn_VARIANT_PACK_DATA_POINTERS = 1001;
inline constexpr int32_t kDnn_VARIANT_PACK_UNIQUE_IDS = 1000;
inline constexpr int32_t kDnn_VARIANT_PACK_WORKSPACE = 1003;
inline constexpr int32_t kDnnType_HANDLE = 0;
inline constexpr int32_t kDnnType_BOOLEAN = 2;
inline constexpr int32_t kDnnType_INT64 = 3;
inline constexpr int32_t kDnnType_FLOAT = 4;
inline constexpr int32_t kDnnType_DOUBLE = 5;
inline constexpr int32_t kDnnType_VOID_PTR = 6;
inline constexpr int32_t kDnnType_BACKEND_DESCRIPTOR = 15;
inline constexpr int32_t kDnnType_INT32 = 23;
inline constexpr int32_t kDnnType_CHAR = 24;
inline constexpr int32_t kDnnType_FRACTION = 26;

/// Functions that are called by hand-written code.
inline constexpr uint32_t kDnnGetVersion = 0x60dcd817;
inline constexpr uint32_t kDnnGetRNNWeightParams = 0xd501cd07;
inline constexpr uint32_t kDnnSetDropoutDescriptor = 0xb77d7385;
inline constexpr uint32_t kDnnRestoreDropoutDescriptor = 0x79fa2afb;
inline constexpr uint32_t kDnnBackendCreateDescriptor = 0x6a74fa34;
inline constexpr uint32_t kDnnBackendSetAttribute = 0x13b0d605;
inline constexpr uint32_t kDnnBackendGetAttribute = 0xa82ce361;
inline constexpr uint32_t kDnnBackendFinalize = 0x93891a43;
inline constexpr uint32_t kDnnSetTensorNdDescriptor = 0x5e7fae87;
inline constexpr uint32_t kDnnSetFilterNdDescriptor = 0x68c7adec;

/// Bytes of an element of a cudnnBackendAttributeType_t; 0: an unknown type.
constexpr uint32_t dnn_attribute_bytes(int32_t type) {
  switch (type) {
    case 0: return 8;  // HANDLE
    case 2: return 1;  // BOOLEAN
    case 3: return 8;  // INT64
    case 4: return 4;  // FLOAT
    case 5: return 8;  // DOUBLE
    case 6: return 8;  // VOID_PTR
    case 15: return 8;  // BACKEND_DESCRIPTOR
    case 23: return 4;  // INT32
    case 24: return 1;  // CHAR
    case 26: return 16;  // FRACTION
    default: return type > 0 && type <= 30 ? 4 : 0;  // enumerations
  }
}

/// Name of a cudnnStatus_t.
constexpr const char* dnn_status_name(int32_t status) {
  switch (status) {
    case 0: return "CUDNN_STATUS_SUCCESS";
    case 1001: return "CUDNN_STATUS_NOT_INITIALIZED";
    case 1002: return "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH";
    case 1003: return "CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH";
    case 1004: return "CUDNN_STATUS_DEPRECATED";
    case 1005: return "CUDNN_STATUS_LICENSE_ERROR";
    case 1006: return "CUDNN_STATUS_RUNTIME_IN_PROGRESS";
    case 1007: return "CUDNN_STATUS_RUNTIME_FP_OVERFLOW";
    case 1008: return "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED";
    case 2000: return "CUDNN_STATUS_BAD_PARAM";
    case 2001: return "CUDNN_STATUS_INVALID_VALUE";
    case 2002: return "CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
    case 2003: return "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER";
    case 2004: return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
    case 2005: return "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND";
    case 2006: return "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT";
    case 2007: return "CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH";
    case 2008: return "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH";
    case 2009: return "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES";
    case 2010: return "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE";
    case 2011: return "CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH";
    case 2012: return "CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE";
    case 3000: return "CUDNN_STATUS_NOT_SUPPORTED";
    case 3001: return "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN";
    case 3002: return "CUDNN_STATUS_NOT_SUPPORTED_SHAPE";
    case 3003: return "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE";
    case 3004: return "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT";
    case 3005: return "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER";
    case 3006: return "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART";
    case 3007: return "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH";
    case 3008: return "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING";
    case 3009: return "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE";
    case 3010: return "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT";
    case 3011: return "CUDNN_STATUS_NOT_SUPPORTED_PADDING";
    case 3012: return "CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM";
    case 3013: return "CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API";
    case 3014: return "CUDNN_STATUS_NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE";
    case 4000: return "CUDNN_STATUS_INTERNAL_ERROR";
    case 4001: return "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED";
    case 4002: return "CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE";
    case 4003: return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
    case 4004: return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    case 4005: return "CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM";
    case 4006: return "CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED";
    case 5000: return "CUDNN_STATUS_EXECUTION_FAILED";
    case 5001: return "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER";
    case 5002: return "CUDNN_STATUS_EXECUTION_FAILED_CUBLAS";
    case 5003: return "CUDNN_STATUS_EXECUTION_FAILED_CUDART";
    case 5004: return "CUDNN_STATUS_EXECUTION_FAILED_CURAND";
    default: return "CUDNN_UNKNOWN_STATUS";
  }
}

}  // namespace jitc::ops
