// Pinned host memory: ordinary memory of the process, in a table, so that copies know it.
//
// Promise: giving it back waits for the copies that still write to it.
#include <sys/mman.h>

#include <map>
#include <shared_mutex>

#include "memory.h"

namespace jitc::front {
namespace {

struct Range {
  uint64_t bytes;
  uint32_t flags;
  bool ours;  // allocated here, not registered
};
struct HostTable {
  std::shared_mutex mutex;
  std::map<uint64_t, Range> ranges;
};
HostTable& table() {
  static auto& out = *new HostTable;
  return out;
}

/// The range that holds [address, address + bytes); call with the lock held.
const Range* find(const HostTable& host, uint64_t address, uint64_t bytes) {
  auto after = host.ranges.upper_bound(address);
  if (after == host.ranges.begin()) return nullptr;
  const auto& [start, range] = *std::prev(after);
  const uint64_t offset = address - start;
  return offset < range.bytes && bytes <= range.bytes - offset ? &range : nullptr;
}

Status remove(void* pointer, bool ours, Status missing) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  HostTable& host = table();
  uint64_t bytes;
  {
    std::shared_lock lock(host.mutex);
    const auto found = host.ranges.find(address);
    if (found == host.ranges.end() || found->second.ours != ours) return missing;
    bytes = found->second.bytes;
  }
  // A copy that fails has told its session; the memory goes either way.
  (void)settle_host_range(address, bytes);
  std::unique_lock lock(host.mutex);
  if (!host.ranges.erase(address)) return missing;
  if (ours) munmap(pointer, bytes);
  return kSuccess;
}

}  // namespace

bool is_pinned(uint64_t address, uint64_t bytes) {
  HostTable& host = table();
  std::shared_lock lock(host.mutex);
  return find(host, address, bytes) != nullptr;
}
bool pinned_flags(uint64_t address, uint32_t* flags) {
  HostTable& host = table();
  std::shared_lock lock(host.mutex);
  const Range* range = find(host, address, 1);
  if (range) *flags = range->flags;
  return range != nullptr;
}

int32_t cudaHostAlloc(void** pointer, size_t bytes, uint32_t flags) {
  if (!pointer) return kInvalidValue;
  *pointer = nullptr;
  if (!bytes) return kSuccess;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return kOutOfMemory;
  HostTable& host = table();
  std::unique_lock lock(host.mutex);
  host.ranges[reinterpret_cast<uint64_t>(memory)] = {bytes, flags, true};
  *pointer = memory;
  return kSuccess;
}
int32_t cudaMallocHost(void** pointer, size_t bytes) { return cudaHostAlloc(pointer, bytes, 0); }
int32_t cudaFreeHost(void* pointer) { return pointer ? remove(pointer, true, kInvalidValue) : kSuccess; }

int32_t cudaHostRegister(void* pointer, size_t bytes, uint32_t flags) {
  if (!pointer || !bytes) return kInvalidValue;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  HostTable& host = table();
  std::unique_lock lock(host.mutex);
  const auto next = host.ranges.lower_bound(address);
  if (find(host, address, 1) || (next != host.ranges.end() && next->first < address + bytes))
    return kAlreadyRegistered;
  host.ranges[address] = {bytes, flags, false};
  return kSuccess;
}
int32_t cudaHostUnregister(void* pointer) { return remove(pointer, false, kNotRegistered); }
int32_t cudaHostGetDevicePointer(uint64_t* device_pointer, void* pointer, uint32_t) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (!device_pointer || !is_pinned(address, 1)) return kInvalidValue;
  *device_pointer = address;
  return kSuccess;
}
int32_t cudaHostGetFlags(uint32_t* flags, void* pointer) {
  return flags && pinned_flags(reinterpret_cast<uint64_t>(pointer), flags) ? kSuccess : kInvalidValue;
}

}  // namespace jitc::front
