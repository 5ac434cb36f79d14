// Small things that the place_*.cpp files share.
#pragma once
#include <span>
#include <string>

#include "device/common/operands.h"
#include "device/cuda/driver/error.h"

namespace jitc::cuda {

[[noreturn]] inline void refuse_capture(const std::string& what) {
  refuse(900, "capture-unsupported", what + " cannot be captured");  // cudaErrorStreamCaptureUnsupported
}

/// What follows an op's operands.
template <class Op>
std::span<const std::byte> payload_of(const Op& op) {
  return {reinterpret_cast<const std::byte*>(&op + 1), op.header.size - sizeof op};
}

}  // namespace jitc::cuda
