// Addresses that stand for device variables: a program that knows a variable by its symbol alone never learns
// where it lies, and ops and boundaries have its alias instead.
//
// Promise: an alias is never an address of memory, on any GPU or host, and its bytes are no other object's.
// Used by: the API layer, which makes aliases; the cuda device, which alone knows the real addresses.
#pragma once
#include <cstdint>

namespace jitc {

/// Far above what processors and GPUs can address (2^57), below the bit that marks variables' rows.
inline constexpr uint64_t kFirstAlias = uint64_t{1} << 62;
/// Distance between aliases: more than any GPU has memory. There are four million.
inline constexpr uint64_t kAliasSpace = uint64_t{1} << 40;

/// Returns whether the address lies in the range of some alias.
constexpr bool is_aliased(uint64_t address) { return address >= kFirstAlias && address < 2 * kFirstAlias; }
/// Returns whether the address can stand for a variable of so many bytes.
constexpr bool is_alias(uint64_t address, uint64_t bytes) {
  return is_aliased(address) && address % kAliasSpace == 0 && bytes <= kAliasSpace;
}

}  // namespace jitc
