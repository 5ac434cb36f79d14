// XXH3 128 bit in canonical form: what contents are compared by. Called by: Device and copies.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace jitc::software {

std::array<uint8_t, 16> hash_of(std::span<const std::byte> bytes);

}  // namespace jitc::software
