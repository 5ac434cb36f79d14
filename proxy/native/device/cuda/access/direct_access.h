// Direct access to device memory while the device is idle: read, write, hash, overwrite.
//
// Promises: unallocated memory is not touched; if the driver fails, the device is at fault.
// Lock rule: none needed, any thread; one transfer at a time. Called by: Device.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "block_copier.h"
#include "device/common/run_state.h"
#include "device/cuda/hash/hasher.h"
#include "device/cuda/memory/memory.h"
#include "device/device_memory.h"
#include "transfer.h"

namespace jitc::cuda {

class DirectAccess {
 public:
  DirectAccess(std::shared_ptr<Context> context, const Memory& memory, device::Residency& residency,
               device::RunState& state, const std::string& nvrtc_path)
      : context_(context),
        memory_(memory),
        residency_(residency),
        state_(state),
        transfer_(context),
        copies_(context, memory, residency, state, transfer_),
        hasher_(context, nvrtc_path) {}
  DirectAccess(const DirectAccess&) = delete;
  DirectAccess& operator=(const DirectAccess&) = delete;

  // Same as in Backend.
  bool read(uint64_t address, std::span<std::byte> out);
  bool read_hashed(uint64_t address, std::span<std::byte> out, Hash& hash);
  bool write(uint64_t address, std::span<const std::byte> data);
  void hash_all(std::span<const MemoryRange> ranges, std::span<Hash> out);
  RegisteredCopies& copies() { return copies_; }
  bool hashes_itself() const { return hasher_.usable(); }
  /// Poisons the ranges; device: writes those that the GPU cannot write itself.
  void poison_all(std::span<const MemoryRange> ranges, DeviceMemory& device);

 private:
  /// Runs the work; false and a fault if the driver fails.
  template <class Work>
  bool tried(Work&& work);

  const std::shared_ptr<Context> context_;
  const Memory& memory_;
  device::Residency& residency_;
  device::RunState& state_;
  Transfer transfer_;
  RegisteredCopies copies_;
  Hasher hasher_;
};

}  // namespace jitc::cuda
