// Checksums: CRC-32C for journal records, CRC-8 for words of the journal's header, XXH3 (128 bit) for results
// and for the names of module images. Device memory has a hash of its own: content_hash.h.
//
// Called by: the executor and the devices.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "hash.h"

namespace jitc {

/// Returns the CRC-32C of data, continuing from a former value (0 at the start).
uint32_t crc32c(uint32_t value, std::span<const std::byte> data);
/// Returns the same without the processor's instruction: for machines that lack it, and for tests of crc32c.
uint32_t crc32c_portable(uint32_t value, std::span<const std::byte> data);

/// Makes a word with its own checksum, so that one store can change both: 56 bits of value, and their CRC-8
/// in the lowest byte.
uint64_t guarded(uint64_t value);
/// Returns the value of such a word; nothing if up to three of its bits have changed.
std::optional<uint64_t> unguarded(uint64_t word);

/// Returns the canonical (big-endian) XXH3 128.
Hash hash_bytes(std::span<const std::byte> data);

std::string to_hex(std::span<const uint8_t> bytes);
/// Parses hex. Returns false if text is not exactly out.size() bytes in hex.
bool from_hex(std::string_view text, std::span<uint8_t> out);

}  // namespace jitc
