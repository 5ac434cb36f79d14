#include "boundary.h"

#include <c10/cuda/CUDACachingAllocator.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jitc/client_api.h"

namespace torch::autograd {
TORCH_API int get_current_graph_task_id();  // -1 outside the autograd engine; its header costs seconds
}

namespace jitc::torch_device {
namespace {

constexpr size_t kMostDevices = 64;
constexpr uint32_t kNone = UINT32_MAX;

enum Phase : int { kForward = 0, kBackward = 1, kOptimizer = 2 };

/// The live blocks of one device in allocation order: a doubly linked list in a vector, so that allocation
/// and release cost a hash look-up and a boundary costs one walk.
class LiveBlocks {
 public:
  void add(uint64_t address, uint64_t bytes) {
    const uint32_t index = slot();
    blocks_[index] = {{address, bytes, next_ordinal_++}, last_, kNone, false};
    (last_ == kNone ? first_ : blocks_[last_].next) = index;
    last_ = index;
    by_address_[address] = index;
  }
  void remove(uint64_t address) {
    const auto found = by_address_.find(address);
    if (found == by_address_.end()) return;
    const uint32_t index = found->second;
    by_address_.erase(found);
    const Block& block = blocks_[index];
    (block.previous == kNone ? first_ : blocks_[block.previous].next) = block.next;
    (block.next == kNone ? last_ : blocks_[block.next].previous) = block.previous;
    free_.push_back(index);
  }
  /// Marks a block as scratch, which is not listed. Returns false if no block begins there. All of the block
  /// has to be scratch: with the rest of it, data would be lost.
  bool set_scratch(uint64_t address, uint64_t bytes, bool scratch) {
    const auto found = by_address_.find(address);
    if (found == by_address_.end()) return false;
    Block& block = blocks_[found->second];
    block.scratch = scratch && bytes >= block.live.bytes;
    return true;
  }
  void list(std::vector<jitc_live_block>& out) const {
    for (uint32_t i = first_; i != kNone; i = blocks_[i].next)
      if (!blocks_[i].scratch) out.push_back(blocks_[i].live);
  }

 private:
  struct Block {
    jitc_live_block live;
    uint32_t previous, next;
    bool scratch;  // a workspace of cuBLAS, until it is freed or taken from the handle
  };
  uint32_t slot() {
    if (!free_.empty()) {
      const uint32_t index = free_.back();
      free_.pop_back();
      return index;
    }
    blocks_.emplace_back();
    return static_cast<uint32_t>(blocks_.size() - 1);
  }

  std::vector<Block> blocks_;
  std::vector<uint32_t> free_;
  std::unordered_map<uint64_t, uint32_t> by_address_;
  uint32_t first_ = kNone, last_ = kNone;
  uint64_t next_ordinal_ = 1;
};

struct Tracked {
  std::atomic<bool> following{
      false};  // no: the allocator in use cannot be followed, all allocations count as live
  std::mutex mutex;
  std::array<LiveBlocks, kMostDevices> devices;
};
Tracked& tracked() {
  static Tracked& one = *new Tracked;  // the allocator may outlive static destruction
  return one;
}

/// Returns whether the entry says that the allocator has memory from CUDA, or gives it back. Other memory
/// (the allocator is off, a library's, an extension's) is unknown here: it is kept whole.
bool follow_segment(const c10::cuda::CUDACachingAllocator::TraceEntry& entry) {
  using Entry = c10::cuda::CUDACachingAllocator::TraceEntry;
  const bool comes = entry.action_ == Entry::SEGMENT_ALLOC || entry.action_ == Entry::SEGMENT_MAP;
  const bool goes = entry.action_ == Entry::SEGMENT_FREE || entry.action_ == Entry::SEGMENT_UNMAP;
  if (comes || goes) jitc_follow_memory(static_cast<uint64_t>(entry.addr_), entry.size_, comes);
  return comes || goes;
}

// Follows an entry. Called under the allocator's lock: must not call PyTorch.
void follow(const c10::cuda::CUDACachingAllocator::TraceEntry& entry) {
  using Entry = c10::cuda::CUDACachingAllocator::TraceEntry;
  if (follow_segment(entry)) return;
  if (entry.action_ != Entry::ALLOC && entry.action_ != Entry::FREE_COMPLETED) return;
  if (entry.device_ < 0 || static_cast<size_t>(entry.device_) >= kMostDevices) return;
  auto& all = tracked();
  const std::lock_guard lock(all.mutex);
  auto& blocks = all.devices[static_cast<size_t>(entry.device_)];
  if (entry.action_ == Entry::ALLOC)
    blocks.add(entry.addr_, entry.size_);
  else
    blocks.remove(entry.addr_);
}

void on_workspace(uint64_t address, size_t bytes, int set) {
  auto& all = tracked();
  const std::lock_guard lock(all.mutex);
  for (auto& device : all.devices)
    if (device.set_scratch(address, bytes, set != 0)) return;
}

thread_local bool in_step = false;
/// Steps in progress that compute gradients themselves (closures), in autograd's threads.
std::atomic<int> computing_steps{0};
/// Mark that this thread's step is one of them; a thread may end after a step that failed.
struct Computing {
  void set(bool wanted) {
    if (wanted != std::exchange(is, wanted)) computing_steps += wanted ? 1 : -1;
  }
  ~Computing() { set(false); }
  bool is = false;
};
thread_local Computing computing;
thread_local int phase = kForward;
std::atomic<int> newest_pass{-1};

/// Notes a backward pass; their numbers grow.
void note_pass(int pass) {
  int before = newest_pass.load(std::memory_order_relaxed);
  if (pass > before && newest_pass.compare_exchange_strong(before, pass)) jitc_backward_begins();
}

void set_phase(int wanted) {
  if (wanted == phase) return;
  phase = wanted;
  jitc_set_phase(wanted);
}

/// Calls use with the live blocks of all devices. Until it returns, no other thread gets a block from the
/// allocator or gives one back: each use of a block comes after the boundary, or the block is in the list.
template <class Use>
void with_live_blocks(Use&& use) {
  thread_local std::vector<jitc_live_block> live;
  live.clear();
  auto& all = tracked();
  const std::lock_guard lock(all.mutex);
  for (const auto& device : all.devices) device.list(live);
  static const jitc_live_block none{};
  use(live.empty() ? &none : live.data(), live.size());  // a list of none is no NULL
}

}  // namespace

void track_allocations() {
  c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker(&follow);
  jitc_set_workspace_listener(&on_workspace);
  tracked().following = true;
}

void step_begin(bool computes_gradients) {
  in_step = true;
  computing.set(computes_gradients);
  update_phase();
  if (!tracked().following) return jitc_step_begin();
  with_live_blocks(jitc_step_begin_live);
}

void step_end() {
  if (tracked().following)
    with_live_blocks(jitc_step_end);
  else
    jitc_step_end(nullptr, 0);
  in_step = false;
  computing.set(false);
  update_phase();
}

int current_phase() {
  if (in_step) return kOptimizer;
  const int pass = torch::autograd::get_current_graph_task_id();
  if (pass == -1) return kForward;
  note_pass(pass);
  return computing_steps.load(std::memory_order_relaxed) ? kOptimizer : kBackward;
}

void update_phase() { set_phase(current_phase()); }

}  // namespace jitc::torch_device
