// Hashes of blocks that are expected to stay the same until the next look: computed once, and valid while the
// block is not written.
//
// Expectations follow from the last looks: frozen weights, buffers and tables have been the same for some
// time; weights and optimizer state are the same before a step as after the step before. These blocks are
// watched until the next look. Promises: a known hash is that of the block's current content, except during a
// write; other blocks cost a look-up in a table. Called by: Device, when blocks are hashed; any thread.
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

/// Results of the last looks at a block, which predict the next one.
class Looks {
 public:
  void add(bool same) { seen_ = static_cast<uint8_t>(seen_ << 1 | (same ? 1 : 0)); }
  bool expects_same() const { return is_at_rest() || alternates(); }
  /// Returns whether it will stay the same beyond the next look.
  bool is_at_rest() const { return (seen_ & 0xf) == 0xf; }

 private:
  /// Returns whether same and changed alternated three times; it changed just now.
  bool alternates() const { return (seen_ & 0x3f) == 0x2a; }

  uint8_t seen_ = 0;  // newest in the lowest bit; 1: the same as at the look before
};

class SteadyHashes {
 public:
  /// Size below which hashing is faster than watching.
  static constexpr uint64_t kLeast = 256u << 10;
  /// memory: blocks elsewhere are not watched.
  SteadyHashes(WatchedPages& pages, const MemoryRange& memory) : pages_(pages), memory_(memory) {}

  /// Returns the known hash; kNoHash: it must be computed and passed to saw().
  Hash known(const MemoryRange& block);
  void saw(const MemoryRange& block, const Hash& hash);

 private:
  struct Block {
    uint64_t bytes = 0;
    Hash hash = kNoHash;
    Looks looks;
    /// Content, while watched, of pages shared with neighbours, which are not watched.
    std::optional<std::vector<std::byte>> edges;
    bool is_current = false;  // the hash is one of since then
  };
  bool is_worth_it(const MemoryRange& block) const {
    return block.bytes >= kLeast && block.address - memory_.address < memory_.bytes;
  }
  bool stayed(const Block& one, const MemoryRange& block) const;
  Block& block_of(const MemoryRange& block);
  void let_go(Block& one, const MemoryRange& block);

  WatchedPages& pages_;
  const MemoryRange memory_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, Block> blocks_;  // by address
};

}  // namespace jitc::software
