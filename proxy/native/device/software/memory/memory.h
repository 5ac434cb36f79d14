// Memory of one virtual GPU: blocks at addresses that the client chose, in a reserved address range.
//
// Promises: an address that is not allocated is never touched; blocks freed since the last commit keep
// their content and can come back (restore), unless their memory was needed in between (give_up_freed).
// Blocks count in units of 2 MiB, as on a GPU; what all programs on the GPU hold stays within its limit, and
// so does what one session holds together with what it keeps of freed blocks. Called by: Device (changes, one
// thread at a time) and stream threads (look-ups, any number).
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
  /// node: what memory that is moved out is taken of; none: there is as much as one wants.
  Memory(WatchedPages& watched, uint64_t base, uint64_t bytes, uint64_t limit,
         std::shared_ptr<MemoryBudget> budget, CopiesBudget* node = nullptr);
  ~Memory() override;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  /// Reserves the range; false with the reason.
  bool reserve(std::string& error);

  /// Whether so much fits beside what is kept of freed blocks.
  bool has_room(uint64_t bytes) const;
  /// Freed blocks go, oldest first, until there is room. Only while no queued op can still use them.
  void give_up_freed(uint64_t bytes);
  /// Whether a block that was freed and may still be in use by queued ops lies in the range.
  bool overlaps_freed(uint64_t address, uint64_t bytes) const;
  /// A cudaError_t; content is zero. Overlapping freed blocks are put aside: nothing may use them any more.
  uint32_t allocate(uint64_t address, uint64_t bytes, uint64_t sequence);
  /// Takes memory, without pages yet: they come with the address. A cudaError_t.
  uint32_t hold(uint64_t handle, uint64_t bytes);
  /// Bytes of held memory; 0: there is none of that handle.
  uint64_t held(uint64_t handle) const;
  /// Held memory becomes a block, with zero as content. A cudaError_t.
  uint32_t map_held(uint64_t handle, uint64_t address, uint64_t sequence);
  uint32_t drop(uint64_t handle);
  uint32_t free(uint64_t address, uint64_t sequence);
  /// Freed blocks go; quiet: no queued op can still use them (else they go at the next quiet commit).
  void commit(bool quiet);
  /// False with the reason; missing: bytes beyond the limit, 0: it is something else. Then it may be tried
  /// again.
  bool restore(const Resources& wanted, std::string& error, uint64_t& missing);

  // Movable. No block is found, made or freed while they are out.
  bool move_out() override;
  bool move_in() override;
  uint64_t bytes() const override { return used_.load(); }
  bool has_room_for(uint64_t more) const override;
  bool could_have(uint64_t more) const override;

  /// Memory of the program that ops may use too.
  HostRanges& host_ranges() { return host_ranges_; }

  /// Host pointer of the range for the op with that sequence, or nullptr: inside blocks without a gap
  /// between them that are alive, or were when the op was given, or inside one of the host ranges.
  void* find(uint64_t address, uint64_t bytes, uint64_t sequence) const;
  uint64_t used() const { return used_.load(); }
  uint64_t limit() const { return limit_; }
  /// What a program can still get.
  uint64_t available() const;

 private:
  class Rollback;
  struct Block {
    uint64_t address, bytes;
    uint64_t born;               // sequence of the op that made it
    uint64_t freed = 0;          // sequence of its free op
    std::byte* aside = nullptr;  // where its pages are when another block took its addresses
    uint64_t size() const { return Pages::rounded(bytes); }
  };
  using Blocks = std::map<uint64_t, Block>;
  class MovedOut;

  // All with mutex_ held.
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
  std::vector<Block> condemned_;       // before it, but maybe still in use by queued ops
  std::unique_ptr<MovedOut> out_;      // null: the blocks are on the device
};

}  // namespace jitc::software
