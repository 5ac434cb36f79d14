#include "content_hash.h"

#include <algorithm>
#include <bit>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace jitc {
namespace {

using content::kPairs;
using content::kSecond;
using content::kStripe;
using content::kUnit;
using content::Long;
using content::Sum;
static_assert(std::endian::native == std::endian::little, "words are read as they lie");

constexpr content::KeyTable kKeys = content::key_table();

/// A change of one word shows in the first sum unless the pair's other word is minus its key, and in the
/// second unless it is minus its second key: one of the two, if these differ.
constexpr bool kKeysDiffer = [] {
  for (unsigned place = 0; place < kPairs; ++place) {
    const Long change = kKeys.at[place] ^ kKeys.at[place + kSecond];
    if (!(change >> 32) || !(change & 0xffffffff)) return false;
  }
  return true;
}();
static_assert(kKeysDiffer);

/// Function that sums pairs of a stripe, whose keys begin at keys.
using SumPairs = void (*)(Sum& sum, const std::byte* from, size_t pairs, const Long* keys);

void sum_pairs(Sum& sum, const std::byte* from, size_t pairs, const Long* keys) {
  for (size_t i = 0; i < pairs; ++i) {
    Long pair;
    std::memcpy(&pair, from + i * 8, 8);
    content::add_pair(sum, pair, keys[i], keys[i + kSecond]);
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) inline __m256i load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

__attribute__((target("avx2"))) inline __m256i products(__m256i pairs, __m256i keys) {
  const __m256i words = _mm256_add_epi32(pairs, keys);
  return _mm256_mul_epu32(words, _mm256_srli_epi64(words, 32));
}

__attribute__((target("avx2"))) Long total(__m256i four) {
  alignas(32) std::array<Long, 4> parts;
  _mm256_store_si256(reinterpret_cast<__m256i*>(parts.data()), four);
  return parts[0] + parts[1] + parts[2] + parts[3];
}

__attribute__((target("avx2"))) void sum_pairs_avx2(Sum& sum, const std::byte* from, size_t pairs,
                                                    const Long* keys) {
  __m256i a = _mm256_setzero_si256(), b = a;
  const size_t whole = pairs / 4 * 4;
  for (size_t i = 0; i < whole; i += 4) {
    const __m256i four = load(from + i * 8);
    a = _mm256_add_epi64(a, products(four, load(keys + i)));
    b = _mm256_add_epi64(b, products(four, load(keys + i + kSecond)));
  }
  sum.a += total(a);
  sum.b += total(b);
  sum_pairs(sum, from + whole * 8, pairs - whole, keys + whole);
}
#endif

SumPairs fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return sum_pairs_avx2;
#endif
  return sum_pairs;
}

/// Sums at most one stripe.
Sum sum_of(std::span<const std::byte> data, SumPairs add) {
  Sum sum{0, 0};
  const size_t whole = data.size() / kUnit * kUnit, rest = data.size() - whole;
  add(sum, data.data(), whole / 8, kKeys.at);
  if (rest) {
    std::array<std::byte, kUnit> last{};
    std::memcpy(last.data(), data.data() + whole, rest);
    add(sum, last.data(), kUnit / 8, kKeys.at + whole / 8);
  }
  return sum;
}

void add_all(Sum& total, Long number, std::span<const std::byte> data, SumPairs add) {
  for (; !data.empty(); ++number) {
    const auto stripe = data.first(std::min<size_t>(kStripe, data.size()));
    content::add_stripe(total, sum_of(stripe, add), number);
    data = data.subspan(stripe.size());
  }
}

}  // namespace

void ContentHasher::add(std::span<const std::byte> piece) {
  static const SumPairs sum = fastest();
  add_all(total_, bytes_ / kStripe, piece, sum);
  bytes_ += piece.size();
}

void ContentHasher::add_portable(std::span<const std::byte> piece) {
  add_all(total_, bytes_ / kStripe, piece, sum_pairs);
  bytes_ += piece.size();
}

Hash ContentHasher::finish() const { return content_hash_of(total_, bytes_); }

Hash content_hash(std::span<const std::byte> data) {
  ContentHasher hasher;
  hasher.add(data);
  return hasher.finish();
}

Hash content_hash_of(Sum total, uint64_t bytes) {
  const Sum finished = content::finished(total, bytes);
  Hash hash;
  std::memcpy(hash.data(), &finished.a, 8);
  std::memcpy(hash.data() + 8, &finished.b, 8);
  return hash;
}

}  // namespace jitc
