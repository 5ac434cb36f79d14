// Handlers of memory: allocate, free, query; pinned memory of the program that ops may use.
//
// Allocations may have to wait for the device: freed addresses and memory can still be in use. Called by:
// Device::enqueue through its registry, with its mutex held.
#pragma once
#include "device/backend_options.h"
#include "device/common/handlers.h"
#include "device/software/issue/issuer.h"
#include "device/software/memory/memory.h"

namespace jitc::software {

class MemoryHandlers {
 public:
  MemoryHandlers(const Issuer& issuer, Memory& memory, device::Residency& residency, PinnedRange pinned)
      : issuer_(issuer), memory_(memory), residency_(residency), pinned_(pinned) {}

 private:
  void allocate(const ops::Allocate& op);
  void free(const ops::Free& op);
  void hold(const ops::MemoryHold& op);
  void map(const ops::MemoryMap& op);
  void drop(const ops::MemoryDrop& op);
  void info(const ops::MemoryInfo& op);
  void register_host(const ops::HostRegister& op);
  void unregister_host(const ops::HostUnregister& op);
  void make_room(uint64_t bytes);
  template <class Take>
  uint32_t taken(uint64_t bytes, Take&& take);
  void wait_for_freed(uint64_t address, uint64_t bytes);

  const Issuer& issuer_;
  Memory& memory_;
  device::Residency& residency_;
  const PinnedRange pinned_;  // shared with the program

 public:
  using Handled = HandlerList<&MemoryHandlers::allocate, &MemoryHandlers::free, &MemoryHandlers::hold,
                              &MemoryHandlers::map, &MemoryHandlers::drop, &MemoryHandlers::info,
                              &MemoryHandlers::register_host, &MemoryHandlers::unregister_host>;
};

}  // namespace jitc::software
