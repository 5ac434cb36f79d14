// The content hash: what blocks of device memory are compared by, over time and across ranks.
//
// Promises: the same on every device and every machine; two blocks that differ in one aligned 32-bit word
// only (so in one bit) never have the same hash, others with a chance of about 2^-64, also where the
// difference follows a pattern; never kNoHash. Not made against somebody who looks for collisions. Called by:
// the core, the software device, the cuda device where the GPU cannot do it by itself. The arithmetic is in
// content_arithmetic.h.
#pragma once
#include <cstddef>
#include <span>

#include "content_arithmetic.h"
#include "hash.h"

namespace jitc {

Hash content_hash(std::span<const std::byte> data);

/// The same of data that comes in pieces, in order. All but the last are whole stripes (content::kStripe).
class ContentHasher {
 public:
  void add(std::span<const std::byte> piece);
  Hash finish() const;
  /// With add as on a machine without AVX2; for the test of the other.
  void add_portable(std::span<const std::byte> piece);

 private:
  content::Sum total_{0, 0};
  uint64_t bytes_ = 0;
};

/// The hash of a block of that many bytes whose stripes are added up.
Hash content_hash_of(content::Sum total, uint64_t bytes);

}  // namespace jitc
