// See error.h.
#include "error.h"

#include <utility>

namespace jitc::device {

void refuse(uint32_t status, const char* cause, std::string message) {
  throw OpError{status, cause, std::move(message)};
}

void refuse_value(std::string message) { refuse(kInvalidValue, "invalid-value", std::move(message)); }

void refuse_handle(std::string message) {
  refuse(kInvalidResourceHandle, "invalid-handle", std::move(message));
}

void refuse_address(const char* operand, uint64_t address, uint64_t bytes) {
  refuse(kIllegalAddress, "illegal-address",
         std::string(operand) + " of " + std::to_string(bytes) + " bytes at " + hex(address) +
             " is not allocated");
}

std::string hex(uint64_t value) {
  char text[19] = "0x";
  char* end = text + 2;
  for (int shift = 60; shift >= 0; shift -= 4)
    if (value >> shift || shift == 0) *end++ = "0123456789abcdef"[value >> shift & 15];
  return {text, end};
}

}  // namespace jitc::device
