#include "hash.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace jitc::software {

std::array<uint8_t, 16> hash_of(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  std::array<uint8_t, 16> out;
  std::memcpy(out.data(), canonical.digest, out.size());
  return out;
}

}  // namespace jitc::software
