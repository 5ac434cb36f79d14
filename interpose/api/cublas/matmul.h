// The matmul op: types, scalars, checks, submission, as cuBLAS and cuBLASLt share them.
//
// Used by blas.cpp and blaslt.cpp. Promise: operands of a product that is submitted lie in one session's
// memory.
#pragma once
#include "api/stream/stream.h"
#include "jitc/generated_ops.h"

namespace jitc::api {

/// cudaDataType_t and cublasComputeType_t values that are served.
enum DataType : uint32_t { kF32 = 0, kF64 = 1, kF16 = 2, kBf16 = 14, kI8 = 3, kI32 = 10 };
enum Compute : uint32_t { kCompute16F = 64, kCompute32F = 68, kCompute64F = 70, kCompute32I = 72 };

/// Bytes of an element; 0: not served.
uint64_t type_bytes(uint32_t type);
/// Types that go together, and what alpha and beta are then; false: not served.
bool scale_type_of(uint32_t compute, uint32_t* scale_type);
/// alpha and beta: read now when they are on the host, by the device otherwise.
Status set_scalars(ops::Matmul* op, const void* alpha, const void* beta, bool on_device);
/// Checks shapes and addresses (they must lie in one session's memory), then submits.
Status submit_matmul(const StreamRef& stream, ops::Matmul op);
}  // namespace jitc::api
