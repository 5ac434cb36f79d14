// How an op of the cuda device fails, inside the back end only; what a status of the driver means.
//
// Thrown by whatever places an op, caught in Device::enqueue, which turns it into a result (ops that wait)
// or a fault (all others, and every sticky error). Never leaves the back end.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "driver.h"

namespace jitc::cuda {

/// cudaError_t values that this back end gives by itself.
enum Status : uint32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchFailure = 719,
  kNotSupported = 801,
  kUnknown = 999,
};

struct OpError {
  uint32_t status;    // cudaError_t
  const char* cause;  // one word for reports, such as "invalid-handle"
  std::string message;
  bool sticky = false;  // the context is of no use any more
};

/// The op was given up because of a fence or of another op's fault: nobody is told.
struct Abandoned {};

[[noreturn]] inline void refuse(uint32_t status, const char* cause, std::string message) {
  throw OpError{status, cause, std::move(message)};
}
[[noreturn]] inline void refuse_value(std::string message) {
  refuse(kInvalidValue, "invalid-value", std::move(message));
}
[[noreturn]] inline void refuse_handle(std::string message) {
  refuse(kInvalidHandle, "invalid-handle", std::move(message));
}

/// The cudaError_t of a CUresult. They are equal but for a few that the runtime has no name for.
uint32_t runtime_status(abi::CUresult status);
/// Cause of a status after which the context gives nothing but errors, or nullptr: "ecc-error",
/// "device-lost", "sticky-error". The service replaces the worker on these.
const char* sticky_cause(abi::CUresult status);
/// The status as an error; what: the driver function.
OpError error_of(const Driver& driver, const char* what, abi::CUresult status);

/// Throws unless the call succeeded.
inline void check(const Driver& driver, const char* what, abi::CUresult status) {
  if (status != 0) throw error_of(driver, what, status);
}

std::string hex(uint64_t value);

}  // namespace jitc::cuda
