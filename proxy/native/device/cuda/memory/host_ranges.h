// Pinned memory of the program, made known to the driver: the GPU copies to it directly, and kernels use it
// at the address that the program has for it.
//
// Promises: what was registered is given back to the driver, at the latest by the destructor; nothing outside
// of the session's pinned memory is ever registered. Called by: Device, at rest where something is given
// back.
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
  /// memory: told of every range, so that ops may name it.
  HostRanges(std::shared_ptr<Context> context, PinnedRange pinned, Memory& memory)
      : context_(std::move(context)), pinned_(pinned), memory_(memory) {}
  ~HostRanges();
  HostRanges(const HostRanges&) = delete;
  HostRanges& operator=(const HostRanges&) = delete;

  /// All three throw OpError.
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
