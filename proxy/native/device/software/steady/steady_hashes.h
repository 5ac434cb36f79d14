// Hashes of blocks that are expected to stay the same until the next look: computed once, and known as long
// as nothing writes there.
//
// What is expected follows from what the last looks saw: frozen weights, buffers and tables have been the
// same for some time; weights and optimizer state are the same before a step as after the step before. These
// are watched until they are looked at again. Promises: a hash that is known is that of what the block holds
// now, but for a write that is under way; other blocks cost a look-up in a table. Called by: Device, when
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

/// What the last looks at a block have seen, and so what the next one will see.
class Looks {
 public:
  void add(bool same) { seen_ = static_cast<uint8_t>(seen_ << 1 | (same ? 1 : 0)); }
  bool expects_same() const { return is_at_rest() || alternates(); }
  /// Not only until the next look.
  bool is_at_rest() const { return (seen_ & 0xf) == 0xf; }

 private:
  /// The same, another, and so on, three times; it was another one just now.
  bool alternates() const { return (seen_ & 0x3f) == 0x2a; }

  uint8_t seen_ = 0;  // the newest is the lowest bit; 1: the same as at the look before
};

class SteadyHashes {
 public:
  /// Smaller blocks are hashed in less time than it takes to watch them well.
  static constexpr uint64_t kLeast = 256u << 10;
  /// memory: blocks elsewhere are not watched.
  SteadyHashes(WatchedPages& pages, const MemoryRange& memory) : pages_(pages), memory_(memory) {}

  /// kNoHash: it has to be computed, and saw() told of it.
  Hash known(const MemoryRange& block);
  void saw(const MemoryRange& block, const Hash& hash);

 private:
  struct Block {
    uint64_t bytes = 0;
    Hash hash = kNoHash;
    Looks looks;
    /// While it is watched: what it has in pages that it shares with neighbours, which are not.
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
