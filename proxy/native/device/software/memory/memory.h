// Memory of one virtual GPU: blocks at addresses that the client chose, in a reserved address range.
//
// Promises: an address that is unallocated is never touched; blocks freed since the last commit keep their
// content and can come back (restore), unless their memory was needed meanwhile (give_up_freed). Blocks count
// in units of 2 MiB, as on a GPU; what all programs on the GPU hold stays within its limit, and so does what
// one session holds together with what it keeps of freed blocks. Called by: Device (changes, one thread at a
// time) and stream threads (look-ups, any number).
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/shared/memory_budget.h"
#include "device/common/turns/residency.h"
#include "device/resources.h"
#include "host_ranges.h"
#include "pages.h"

namespace jitc::software {

class Memory final : public device::Movable {
 public:
  /// node: source of memory for moving out; none: unlimited.
  Memory(WatchedPages& watched, uint64_t base, uint64_t bytes, uint64_t limit,
         std::shared_ptr<MemoryBudget> budget, CopiesBudget* node = nullptr);
  ~Memory() override;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  /// Reserves the range; false with the reason.
  bool reserve(std::string& error);

  /// Returns whether so much fits beside the retained freed blocks.
  bool has_room(uint64_t bytes) const;
  /// Releases freed blocks, oldest first, until there is room. Requires that no queued op can still use them.
  void give_up_freed(uint64_t bytes);
  /// Returns whether a freed block that queued ops may still use lies in the range.
  bool overlaps_freed(uint64_t address, uint64_t bytes) const;
  /// Allocates a zeroed block. Returns a cudaError_t. Moves overlapping freed blocks aside, out of use.
  uint32_t allocate(uint64_t address, uint64_t bytes, uint64_t sequence);
  /// Takes memory, without pages yet: they come with the address. Returns a cudaError_t.
  uint32_t hold(uint64_t handle, uint64_t bytes);
  /// Returns the bytes of held memory; 0: none has that handle.
  uint64_t held(uint64_t handle) const;
  /// Turns held memory into a zeroed block. Returns a cudaError_t.
  uint32_t map_held(uint64_t handle, uint64_t address, uint64_t sequence);
  uint32_t drop(uint64_t handle);
  uint32_t free(uint64_t address, uint64_t sequence);
  /// Releases freed blocks; quiet: no queued op can still use them (else the next quiet commit does).
  void commit(bool quiet);
  /// Restores; false with the reason; missing: bytes beyond the limit, 0: another failure. It may be tried
  /// again then.
  bool restore(const Resources& wanted, std::string& error, uint64_t& missing);

  // Movable. Requires that no block is looked up, made or freed while they are out.
  bool move_out() override;
  bool move_in() override;
  uint64_t bytes() const override { return used_.load(); }
  bool has_room_for(uint64_t more) const override;
  bool could_have(uint64_t more) const override;

  /// Returns the program's memory that ops may use too.
  HostRanges& host_ranges() { return host_ranges_; }

  /// Returns the host pointer of the range for the op with that sequence, or nullptr: blocks without a gap
  /// that are live, or were when the op was submitted, or one of the host ranges must cover it.
  void* find(uint64_t address, uint64_t bytes, uint64_t sequence) const;
  uint64_t used() const { return used_.load(); }
  uint64_t limit() const { return limit_; }
  /// Returns the bytes that a program can still allocate.
  uint64_t available() const;

 private:
  class Rollback;
  struct Block {
    uint64_t address, bytes;
    uint64_t born;               // sequence of the op that made it
    uint64_t freed = 0;          // sequence of its free op
    std::byte* aside = nullptr;  // its pages, if another block took its addresses
    uint64_t size() const { return Pages::rounded(bytes); }
  };
  using Blocks = std::map<uint64_t, Block>;
  class MovedOut;

  // Require mutex_.
  uint32_t check(uint64_t address, uint64_t bytes) const;
  bool put(uint64_t address, uint64_t bytes, uint64_t sequence);
  const Block* block_at(uint64_t address, uint64_t sequence) const;
  bool covered(uint64_t address, uint64_t bytes, uint64_t sequence) const;
  bool put_aside(uint64_t address, uint64_t bytes);
  void forget(Block& block);
  bool forget_oldest();
  uint64_t kept() const;
  bool take(uint64_t size);
  void give(uint64_t size);

  const uint64_t base_, bytes_, limit_;
  Pages pages_;
  const std::shared_ptr<MemoryBudget> budget_;
  CopiesBudget* const node_;
  HostRanges host_ranges_;
  std::atomic<uint64_t> used_{0};
  mutable std::shared_mutex mutex_;
  Blocks live_;
  std::map<uint64_t, uint64_t> held_;  // handle to bytes
  std::vector<Block> freed_;           // since the last commit, oldest first
  std::vector<Block> condemned_;       // freed before it, maybe still in use by queued ops
  std::unique_ptr<MovedOut> out_;      // null: the blocks are on the device
};

}  // namespace jitc::software
