// Small blocks of device memory, packed into slabs of 2 MiB. A GPU maps memory in units of that size; without
// slabs each small block would take a whole unit.
//
// Called by: AddressSpace, with its lock held. Promises: addresses depend on the sequence of calls alone; a
// block's bytes are its own once all work submitted before the previous owner freed them is done; freed
// blocks rest like any other address (address_space.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "resting.h"

namespace jitc::api {

struct Block {
  uint64_t address = 0, bytes = 0, ordinal = 0;
  bool there = true;      // false: the device has not confirmed its memory yet
  bool followed = false;  // its live content is named (jitc_follow_memory)
};

class SmallBlocks {
 public:
  static constexpr uint64_t kSlab = 2u << 20;
  /// Size of the largest small block: two larger ones do not fit into one slab.
  static constexpr uint64_t kLargest = kSlab / 2;

  /// Returns an address for bytes; 0: no slab has room.
  uint64_t take(uint64_t bytes);
  /// Adds memory for more blocks; its address is a multiple of kSlab.
  void add_slab(uint64_t address, uint64_t ordinal);
  /// Frees a block. False: none starts there. *slab: the slab that held it, if that was its last block (the
  /// slab is forgotten); else 0.
  bool give_back(uint64_t address, uint64_t boundaries, const LastUse& use, uint64_t* slab);
  /// Adds the possible uses of blocks freed before that boundary.
  void add_uses(uint64_t before, LastUses* uses) const { api::add_uses(resting_, before, uses); }
  /// Frees blocks whose rest began before that boundary and whose last use is over. False: there were none.
  bool end_rests(uint64_t before, const LastUses& over);
  bool rests() const { return !resting_.empty(); }
  /// Returns the block that holds all of [address, address + bytes), or nullptr.
  const Block* find(uint64_t address, uint64_t bytes) const;
  /// Notes whether the content of the blocks that lie wholly in the range is followed.
  void follow(uint64_t address, uint64_t bytes, bool followed);
  /// Returns the slabs as blocks; a slab is followed if all its blocks are.
  std::vector<Block> slabs() const;

 private:
  struct Slab {
    uint64_t ordinal = 0;
    size_t blocks = 0, followed = 0;
  };
  struct Resting {
    uint64_t address, bytes, ordinal, freed_after;
    LastUse use;
  };
  static uint64_t slab_of(uint64_t address) { return address / kSlab * kSlab; }
  void insert_free(uint64_t address, uint64_t bytes);
  void erase_free(std::map<uint64_t, uint64_t>::iterator range);
  void add_free(uint64_t address, uint64_t bytes);
  bool end_rest(const Resting& one);
  void drop(uint64_t slab);

  std::map<uint64_t, Slab> slabs_;                    // by address
  std::map<uint64_t, Block> live_;                    // by address
  std::map<uint64_t, uint64_t> free_;                 // address to bytes, neighbours of a slab merged
  std::set<std::pair<uint64_t, uint64_t>> by_bytes_;  // the same: bytes, address
  std::deque<Resting> resting_;
};

}  // namespace jitc::api
