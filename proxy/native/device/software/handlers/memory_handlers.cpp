// See memory_handlers.h.
#include "memory_handlers.h"

#include "device/common/operands.h"
#include "device/software/errors/error.h"

namespace jitc::software {

/// Waits for ops before a free, which may still use the old block: its pages can be moved aside, or freed,
/// only after them. Rare: programs synchronize before they free.
void MemoryHandlers::wait_for_freed(uint64_t address, uint64_t bytes) {
  if (memory_.overlaps_freed(address, bytes)) issuer_.drain();
}

/// Releases retained freed blocks for the program's request.
void MemoryHandlers::make_room(uint64_t bytes) {
  if (memory_.has_room(bytes)) return;
  issuer_.drain();
  memory_.give_up_freed(bytes);
}

/// Lets other sessions that have the GPU's memory give way.
template <class Take>
uint32_t MemoryHandlers::taken(uint64_t bytes, Take&& take) {
  device::Residency::Use use(residency_);
  uint32_t status = take();
  while (status == kMemoryAllocation && use.make_room(bytes)) status = take();
  return status;
}

void MemoryHandlers::allocate(const ops::Allocate& op) {
  make_room(op.bytes);
  wait_for_freed(op.address, op.bytes);
  if (const uint32_t status =
          taken(op.bytes, [&] { return memory_.allocate(op.address, op.bytes, op.header.sequence); }))
    refuse(status, status == kMemoryAllocation ? "out-of-memory" : "invalid-value",
           std::to_string(op.bytes) + " bytes at " + hex(op.address) +
               (status == kMemoryAllocation ? ": the memory limit is reached"
                                            : ": not free or not in the range"));
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header);
}

void MemoryHandlers::free(const ops::Free& op) {
  const device::Residency::Use use(residency_);
  if (memory_.free(op.address, op.header.sequence) != kSuccess)
    refuse_value(hex(op.address) + " is not an allocation");
  issuer_.completed_synchronously(op.header);
}

void MemoryHandlers::hold(const ops::MemoryHold& op) {
  make_room(op.bytes);
  if (const uint32_t status = taken(op.bytes, [&] { return memory_.hold(op.handle, op.bytes); }))
    refuse(status, status == kMemoryAllocation ? "out-of-memory" : "invalid-value",
           std::to_string(op.bytes) + " bytes" +
               (status == kMemoryAllocation ? ": the memory limit is reached"
                                            : ": not a size, or the handle exists already"));
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header);
}

void MemoryHandlers::map(const ops::MemoryMap& op) {
  wait_for_freed(op.address, memory_.held(op.handle));
  const device::Residency::Use use(residency_);
  const uint32_t status = memory_.map_held(op.handle, op.address, op.header.sequence);
  if (status == kInvalidResourceHandle) refuse_handle("memory " + hex(op.handle) + " is not held");
  if (status == kInvalidValue) refuse_value(hex(op.address) + " is not free or not in the range");
  if (status) refuse(status, "out-of-memory", "the host has no pages for held memory");
  issuer_.completed_synchronously(op.header);
}

void MemoryHandlers::drop(const ops::MemoryDrop& op) {
  const device::Residency::Use use(residency_);
  if (memory_.drop(op.handle) != kSuccess) refuse_handle("memory " + hex(op.handle) + " is not held");
  issuer_.completed_synchronously(op.header);
}

void MemoryHandlers::info(const ops::MemoryInfo& op) {
  issuer_.completed_synchronously(op.header);
  issuer_.answer(
      op.header,
      packed(residency_.shares() ? memory_.limit() - memory_.used() : memory_.available(), memory_.limit()));
}

void MemoryHandlers::register_host(const ops::HostRegister& op) {
  if (!pinned_.find(op.address, op.bytes) || memory_.host_ranges().add(op.address, op.bytes) != kSuccess)
    refuse_value(std::to_string(op.bytes) + " bytes at " + hex(op.address) +
                 ": not pinned memory of this session, or registered already");
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header);
}

void MemoryHandlers::unregister_host(const ops::HostUnregister& op) {
  issuer_.drain();  // submitted ops may still use it
  if (memory_.host_ranges().remove(op.address) != kSuccess)
    refuse_value(hex(op.address) + " is not registered");
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header);
}

}  // namespace jitc::software
