// Switches that narrow down which part of the device a run fails in: environment variables of the worker,
// inherited from the service (docs/cli.md). A GPU check repeats a failed step with each
// (tests/gpu/variants.py).
#pragma once
#include <cstdlib>
#include <string_view>

namespace jitc::cuda {

/// Gives each op its own mark, which identifies the op that the GPU does not get past.
inline constexpr const char* kMarkEveryOp = "JITC_MARK_EVERY_OP";
/// Registers no boundary memory with the driver: copies go through pinned buffers.
inline constexpr const char* kPlainCopies = "JITC_PLAIN_COPIES";

inline bool asked_for(const char* variable) {
  const char* const value = std::getenv(variable);
  return value && std::string_view(value) == "1";
}

}  // namespace jitc::cuda
