// Checksums: CRC-32C for journal records, CRC-8 for words of the journal's header, XXH3 (128 bit) for results
// and for what is named by its bytes (module images). Device memory has a hash of its own: content_hash.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "hash.h"

namespace jitc {

/// CRC-32C of data, continuing from a former value (0 at the start).
uint32_t crc32c(uint32_t value, std::span<const std::byte> data);
/// The same without the processor's instruction; for machines that lack it, and for the test of the other.
uint32_t crc32c_portable(uint32_t value, std::span<const std::byte> data);

/// A word that shows by itself whether it is whole, so that it can be changed in one store: 56 bits of value,
/// and their CRC-8 in the lowest byte.
uint64_t guarded(uint64_t value);
/// Its value; nothing when up to three bits of the word have changed.
std::optional<uint64_t> unguarded(uint64_t word);

/// Canonical (big-endian) XXH3 128.
Hash hash_bytes(std::span<const std::byte> data);

std::string to_hex(std::span<const uint8_t> bytes);
/// False when text is not exactly out.size() bytes in hex.
bool from_hex(std::string_view text, std::span<uint8_t> out);

}  // namespace jitc
