// Checksums: CRC-32C for journal records, XXH3 (128 bit) for results and for what is named by its bytes
// (module images). Device memory has a hash of its own: content_hash.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "hash.h"

namespace jitc {

/// CRC-32C of data, continuing from a former value (0 at the start).
uint32_t crc32c(uint32_t value, std::span<const std::byte> data);
/// The same without the processor's instruction; for machines that lack it, and for the test of the other.
uint32_t crc32c_portable(uint32_t value, std::span<const std::byte> data);

/// Canonical (big-endian) XXH3 128.
Hash hash_bytes(std::span<const std::byte> data);

std::string to_hex(std::span<const uint8_t> bytes);
/// False when text is not exactly out.size() bytes in hex.
bool from_hex(std::string_view text, std::span<uint8_t> out);

}  // namespace jitc
