// Checks of an op's record before a device uses it, and packing of results.
//
// Nothing from the client is trusted: each product and sum is checked. All functions refuse by throwing
// OpError. Called by: the handlers of ops and their callers.
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

/// Returns the message together with the op that it is about.
std::string about(const ops::OpHeader& op, const ops::OpInfo* info, const std::string& message);
/// Returns the bytes that follow an op's operands.
template <class Op>
std::span<const std::byte> payload_of(const Op& op) {
  return {reinterpret_cast<const std::byte*>(&op + 1), op.header.size - sizeof op};
}
/// Returns the items that follow the operands.
std::span<const ops::CollectiveItem> items_of(const ops::Collective& op);
/// Requires that a copy to the host returns at most 1 MiB.
void check_result_bytes(uint64_t bytes);
constexpr uint64_t kLargestResult = 1u << 20;
/// Requires a known width of a fill, and that address and size are multiples of it.
void check_fill(const ops::Fill& op);
/// Returns the bytes from the first to the last byte of a non-empty pitched block.
uint64_t pitched_bytes(const char* name, uint64_t pitch, uint64_t width, uint64_t height);
/// The same of slices of such blocks: from the first slice's first byte to the last one's last.
inline uint64_t sliced_bytes(const char* name, uint64_t slice, uint64_t pitch, const ops::Copy3d& op) {
  return pitched_bytes(name, slice, pitched_bytes(name, pitch, op.width, op.height), op.depth);
}

/// Packs values one after the other, as results have them.
template <class... Values>
std::array<std::byte, (sizeof(Values) + ...)> packed(Values... values) {
  std::array<std::byte, (sizeof(Values) + ...)> bytes;
  size_t at = 0;
  ((std::memcpy(bytes.data() + at, &values, sizeof values), at += sizeof values), ...);
  return bytes;
}

}  // namespace jitc::device
