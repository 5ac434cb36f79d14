// The type of all hashes of 16 bytes. Used by checksum.h, content_hash.h and backend.h.
#pragma once
#include <array>
#include <cstdint>

namespace jitc {

using Hash = std::array<uint8_t, 16>;
inline constexpr Hash kNoHash{};  // none was taken, or there is nothing to take it of

}  // namespace jitc
