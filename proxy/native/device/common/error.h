// Errors by which an op of a device fails, inside the back end only.
//
// Handlers of ops and their callers throw them; Device::enqueue (on the software device also its streams)
// catches them and turns them into a result (ops that wait) or a fault (all others). None leaves the back
// end. Called by: everything of a device.
#pragma once
#include <cstdint>
#include <string>

#include "jitc/generated_errors.h"

namespace jitc::device {

using namespace errors;  // cudaError_t

/// Cause of an error that comes from another rank's end: no replay helps.
inline constexpr const char* kCommunicatorEnded = "communicator-ended";

struct OpError {
  uint32_t status;    // cudaError_t
  const char* cause;  // one word for reports, such as "invalid-handle"
  std::string message;
  bool sticky = false;  // the context of the cuda device is unusable
};

/// Thrown when the op was given up because of a fence or of another op's fault: nothing is reported.
struct Abandoned {};

[[noreturn]] void refuse(uint32_t status, const char* cause, std::string message);
[[noreturn]] void refuse_value(std::string message);
[[noreturn]] void refuse_handle(std::string message);
/// Throws: the memory that an operand of the op names is not allocated.
[[noreturn]] void refuse_address(const char* operand, uint64_t address, uint64_t bytes);

std::string hex(uint64_t value);

}  // namespace jitc::device
