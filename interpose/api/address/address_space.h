// Device addresses of one session: chooses them and keeps track of the blocks.
//
// Used by memory (allocate, free), mapping (addresses first, memory later), copies (owner of a range) and
// client_api (live blocks). Promises: addresses depend on the sequence of calls alone, so equal ranks agree
// and a rebuilt device can restore every block at its address; the whole range is reserved without access, so
// that nothing else of the process lands in it and device memory cannot be read by mistake.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "small_blocks.h"

namespace jitc::api {

class AddressSpace {
 public:
  /// Function that returns whether the device has finished the use. Called without the lock.
  using IsOver = std::function<bool(const LastUse&)>;

  /// Reserves [base, base + bytes) in this process.
  AddressSpace(uint64_t base, uint64_t bytes);
  /// Returns an address for bytes (2 MiB aligned), still without memory; 0 when the range is full.
  uint64_t take(uint64_t bytes);
  /// Notes that the block of take or map at the address has its memory.
  void arrived(uint64_t address);
  /// Returns an address for a small block, in an existing slab; 0: there is no room, add a slab.
  uint64_t take_small(uint64_t bytes);
  /// Returns an address for a slab. Call add_slab once it has memory, else drop_slab.
  uint64_t take_slab();
  void add_slab(uint64_t address);
  void drop_slab(uint64_t address);
  bool small_rest() const;
  /// Makes resting small blocks usable again, after the device has finished all work. False: there were none.
  bool unrest_small(const IsOver& is_over);
  /// Frees a block of take or take_small; its range rests (see boundary). False: no block starts there.
  /// *allocation: memory that is no longer needed; 0: none.
  bool give_back(uint64_t address, const LastUse& use, uint64_t* allocation);
  /// Reserves addresses without memory, at a multiple of the alignment (a power of two); 0: range full.
  uint64_t reserve(uint64_t bytes, uint64_t alignment);
  /// Frees a whole reservation in which nothing is mapped; its range rests. False: there is no such one.
  bool unreserve(uint64_t address, uint64_t bytes);
  /// Makes a block of reserved addresses, still without memory. False: the range is not in one reservation,
  /// or something is mapped there.
  bool map(uint64_t address, uint64_t bytes);
  /// Forgets and returns the mapped blocks that make up the range; none if it is not made up of whole blocks.
  std::vector<Block> unmap(uint64_t address, uint64_t bytes);
  /// Returns whether mapped blocks cover the range.
  bool is_mapped(uint64_t address, uint64_t bytes) const;
  /// Notes a boundary. A freed range is reused after the second boundary, because the minibatch before the
  /// last boundary may still be replayed until every rank's copies are complete; and not before its last use
  /// is over, since a boundary that is skipped waits for no stream.
  void boundary(const IsOver& is_over);
  /// Notes whether the content of the blocks that lie wholly in the range is followed. This ends with the
  /// block: a later block at its address is another one.
  void follow(uint64_t address, uint64_t bytes, bool followed);
  /// Finds the block that holds the address, if it and the blocks that follow it without a gap hold all of
  /// [address, address + bytes).
  bool find(uint64_t address, uint64_t bytes, Block* out) const;
  /// Calls use with all blocks that have memory, in order of the addresses, slabs instead of small blocks. No
  /// block is added or removed meanwhile.
  template <class Use>
  void with_blocks(Use&& use) const {
    std::shared_lock lock(mutex_);
    use(blocks());
  }

 private:
  static constexpr uint64_t kGranule = 2u << 20;
  static uint64_t rounded(uint64_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }
  struct Resting {
    uint64_t address, bytes, freed_after;
    LastUse use;
  };
  // Require mutex_.
  std::vector<Block> blocks() const;
  uint64_t reuse(uint64_t bytes, uint64_t alignment);
  uint64_t extend(uint64_t bytes, uint64_t alignment);
  uint64_t unrest(uint64_t bytes, uint64_t alignment);
  uint64_t take_range(uint64_t bytes, uint64_t alignment);
  void rest(uint64_t address, uint64_t bytes, const LastUse& use = {});
  bool is_reserved(uint64_t address, uint64_t bytes) const;
  bool overlaps_block(uint64_t address, uint64_t bytes) const;
  bool covered(uint64_t address, uint64_t bytes, Block* first) const;
  // Called without mutex_.
  LastUses find_over(uint64_t before, const IsOver& is_over) const;

  mutable std::shared_mutex mutex_;
  uint64_t base_, end_, next_, ordinal_ = 0, boundaries_ = 0;
  std::map<uint64_t, Block> live_;                 // by address
  std::map<uint64_t, uint64_t> reserved_;          // address to bytes, by reserve
  std::map<uint64_t, std::deque<uint64_t>> free_;  // by rounded size, oldest first
  std::deque<Resting> resting_;
  SmallBlocks small_;
};

}  // namespace jitc::api
