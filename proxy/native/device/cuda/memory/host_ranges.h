// Pinned memory of the program, registered with the driver: the GPU copies to it directly, and kernels use it
// at the program's address.
//
// Promises: registered memory is unregistered, at the latest by the destructor; nothing outside of the
// session's pinned memory is ever registered. Called by: Device, idle for unregistering.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/backend_options.h"
#include "device/cuda/driver/context.h"
#include "device/resources.h"
#include "memory.h"

namespace jitc::cuda {

class HostRanges {
 public:
  /// memory: notified of every range, so that ops may name it.
  HostRanges(std::shared_ptr<Context> context, PinnedRange pinned, Memory& memory)
      : context_(std::move(context)), pinned_(pinned), memory_(memory) {}
  ~HostRanges();
  HostRanges(const HostRanges&) = delete;
  HostRanges& operator=(const HostRanges&) = delete;

  /// Registers a range. These three functions throw OpError.
  void add(uint64_t address, uint64_t bytes);
  void remove(uint64_t address);
  void restore(const std::vector<Resources::HostRange>& wanted);

 private:
  void give_back(uint64_t address) const;

  const std::shared_ptr<Context> context_;
  const PinnedRange pinned_;
  Memory& memory_;
  std::map<uint64_t, uint64_t> ranges_;  // address to bytes
};

}  // namespace jitc::cuda
