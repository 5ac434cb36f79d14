// See memory_handlers.h.
#include "memory_handlers.h"

#include <algorithm>

#include "device/common/operands.h"
#include "device/cuda/issue/waiting.h"

namespace jitc::cuda {

/// Runs without the mutex: this session may have to give way to others before.
bool MemoryHandlers::others_make_room(uint64_t bytes) {
  if (!residency_.shares() || !memory_.could_have(bytes)) return false;
  residency_.expect_turns();
  issuer_.drain();
  bool made = false;
  {
    const Waiting waiting(issuer_);
    made = device::Residency::Use::current()->make_room(bytes);
  }
  if (!issuer_.running()) throw Abandoned{};
  return made;
}

/// Gives up freed memory retained for a roll-back: the program needs it more. A roll-back then finds other
/// content, and takes the block from a copy or a peer.
uint32_t MemoryHandlers::with_room(uint64_t bytes, const std::function<uint32_t()>& take) {
  uint32_t status = take();
  while (status == kMemoryAllocation && !memory_.fits(bytes)) {
    if (!others_make_room(bytes)) return status;
    status = take();
  }
  if (status != kMemoryAllocation) return status;
  issuer_.drain();
  while (status == kMemoryAllocation && memory_.shrink()) status = take();
  return status;
}

void MemoryHandlers::allocate(const ops::Allocate& op) {
  // Ops before a free may still use the old block: its addresses can be reused only after them. Rare: the
  // client lets addresses rest, and programs synchronize before they free.
  if (memory_.overlaps_freed(op.address, op.bytes)) issuer_.drain();
  const uint32_t status =
      with_room(op.bytes, [&] { return memory_.allocate(op.address, op.bytes, op.header.sequence); });
  if (status != kSuccess)
    refuse(status, status == kMemoryAllocation ? "out-of-memory" : "invalid-value",
           std::to_string(op.bytes) + " bytes at " + hex(op.address) +
               (status == kMemoryAllocation ? ": out of memory" : ": not free or not in the range"));
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header);
}

void MemoryHandlers::free(const ops::Free& op) {
  if (memory_.free(op.address) != kSuccess) refuse_value(hex(op.address) + " is not an allocation");
  issuer_.completed_synchronously(op.header);
}

void MemoryHandlers::hold(const ops::MemoryHold& op) {
  const uint32_t status = with_room(op.bytes, [&] { return memory_.hold(op.handle, op.bytes); });
  if (status != kSuccess)
    refuse(
        status, status == kMemoryAllocation ? "out-of-memory" : "invalid-value",
        std::to_string(op.bytes) + " bytes" +
            (status == kMemoryAllocation ? ": out of memory" : ": not a size, or the handle exists already"));
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header);
}

void MemoryHandlers::map(const ops::MemoryMap& op) {
  if (memory_.overlaps_freed(op.address, memory_.held(op.handle))) issuer_.drain();
  const uint32_t status = memory_.map_held(op.handle, op.address, op.header.sequence);
  if (status == kInvalidResourceHandle) refuse_handle("memory " + hex(op.handle) + " is not held");
  if (status != kSuccess) refuse_value(hex(op.address) + " is not free or not in the range");
  issuer_.completed_synchronously(op.header);
}

void MemoryHandlers::drop(const ops::MemoryDrop& op) {
  if (memory_.drop(op.handle) != kSuccess) refuse_handle("memory " + hex(op.handle) + " is not held");
  issuer_.completed_synchronously(op.header);
}

void MemoryHandlers::info(const ops::MemoryInfo& op) {
  const uint64_t total = memory_.total();
  const uint64_t available =
      residency_.shares() ? total - std::min(memory_.used(), total) : memory_.available();
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header, packed(available, total));
}

void MemoryHandlers::register_host(const ops::HostRegister& op) {
  host_ranges_.add(op.address, op.bytes);
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header);
}

/// Unregisters after pending work that may use the memory, like CUDA itself. Rare: programs keep it.
void MemoryHandlers::unregister_host(const ops::HostUnregister& op) {
  issuer_.drain();
  host_ranges_.remove(op.address);
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header);
}

}  // namespace jitc::cuda
