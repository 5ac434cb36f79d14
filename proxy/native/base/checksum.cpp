#include "checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstring>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace jitc {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli, reflected

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? kPolynomial : 0);
    table[byte] = value;
  }
  return table;
}
constexpr auto kTable = make_table();

/// x^8 + x^2 + x + 1.
constexpr std::array<uint8_t, 256> make_small_table() {
  std::array<uint8_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value << 1 ^ (value & 0x80 ? 0x07u : 0u)) & 0xff;
    table[byte] = static_cast<uint8_t>(value);
  }
  return table;
}
constexpr auto kSmallTable = make_small_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc32c_instruction(uint32_t value,
                                                              std::span<const std::byte> data) {
  const std::byte* at = data.data();
  size_t left = data.size();
  uint64_t crc = ~value;
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  uint32_t rest = static_cast<uint32_t>(crc);
  for (; left; ++at, --left) rest = _mm_crc32_u8(rest, static_cast<uint8_t>(*at));
  return ~rest;
}
#endif

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

uint32_t crc32c_portable(uint32_t value, std::span<const std::byte> data) {
  uint32_t crc = ~value;
  for (const std::byte byte : data) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~crc;
}

uint32_t crc32c(uint32_t value, std::span<const std::byte> data) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return crc32c_instruction(value, data);
#endif
  return crc32c_portable(value, data);
}

uint64_t guarded(uint64_t value) {
  uint8_t check = 0xff;
  for (int shift = 48; shift >= 0; shift -= 8) check = kSmallTable[check ^ (value >> shift & 0xff)];
  return value << 8 | check;
}

std::optional<uint64_t> unguarded(uint64_t word) {
  const uint64_t value = word >> 8;
  if (guarded(value) != word) return std::nullopt;
  return value;
}

Hash hash_bytes(std::span<const std::byte> data) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(data.data(), data.size()));
  Hash hash;
  std::memcpy(hash.data(), canonical.digest, hash.size());
  return hash;
}

std::string to_hex(std::span<const uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool from_hex(std::string_view text, std::span<uint8_t> out) {
  if (text.size() != out.size() * 2) return false;
  for (size_t i = 0; i < out.size(); ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

}  // namespace jitc
