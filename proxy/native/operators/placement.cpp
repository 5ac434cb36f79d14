#include "operators/placement.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace jitc::operators {
namespace {

thread_local std::vector<Slot>* wanted = nullptr;
c10::Allocator* base = nullptr;

void keep(void*) {}

/// For memory from raw_allocate(), which may have come from a slot.
void release(void* address) {
  if (wanted)
    for (const Slot& slot : *wanted)
      if (slot.address == address) return;
  base->raw_deleter()(address);
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
    return base->allocate(bytes);
  }
  // Some kernels (oneDNN's) use raw_allocate(); what they get may be a slot, which is not theirs to free.
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* destination, const void* source, size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }
};

}  // namespace

Placement::Placement(std::vector<Slot>& slots) { wanted = &slots; }
Placement::~Placement() { wanted = nullptr; }

void install_placement_allocator() {
  static PlacingAllocator allocator;
  static const bool installed = [] {
    base = c10::GetCPUAllocator();
    c10::SetCPUAllocator(&allocator, 1);
    return true;
  }();
  (void)installed;
}

}  // namespace jitc::operators
