// Switches by which a run shows which part of the device it fails in: environment variables of the worker,
// which has them from the service (docs/cli.md). A GPU check runs a failed step again with each
// (tests/gpu/variants.py).
#pragma once
#include <cstdlib>
#include <string_view>

namespace jitc::cuda {

/// Each op has a mark of its own, so that the op is known that the GPU does not come past.
inline constexpr const char* kMarkEveryOp = "JITC_MARK_EVERY_OP";
/// No memory of boundaries is registered with the driver: copies take the detour.
inline constexpr const char* kPlainCopies = "JITC_PLAIN_COPIES";

inline bool asked_for(const char* variable) {
  const char* const value = std::getenv(variable);
  return value && std::string_view(value) == "1";
}

}  // namespace jitc::cuda
