// How an op of the software device fails, inside the back end only.
//
// Thrown by whatever runs an op, caught in Device::run, which turns it into a result (ops that wait) or a
// fault (all others). Never leaves the back end.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

namespace jitc::software {

/// cudaError_t values that the software device gives.
enum Status : uint32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInvalidHandle = 400,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchFailure = 719,
  kNotSupported = 801,
  kSystemFailure = 999,
};

struct OpError {
  uint32_t status;
  const char* cause;  // one word for reports, such as "illegal-address"
  std::string message;
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

inline std::string hex(uint64_t value) {
  char text[19] = "0x";
  char* end = text + 2;
  for (int shift = 60; shift >= 0; shift -= 4)
    if (value >> shift || shift == 0) *end++ = "0123456789abcdef"[value >> shift & 15];
  return {text, end};
}

}  // namespace jitc::software
