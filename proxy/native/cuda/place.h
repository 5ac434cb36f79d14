// Small things that the place_*.cpp files share.
#pragma once
#include <string>

#include "../device/operands.h"
#include "error.h"

namespace jitc::cuda {

[[noreturn]] inline void refuse_capture(const std::string& what) {
  refuse(900, "capture-unsupported", what + " cannot be captured");  // cudaErrorStreamCaptureUnsupported
}

}  // namespace jitc::cuda
