// Matmul op: types, scalars, checks, submission, shared by cuBLAS and cuBLASLt.
//
// Used by blas.cpp and blaslt.cpp. Promise: operands of a submitted product lie in one session's memory.
#pragma once
#include "api/stream/stream.h"
#include "blas_types.h"
#include "jitc/generated_ops.h"

namespace jitc::api {

/// cublasLtEpilogue_t: those that the software device has; a bias goes with each of them.
enum Epilogue : uint32_t { kNoEpilogue = 1, kRelu = 2, kBiasAdded = 4, kGelu = 32 };

/// Returns the bytes of an element; 0: not served.
uint64_t type_bytes(uint32_t type);
/// Finds the type of alpha and beta for a compute type; false: that type is not served.
bool scale_type_of(uint32_t compute, uint32_t* scale_type);
/// Sets alpha and beta: their values if they are on the host, else their addresses.
Status set_scalars(ops::Matmul* op, const void* alpha, const void* beta, bool on_device);
/// Checks shapes and addresses (they must lie in one session's memory), then submits.
Status submit_matmul(const StreamRef& stream, ops::Matmul op);

}  // namespace jitc::api
