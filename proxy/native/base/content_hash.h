// The content hash, by which blocks of device memory are compared, over time and across ranks.
//
// Promises: it is the same on every device and every machine; two blocks that differ in one aligned 32-bit
// word only (so in one bit) never have the same hash; any others have it with a chance of about 2^-64, even
// if they differ in a pattern; it is never kNoHash. It does not resist a deliberate search for collisions.
// Called by: the executor, the software device, and the cuda device if the GPU cannot hash by itself. The
// arithmetic is in content_arithmetic.h.
#pragma once
#include <cstddef>
#include <span>

#include "content_arithmetic.h"
#include "hash.h"

namespace jitc {

Hash content_hash(std::span<const std::byte> data);

/// Hasher of data in pieces, in order. All but the last must be whole stripes (content::kStripe).
class ContentHasher {
 public:
  void add(std::span<const std::byte> piece);
  Hash finish() const;
  /// Returns the sum of the stripes so far, as the GPU's kernel computes it.
  content::Sum total() const { return total_; }
  /// Adds a piece as on a machine without AVX2, for tests of add.
  void add_portable(std::span<const std::byte> piece);

 private:
  content::Sum total_{0, 0};
  uint64_t bytes_ = 0;
};

/// Returns the hash of a block of that many bytes, from the sum of its stripes.
Hash content_hash_of(content::Sum total, uint64_t bytes);

}  // namespace jitc
