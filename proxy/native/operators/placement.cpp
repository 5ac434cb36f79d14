#include "operators/placement.h"

#include <ATen/ops/empty_like.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

namespace jitc::operators {
namespace {

/// Size below which allocations are not counted: many of them at a time are rare, and counting costs a lock.
constexpr size_t kCounted = 64 << 10;

thread_local std::vector<Slot>* wanted = nullptr;
c10::Allocator* base = nullptr;

/// Memory that this thread's operator holds outside of the device's memory.
struct Account {
  uint64_t limit = 0, used = 0;
  uint64_t number = 0;  // unique per operator
};
thread_local Account account;

/// Counted memory and its operator.
class Counted {
 public:
  void add(void* address, size_t bytes) {
    const std::lock_guard lock(mutex_);
    known_[address] = {bytes, account.number};
  }
  void remove(void* address) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(address);
    if (found == known_.end()) return;
    if (found->second.number == account.number) account.used -= found->second.bytes;
    known_.erase(found);
  }

 private:
  struct Entry {
    size_t bytes;
    uint64_t number;
  };
  std::mutex mutex_;
  std::unordered_map<void*, Entry> known_;
};
Counted& counted() {
  static Counted& one = *new Counted;  // outlives threads that still run at exit
  return one;
}

void keep(void*) {}

void release_counted(void* address) {
  counted().remove(address);
  base->raw_deleter()(address);
}

c10::DataPtr allocate_counted(size_t bytes) {
  const uint64_t left = account.limit - account.used;
  TORCH_CHECK_WITH(OutOfMemoryError, bytes <= left, "out of memory: an operator needs ", bytes,
                   " bytes for a result or on the way to it; it may hold ", account.limit,
                   " bytes, as much as the GPU has memory, and holds ", account.used);
  auto made = base->allocate(bytes);
  void* const address = made.release_context();
  counted().add(address, bytes);
  account.used += bytes;
  return {address, address, &release_counted, c10::Device(c10::DeviceType::CPU)};
}

/// Releases memory from raw_allocate(), which may have come from a slot.
void release(void* address) {
  if (wanted)
    for (const Slot& slot : *wanted)
      if (slot.address == address) return;
  release_counted(address);
}

Slot* take(size_t bytes) {
  if (!wanted || !bytes) return nullptr;
  for (Slot& slot : *wanted)
    if (!slot.used && slot.bytes == bytes) {
      slot.used = true;
      return &slot;
    }
  return nullptr;
}

class PlacingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (const Slot* slot = take(bytes))
      return {slot->address, slot->address, &keep, c10::Device(c10::DeviceType::CPU)};
    return account.limit && bytes >= kCounted ? allocate_counted(bytes) : base->allocate(bytes);
  }
  // Some kernels (oneDNN's) use raw_allocate(); what they get may be a slot, which is not theirs to free.
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* destination, const void* source, size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }
};

using at::Tensor;

/// Operators found by giving all of them results with gaps and permuted dimensions (tests/operators).
constexpr std::array<std::string_view, 6> kNames{
    "aten::avg_pool3d.out", "aten::gelu.out", "aten::linalg_lu.out",
    "aten::lu_unpack.out",  "aten::tril.out", "aten::triu.out",
};

}  // namespace

Placement::Placement(std::vector<Slot>& slots) { wanted = &slots; }
Placement::~Placement() { wanted = nullptr; }

MemoryLimit::MemoryLimit(uint64_t bytes) {
  static std::atomic<uint64_t> last{0};
  account = {bytes, 0, ++last};
}
MemoryLimit::~MemoryLimit() { account = {}; }

void install_placement_allocator() {
  static PlacingAllocator allocator;
  static const bool installed = [] {
    base = c10::GetCPUAllocator();
    c10::SetCPUAllocator(&allocator, 1);
    return true;
  }();
  (void)installed;
}

bool takes_results_for_contiguous(std::string_view name) {
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

PackedResults::PackedResults(const Operator& op, torch::jit::Stack& arguments) {
  if (!op.packs_results) return;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!op.written[i] || !arguments[i].isTensor()) continue;
    const Tensor given = arguments[i].toTensor();
    if (given.is_contiguous()) continue;
    const Tensor packed = at::empty_like(given, given.options(), at::MemoryFormat::Contiguous);
    given_and_packed_.emplace_back(given, packed);
    arguments[i] = packed;
  }
}

void put_back(const std::vector<GivenAndStandIn>& stand_ins, torch::jit::Stack& results) {
  for (const auto& [given, stand_in] : stand_ins) {
    if (given.sizes() != stand_in.sizes()) given.resize_(stand_in.sizes());  // as the kernel would do
    given.copy_(stand_in);
    for (auto& one : results)
      if (one.isTensor() && one.toTensor().is_same(stand_in)) one = given;
  }
}

}  // namespace jitc::operators
