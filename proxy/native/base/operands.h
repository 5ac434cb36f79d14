// The operands of an op's record, where it lies. Called by: everything that takes ops, in core and devices.
#pragma once
#include <cstdint>

#include "jitc/generated_ops.h"

namespace jitc {

/// Streams 1 and 2 are names of the default one, 0 (cudaStreamLegacy, cudaStreamPerThread).
inline constexpr uint64_t kLastDefaultStream = 2;

/// The operands of an op whose id and size have been checked.
template <class Op>
const Op& as(const ops::OpHeader& op) {
  return reinterpret_cast<const Op&>(op);
}

}  // namespace jitc
