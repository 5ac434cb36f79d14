// The operands of an op, read in place from its record. Called by: the executor and the devices.
#pragma once
#include <cstdint>

#include "jitc/generated_ops.h"

namespace jitc {

/// Streams 1 and 2 (cudaStreamLegacy, cudaStreamPerThread) are names of the default stream, 0.
inline constexpr uint64_t kLastDefaultStream = 2;

/// Returns the operands of an op whose id and size have been checked.
template <class Op>
const Op& as(const ops::OpHeader& op) {
  return reinterpret_cast<const Op&>(op);
}

}  // namespace jitc
