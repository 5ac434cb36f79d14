// The type of all hashes of 16 bytes. Used by checksum.h, content_hash.h and backend.h.
#pragma once
#include <array>
#include <cstdint>

namespace jitc {

using Hash = std::array<uint8_t, 16>;
inline constexpr Hash kNoHash{};  // no hash was taken, or there is nothing to hash

}  // namespace jitc
