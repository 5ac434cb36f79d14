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

/// Makes the table of x^8 + x^2 + x + 1.
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

/// Multiplies two polynomials, reflected: bit 31 is x^0.
constexpr uint32_t times(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (; a; a <<= 1) {
    if (a & 0x80000000) product ^= b;
    b = b >> 1 ^ (b & 1 ? kPolynomial : 0);
  }
  return product;
}

/// Returns the factor of a CRC when so many zero bytes follow (a power of two).
constexpr uint32_t shift_by(size_t bytes) {
  uint32_t power = 0x80000000 >> 8;
  for (; bytes > 1; bytes /= 2) power = times(power, power);
  return power;
}

#if defined(__x86_64__)
/// Computes three strands at once, until less than three parts are left, because the instruction yields one
/// result per cycle but takes three. Advances `at`; all CRCs here are without the final inversion.
__attribute__((target("sse4.2"))) uint64_t crc32c_strands(uint64_t crc, const std::byte*& at, size_t& left) {
  constexpr size_t kPart = 16u << 10;
  constexpr uint32_t kOne = shift_by(kPart), kTwo = shift_by(2 * kPart);
  for (; left >= 3 * kPart; at += 3 * kPart, left -= 3 * kPart) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kPart; i += 8) {
      uint64_t words[3];
      for (size_t part = 0; part < 3; ++part) std::memcpy(&words[part], at + part * kPart + i, 8);
      crc = _mm_crc32_u64(crc, words[0]);
      second = _mm_crc32_u64(second, words[1]);
      third = _mm_crc32_u64(third, words[2]);
    }
    crc = times(static_cast<uint32_t>(crc), kTwo) ^ times(static_cast<uint32_t>(second), kOne) ^ third;
  }
  return crc;
}

__attribute__((target("sse4.2"))) uint32_t crc32c_instruction(uint32_t value,
                                                              std::span<const std::byte> data) {
  const std::byte* at = data.data();
  size_t left = data.size();
  uint64_t crc = crc32c_strands(~value, at, left);
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
