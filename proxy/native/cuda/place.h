// Small things that the place_*.cpp files share.
#pragma once
#include <array>
#include <cstring>

#include "error.h"
#include "jitc/generated_ops.h"

namespace jitc::cuda {

/// The operands of an op whose id and size have been checked.
template <class Op>
const Op& as(const ops::OpHeader& op) {
  return reinterpret_cast<const Op&>(op);
}

/// Values one after the other, as results are packed.
template <class... Values>
std::array<std::byte, (sizeof(Values) + ...)> packed(Values... values) {
  std::array<std::byte, (sizeof(Values) + ...)> bytes;
  size_t at = 0;
  ((std::memcpy(bytes.data() + at, &values, sizeof values), at += sizeof values), ...);
  return bytes;
}

[[noreturn]] inline void refuse_capture(const std::string& what) {
  refuse(900, "capture-unsupported", what + " cannot be captured");  // cudaErrorStreamCaptureUnsupported
}

}  // namespace jitc::cuda
