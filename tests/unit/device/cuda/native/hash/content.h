// Blocks with known content, and their hashes, for tests of the content hash.
#pragma once
#include <random>
#include <vector>

#include "base/content_hash.h"

namespace jitc::test {

using Content = std::vector<std::byte>;

/// The same for the same seed.
inline Content random_content(size_t bytes, uint32_t seed = 1) {
  std::mt19937 next(seed);
  Content content(bytes);
  for (std::byte& one : content) one = static_cast<std::byte>(next());
  return content;
}

}  // namespace jitc::test
