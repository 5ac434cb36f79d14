// Device addresses of one session: picks them, remembers what lies where.
//
// Used by memory (allocate, free), copies (is this range ours?) and client_api (live blocks). Promises:
// addresses depend on the sequence of calls alone, so equal ranks agree and a rebuilt device can put
// everything back where it was; the whole range is reserved without access, so that nothing else of the
// process lands in it and device memory cannot be read by mistake.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace jitc::front {

struct Block {
  uint64_t address = 0, bytes = 0, ordinal = 0;
};

class AddressSpace {
 public:
  /// Reserves [base, base + bytes) in this process.
  AddressSpace(uint64_t base, uint64_t bytes);
  /// An address for bytes (2 MiB aligned); 0 when the range is full.
  uint64_t take(uint64_t bytes);
  /// Forgets a block; its range rests (see boundary). False: not the start of a block.
  bool give_back(uint64_t address);
  /// A boundary has passed. A range that was freed is used again after the second boundary: the
  /// minibatch before the last boundary may still be replayed until every rank's copies are complete.
  void boundary();
  /// The block that holds all of [address, address + bytes).
  bool find(uint64_t address, uint64_t bytes, Block* out) const;
  std::vector<Block> blocks() const;

 private:
  static constexpr uint64_t kGranule = 2u << 20;
  static uint64_t rounded(uint64_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }
  struct Resting {
    uint64_t address, bytes, freed_after;
  };
  uint64_t reuse(uint64_t bytes);

  mutable std::shared_mutex mutex_;
  uint64_t base_, end_, next_, ordinal_ = 0, boundaries_ = 0;
  std::map<uint64_t, Block> live_;                 // by address
  std::map<uint64_t, std::deque<uint64_t>> free_;  // by rounded size, oldest first
  std::deque<Resting> resting_;
};

}  // namespace jitc::front
