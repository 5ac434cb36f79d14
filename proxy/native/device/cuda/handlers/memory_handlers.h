// Handlers of memory: allocate, free, query; pinned memory of the program that kernels may use.
//
// Sizes come from the client: each product and sum is checked before use. Allocations may have to wait for
// the device: freed addresses and memory can still be in use. Called by: Device::enqueue through its
// registry, with its mutex held.
#pragma once
#include <functional>

#include "device/common/handlers.h"
#include "device/cuda/issue/issuer.h"
#include "device/cuda/memory/host_ranges.h"

namespace jitc::cuda {

class MemoryHandlers {
 public:
  MemoryHandlers(Issuer& issuer, Memory& memory, device::Residency& residency, PinnedRange pinned)
      : issuer_(issuer),
        memory_(memory),
        residency_(residency),
        host_ranges_(issuer.context(), pinned, memory) {}
  /// Requires an idle device. Throws OpError.
  void restore(const std::vector<Resources::HostRange>& wanted) { host_ranges_.restore(wanted); }

 private:
  void allocate(const ops::Allocate& op);
  void free(const ops::Free& op);
  void hold(const ops::MemoryHold& op);
  void map(const ops::MemoryMap& op);
  void drop(const ops::MemoryDrop& op);
  void info(const ops::MemoryInfo& op);
  void register_host(const ops::HostRegister& op);
  void unregister_host(const ops::HostUnregister& op);
  bool others_make_room(uint64_t bytes);
  uint32_t with_room(uint64_t bytes, const std::function<uint32_t()>& take);

  Issuer& issuer_;
  Memory& memory_;
  device::Residency& residency_;
  HostRanges host_ranges_;

 public:
  using Handled = HandlerList<&MemoryHandlers::allocate, &MemoryHandlers::free, &MemoryHandlers::hold,
                              &MemoryHandlers::map, &MemoryHandlers::drop, &MemoryHandlers::info,
                              &MemoryHandlers::register_host, &MemoryHandlers::unregister_host>;
};

}  // namespace jitc::cuda
