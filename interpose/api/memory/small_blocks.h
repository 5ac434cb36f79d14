// Small blocks of device memory, packed into slabs of 2 MiB. A GPU maps memory in units of that size; without
// slabs each small block would take a whole unit.
//
// Called by: AddressSpace, with its lock held. Promises: addresses depend on the sequence of calls alone; a
// block's bytes are its own; what is given back rests like any other address (address_space.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace jitc::api {

struct Block {
  uint64_t address = 0, bytes = 0, ordinal = 0;
  bool there = true;      // false: the device has not confirmed its memory yet
  bool followed = false;  // somebody names what is live in it (jitc_follow_memory)
};

class SmallBlocks {
 public:
  static constexpr uint64_t kSlab = 2u << 20;
  /// Larger blocks are not small: two of them do not fit into one slab.
  static constexpr uint64_t kLargest = kSlab / 2;

  /// An address for bytes; 0: no slab has room.
  uint64_t take(uint64_t bytes);
  /// Adds memory for more blocks; its address is a multiple of kSlab.
  void add_slab(uint64_t address, uint64_t ordinal);
  /// False: no block starts there. *slab: the slab that held it, if that was its last block (the slab is
  /// forgotten); else 0.
  bool give_back(uint64_t address, uint64_t boundaries, uint64_t* slab);
  /// Frees what was given back two boundaries ago.
  void boundary(uint64_t boundaries);
  bool rests() const { return !resting_.empty(); }
  /// Frees everything that rests; false: there was nothing.
  bool unrest();
  /// The block that holds all of [address, address + bytes), or nullptr.
  const Block* find(uint64_t address, uint64_t bytes) const;
  /// Notes that somebody names what is live in the blocks that lie wholly in the range, or no longer.
  void follow(uint64_t address, uint64_t bytes, bool followed);
  /// The slabs, as blocks; a slab is followed if all its blocks are.
  std::vector<Block> slabs() const;

 private:
  struct Slab {
    uint64_t ordinal = 0;
    size_t blocks = 0, followed = 0;
  };
  struct Resting {
    uint64_t address, bytes, ordinal, freed_after;
  };
  static uint64_t slab_of(uint64_t address) { return address / kSlab * kSlab; }
  void insert_free(uint64_t address, uint64_t bytes);
  void erase_free(std::map<uint64_t, uint64_t>::iterator range);
  void add_free(uint64_t address, uint64_t bytes);
  bool end_rest();
  void drop(uint64_t slab);

  std::map<uint64_t, Slab> slabs_;                    // by address
  std::map<uint64_t, Block> live_;                    // by address
  std::map<uint64_t, uint64_t> free_;                 // address to bytes, neighbours of a slab merged
  std::set<std::pair<uint64_t, uint64_t>> by_bytes_;  // the same: bytes, address
  std::deque<Resting> resting_;
};

}  // namespace jitc::api
