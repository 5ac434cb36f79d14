// What an op's record says, checked before a device uses it, and how results are packed.
//
// Nothing that comes from the client is trusted: each product and sum is checked. All refuse by throwing
// OpError. Called by: the handlers of ops, and what runs ops.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "base/operands.h"
#include "jitc/generated_ops.h"

namespace jitc::device {

/// The message, with the op that it is about.
std::string about(const ops::OpHeader& op, const ops::OpInfo* info, const std::string& message);
/// What follows an op's operands.
template <class Op>
std::span<const std::byte> payload_of(const Op& op) {
  return {reinterpret_cast<const std::byte*>(&op + 1), op.header.size - sizeof op};
}
/// The items that follow the operands.
std::span<const ops::CollectiveItem> items_of(const ops::Collective& op);
/// That a copy to the host brings no more than one may: 1 MiB.
void check_result_bytes(uint64_t bytes);
constexpr uint64_t kLargestResult = 1u << 20;
/// That address and size of a fill fit its width, and that there is such a width.
void check_fill(const ops::Fill& op);
/// Bytes from the first to the last byte of a pitched block that is not empty.
uint64_t pitched_bytes(const char* name, uint64_t pitch, uint64_t width, uint64_t height);

/// Values one after the other, as results are packed.
template <class... Values>
std::array<std::byte, (sizeof(Values) + ...)> packed(Values... values) {
  std::array<std::byte, (sizeof(Values) + ...)> bytes;
  size_t at = 0;
  ((std::memcpy(bytes.data() + at, &values, sizeof values), at += sizeof values), ...);
  return bytes;
}

}  // namespace jitc::device
