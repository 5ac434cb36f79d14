// The arithmetic of the content hash, shared by host and GPU (content_hash.h says what it promises); and the
// content of poisoned memory (validation.h).
//
// Read by base/content_hash.cpp and, as text, by NVRTC with device/cuda/module/hash_kernel.cu: plain
// integers, no headers.
//
// A block is cut into stripes of 4 KiB; a stripe is read as pairs of 32-bit words (little-endian, the last 16
// bytes filled up with zeros). A stripe is summed by NH (Black et al., 1999): the sum of the products of a
// pair's words, each plus a key of its place in the stripe; twice, with keys of places that differ, as two
// sums of 64 bits. Sums may be made in any order, by many threads. A bijection then mixes the two sums with
// the stripe's number, and the results of all stripes are added: again in any order. Last, the same bijection
// mixes in the length.
#pragma once

namespace jitc::content {

using Word = unsigned int;
using Long = unsigned long long;

inline constexpr unsigned kStripe = 4096;
inline constexpr unsigned kUnit =
    16;  // unit to which a stripe is filled up with zeros, and which a GPU's thread reads at once
inline constexpr unsigned kPairs = kStripe / 8;
inline constexpr unsigned kSecond = 64;  // distance from the key of the first sum to that of the second
inline constexpr unsigned kKeys = kPairs + kSecond;

struct Sum {
  Long a, b;
};

/// Maps a value by a bijection that leaves no trace of patterns (the finalizer of SplitMix64).
constexpr Long scramble(Long value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ value >> 27) * 0x94d049bb133111ebull;
  return value ^ value >> 31;
}

/// Keys by a pair's place in its stripe, and kSecond places further on: 32 bits for each of its words.
struct alignas(kUnit) KeyTable {
  Long at[kKeys];
};

constexpr KeyTable key_table() {
  KeyTable keys{};
  for (unsigned place = 0; place < kKeys; ++place)
    keys.at[place] = scramble((place + 1) * 0x9e3779b97f4a7c15ull);
  return keys;
}

constexpr Long product(Long pair, Long key) {
  const Word low = static_cast<Word>(pair) + static_cast<Word>(key);
  const Word high = static_cast<Word>(pair >> 32) + static_cast<Word>(key >> 32);
  return static_cast<Long>(low) * high;
}

constexpr void add_pair(Sum& sum, Long pair, Long first_key, Long second_key) {
  sum.a += product(pair, first_key);
  sum.b += product(pair, second_key);
}

/// Maps the two sums by a bijection, one for each number (four rounds of a Feistel network).
constexpr Sum mixed(Sum sum, Long number) {
  sum.a ^= scramble(sum.b + number * 0x9fb21c651e98df25ull + 0x243f6a8885a308d3ull);
  sum.b ^= scramble(sum.a + 0x13198a2e03707344ull);
  sum.a ^= scramble(sum.b + 0xa4093822299f31d0ull);
  sum.b ^= scramble(sum.a + 0x082efa98ec4e6c89ull);
  return sum;
}

/// Adds a stripe whose pairs are summed to the total of other stripes.
constexpr void add_stripe(Sum& total, Sum stripe, Long number) {
  const Sum one = mixed(stripe, number);
  total.a += one.a;
  total.b += one.b;
}

/// Returns the hash of a block of that many bytes. Its mixing differs from that of any stripe.
constexpr Sum finished(Sum total, Long bytes) {
  const Sum hash = mixed(total, ~bytes);
  return hash.a | hash.b ? hash : Sum{1, 0};  // zeros mean: no hash
}

/// Returns the content of the aligned word at this address in poisoned memory. Each word encodes its address,
/// so a copy of poisoned memory is recognized too.
constexpr Long poisoned_word(Long address) { return 0xcbcbcbcbcbcbcbcbull ^ address >> 3; }
constexpr unsigned char poisoned_byte(Long address) {
  return static_cast<unsigned char>(poisoned_word(address) >> address % 8 * 8);
}

}  // namespace jitc::content
