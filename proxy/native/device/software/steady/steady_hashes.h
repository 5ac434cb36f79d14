// Hashes of blocks that stay the same for long (frozen weights, buffers, tables): computed once, and known as
// long as nothing writes there.
//
// A block whose hash came out the same a few times is watched from then on; one that is written after all is
// watched again only after twice as many. Promises: a hash that is known is that of what the block holds now,
// but for a write that is under way; blocks that change cost a look-up in a table. Called by: Device, when
// blocks are hashed; any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "device/transfers.h"
#include "watched_pages.h"

namespace jitc::software {

class SteadyHashes {
 public:
  /// Smaller blocks are hashed in less time than it takes to watch them well.
  static constexpr uint64_t kLeast = 256u << 10;
  /// Looks with the same hash before a block is watched. A block that changes in each step is seen twice
  /// between two changes.
  static constexpr uint32_t kLooks = 4, kMostLooks = 256;

  explicit SteadyHashes(WatchedPages& pages) : pages_(pages) {}

  /// kNoHash: it has to be computed, and saw() told of it.
  Hash known(const MemoryRange& block);
  void saw(const MemoryRange& block, const Hash& hash);

 private:
  struct Block {
    uint64_t bytes = 0;
    Hash hash = kNoHash;
    uint32_t looks = 0, wanted = kLooks;  // with this hash, and until it is watched
    /// While it is watched: what it has in pages that it shares with neighbours, which are not.
    std::optional<std::vector<std::byte>> edges;
    bool is_current = false;  // the hash is one of since then
  };
  bool stayed(const Block& one, const MemoryRange& block) const;
  Block& block_of(const MemoryRange& block);

  WatchedPages& pages_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, Block> blocks_;  // by address
};

}  // namespace jitc::software
