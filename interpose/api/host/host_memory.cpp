// Table of pinned host memory, by which copies recognize it. Pinned memory is shared with the worker of the
// thread's device if possible, else it is ordinary memory of the process. Registered memory is left
// unchanged.
//
// Promises: freeing waits for copies that still write to the memory; freeing shared memory waits for all
// work.
#include "host_memory.h"

#include <sys/mman.h>

#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "api/generated/generated_api.h"
#include "host_copy.h"
#include "jitc/generated_ops.h"
#include "pinned_space.h"
#include "session/message.h"

namespace jitc::api {
namespace {

struct Range {
  uint64_t bytes;
  uint32_t flags;
  bool ours;                   // allocated here, not registered
  Session* session = nullptr;  // the worker of this session shares it
};
struct HostTable {
  std::shared_mutex mutex;
  std::map<uint64_t, Range> ranges;
};
HostTable& table() {
  static auto& out = *new HostTable;
  return out;
}

/// Returns the range that holds [address, address + bytes). Requires the lock.
const Range* find(const HostTable& host, uint64_t address, uint64_t bytes) {
  auto after = host.ranges.upper_bound(address);
  if (after == host.ranges.begin()) return nullptr;
  const auto& [start, range] = *std::prev(after);
  const uint64_t offset = address - start;
  return offset < range.bytes && bytes <= range.bytes - offset ? &range : nullptr;
}

struct PinnedSpaces {
  std::mutex mutex;
  std::unordered_map<const Session*, PinnedSpace*> by_session;
};

/// Returns a session's space; made on first use, never destroyed. Reports once why there is none.
PinnedSpace& space_of(const Session& session) {
  static auto& all = *new PinnedSpaces;
  const std::lock_guard lock(all.mutex);
  PinnedSpace*& space = all.by_session[&session];
  if (space) return *space;
  space = new PinnedSpace(session.pinned());
  if (!space->missing().empty() && session.pinned().bytes > 0)
    session::message_once("pinned memory is not shared with the worker, copies travel through its socket: " +
                          space->missing());
  return *space;
}

void report_full(const Session& session) {
  session::message_once("pinned memory of this GPU beyond " + std::to_string(session.pinned().bytes >> 20) +
                        " MiB is not shared with the worker, copies travel through its socket: give the "
                        "service more with jitc-proxyd --pinned-limit");
}

/// Allocates memory shared with the worker of the thread's device.
void* allocate_shared(uint64_t bytes, Session** owner) {
  Status status = kSuccess;
  Session* const session = current_session(&status);
  void* const memory = session ? take_shared(*session, bytes) : nullptr;
  if (memory) *owner = session;
  return memory;
}

/// Releases memory by an op that waits for all possible uses: copies that the worker has not journaled, and
/// kernels. When the session is over, nothing uses it any more.
void release_shared(Session& session, void* memory, uint64_t bytes) {
  ops::HostUnregister op;
  op.address = reinterpret_cast<uint64_t>(memory);
  (void)session.call(op);
  space_of(session).give_back(memory, bytes);
}

/// Removes the range from the table, so that it is freed only once.
Status remove(void* pointer, bool ours, Status missing) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  HostTable& host = table();
  Range range;
  {
    std::shared_lock lock(host.mutex);
    const auto found = host.ranges.find(address);
    if (found == host.ranges.end() || found->second.ours != ours) return missing;
    range = found->second;
  }
  // A failed copy has ended its session; the memory is freed either way.
  (void)wait_for_host_copies(address, range.bytes);
  {
    std::unique_lock lock(host.mutex);
    if (!host.ranges.erase(address)) return missing;
    if (ours && !range.session) munmap(pointer, range.bytes);
  }
  if (range.session) release_shared(*range.session, pointer, range.bytes);
  return kSuccess;
}

}  // namespace

HostRange host_range(uint64_t address, uint64_t bytes) {
  HostTable& host = table();
  std::shared_lock lock(host.mutex);
  const Range* range = find(host, address, bytes);
  return {address, bytes, range != nullptr, range ? range->session : nullptr};
}
std::byte* take_shared(Session& session, uint64_t bytes) {
  PinnedSpace& space = space_of(session);
  if (!space.missing().empty()) return nullptr;
  void* const memory = space.take(bytes);
  if (!memory) return report_full(session), nullptr;
  ops::HostRegister op;
  op.address = reinterpret_cast<uint64_t>(memory);
  op.bytes = PinnedSpace::rounded(bytes);
  if (session.call(op).status == 0) return static_cast<std::byte*>(memory);
  session::message_once("the worker could not register pinned memory: copies travel through its socket");
  space.give_back(memory, bytes);
  return nullptr;
}
uint64_t shared_bytes(const Session& session) {
  return space_of(session).missing().empty() ? session.pinned().bytes : 0;
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
  Session* session = nullptr;
  void* memory = allocate_shared(bytes, &session);
  if (!memory) memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return kMemoryAllocation;
  HostTable& host = table();
  std::unique_lock lock(host.mutex);
  host.ranges[reinterpret_cast<uint64_t>(memory)] = {bytes, flags, true, session};
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
    return kHostMemoryAlreadyRegistered;
  host.ranges[address] = {bytes, flags, false, nullptr};
  return kSuccess;
}
int32_t cudaHostUnregister(void* pointer) { return remove(pointer, false, kHostMemoryNotRegistered); }
int32_t cudaHostGetDevicePointer(uint64_t* device_pointer, void* pointer, uint32_t) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const HostRange there = host_range(address, 1);
  if (!device_pointer || !there.pinned) return kInvalidValue;
  if (runs_kernels() && !there.mapped_by) {
    session::message_once(
        "cudaHostGetDevicePointer: this pinned memory is not shared with the worker, so kernels cannot use "
        "it; "
        "take it with cudaHostAlloc, or copy it to the device");
    return kNotSupported;
  }
  *device_pointer = address;
  return kSuccess;
}
int32_t cudaHostGetFlags(uint32_t* flags, void* pointer) {
  return flags && pinned_flags(reinterpret_cast<uint64_t>(pointer), flags) ? kSuccess : kInvalidValue;
}

}  // namespace jitc::api
