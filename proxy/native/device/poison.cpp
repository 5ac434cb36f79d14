// See poison.h.
#include "poison.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/content_arithmetic.h"

namespace jitc {
namespace {
constexpr uint64_t kPiece = 1u << 20;
constexpr size_t kWord = sizeof(uint64_t);

/// Returns the bytes up to the first aligned word.
size_t first_word(uint64_t address) { return -address % kWord; }
}  // namespace

void poison(uint64_t address, std::span<std::byte> piece) {
  size_t at = 0;
  const auto byte_by_byte = [&](size_t end) {
    for (; at < end; ++at) piece[at] = std::byte{content::poisoned_byte(address + at)};
  };
  byte_by_byte(std::min(piece.size(), first_word(address)));
  for (; at + kWord <= piece.size(); at += kWord) {
    const uint64_t word = content::poisoned_word(address + at);
    std::memcpy(piece.data() + at, &word, kWord);
  }
  byte_by_byte(piece.size());
}

bool poisoned(uint64_t address, std::span<const std::byte> piece) {
  for (size_t at = first_word(address); at + kWord <= piece.size(); at += kWord) {
    uint64_t word;
    std::memcpy(&word, piece.data() + at, kWord);
    if (word == content::poisoned_word(address + at)) return true;
  }
  return false;
}

void poison_by_writing(DeviceMemory& memory, std::span<const MemoryRange> ranges) {
  for (const auto& [address, bytes] : ranges) {
    std::vector<std::byte> piece(std::min(kPiece, bytes));
    for (uint64_t at = 0; at < bytes; at += piece.size()) {
      const std::span<std::byte> part(piece.data(), std::min<uint64_t>(piece.size(), bytes - at));
      poison(address + at, part);
      memory.write(address + at, part);
    }
  }
}

}  // namespace jitc
