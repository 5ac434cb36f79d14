// cuBLASLt on a device with kernels: heuristic and product come from the worker's library.
//
// Called by blaslt.cpp. Promises: a repeated question is answered without waiting; a product carries the
// program's algorithm byte for byte.
#pragma once
#include "api/common/abi_types.h"
#include "api/common/status.h"

namespace jitc::api {

/// Objects of a product, as handles. preference: 0 in a product.
struct LtHandles {
  uint64_t lt, desc, a, b, c, d, preference;
};

Status ask_heuristic(const LtHandles& handles, int32_t requested, Heuristic* results, int32_t* count);

struct LtProduct {
  const void *alpha, *beta;
  uint64_t a, b, c, d;
  const Algorithm* algorithm;
  uint64_t workspace, workspace_bytes, stream;
};
Status submit_lt_matmul(const LtHandles& handles, const LtProduct& product);

}  // namespace jitc::api
