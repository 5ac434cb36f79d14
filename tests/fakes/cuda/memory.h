// The fake GPU's memory: address reservations, physical memory, mappings, pinned host memory.
// A device address is only a number here: it is reserved without access, so that a host access to device
// memory crashes as it would on a GPU. The content lies in a second mapping ("shadow") at a constant distance
// from the reservation, which only work on streams looks at. Promises: physical memory keeps its content
// across unmap and map; what is not mapped and made accessible is an illegal address for work; nothing is
// unmapped under running work.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "abi.h"

namespace jitc::fakes {

/// Thrown by the fakes' own functions; becomes the result of the call, or the fault of the work.
struct Failure {
  int code;
};

class Memory {
 public:
  static constexpr size_t kGranularity = size_t{2} << 20;
  /// The process's only one; lives until the process ends.
  static Memory& instance();

  CUdeviceptr reserve(size_t size, size_t alignment, CUdeviceptr wanted);
  void give_back(CUdeviceptr address, size_t size);
  /// exported: it can be exported as a file descriptor.
  uint64_t create(size_t size, int device, bool exported = false);
  void release(uint64_t handle);
  /// The handle of what is mapped at the address; to be released once more.
  uint64_t retain(CUdeviceptr address);
  /// A new file descriptor.
  int exported(uint64_t handle);
  void map(CUdeviceptr address, size_t size, size_t offset, uint64_t handle);
  void unmap(CUdeviceptr address, size_t size);
  void set_access(CUdeviceptr address, size_t size, int flags);

  /// At the wanted address when it is free; 0: anywhere.
  CUdeviceptr allocate(size_t size, int device, CUdeviceptr wanted = 0);
  void free(CUdeviceptr address);
  void free_all(int device);

  void* allocate_host(size_t size);
  void free_host(void* address);
  void register_host(void* address, size_t size);
  void unregister_host(void* address);
  bool pinned(const void* address, size_t size);

  /// By all that use the device's GPU (gpu_use.h).
  size_t used(int device);
  /// What is taken beside blocks: contexts. Throws kOutOfMemory.
  void charge(int device, size_t size);
  void credit(int device, size_t size);
  static size_t total();
  bool on_device(CUdeviceptr address, size_t size);
  /// The device that the memory belongs to, or -1 where it is not mapped device memory.
  int device_of(CUdeviceptr address);

  /// Keeps every mapping in place while the lock is held; for work on streams.
  std::shared_lock<std::shared_mutex> hold() { return std::shared_lock(content_); }
  /// Where the content of device or pinned memory lies, for work that holds. Throws kIllegalAddress.
  std::byte* at(CUdeviceptr address, size_t size);

 private:
  struct Physical {
    size_t size;
    int device;
    off_t place;
    bool exported = false;
    int mappings = 0;
    int holders = 1;  // that have not released it
  };
  struct Mapping {
    size_t size;
    uint64_t handle;
    int access;
  };
  struct Reservation {
    size_t size;
    std::byte* shadow;
    bool linear = false;
    std::map<CUdeviceptr, Mapping> mappings = {};
  };
  using Reservations = std::map<CUdeviceptr, Reservation>;

  Memory();
  Reservations::iterator holder_of(CUdeviceptr address, size_t size);
  static bool covered(const Reservation& reservation, CUdeviceptr address, size_t size, bool accessible);
  CUdeviceptr reserve_locked(size_t size, size_t alignment, CUdeviceptr wanted);
  uint64_t create_locked(size_t size, int device, bool exported);
  void map_locked(CUdeviceptr address, size_t size, size_t offset, uint64_t handle);
  void unmap_one(Reservation& reservation, std::map<CUdeviceptr, Mapping>::iterator mapping);
  void drop(Reservations::iterator reservation);
  void drop_if_unused(std::map<uint64_t, Physical>::iterator physical);
  void free_locked(Reservations::iterator reservation);

  std::shared_mutex content_;
  int file_ = -1;
  off_t next_place_ = 0;
  uint64_t next_handle_ = 0x7a0000001;
  Reservations reservations_;
  std::map<uint64_t, Physical> physical_;
  struct Pinned {
    size_t size;
    bool ours;
  };
  std::map<const std::byte*, Pinned> pinned_;
};

}  // namespace jitc::fakes
