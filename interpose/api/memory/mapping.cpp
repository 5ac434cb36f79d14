// Device memory mapped by hand: reserved addresses, physical memory, and mappings between them.
//
// Promises: reserving addresses needs no request, because the process chooses them; creating physical memory
// waits until the device reports whether there is room; mapped memory is an allocation like any other, and
// unmapping frees it. A handle is mapped as a whole and only once, so that its content has one address, in
// the live set and in a replay.
#include <algorithm>
#include <utility>

#include "api/common/handles.h"
#include "api/generated/generated_api.h"
#include "jitc/generated_ops.h"
#include "memory.h"
#include "session/message.h"

namespace jitc::api {
namespace {

constexpr uint64_t kGranule = 2u << 20;
constexpr int32_t kPinnedAllocation = 1, kDeviceLocation = 1;
constexpr int32_t kReadWrite = 3;

struct Physical {
  Session* session = nullptr;
  uint64_t bytes = 0;
  AllocationProp properties{};
  bool mapped = false;  // or was
};
using Table = HandleTable<Physical, Kind::memory>;
Table& memories() {
  static auto& out = *new Table;
  return out;
}

Status not_served(const char* what) {
  session::message_once(what);
  return kNotSupported;
}

Status check(const AllocationProp* properties) {
  if (!properties || properties->type != kPinnedAllocation) return kInvalidValue;
  if (properties->location.type != kDeviceLocation)
    return not_served("cuMemCreate: only memory of a device can be mapped by hand");
  return visible_gpu(properties->location.id) ? kSuccess : kInvalidDevice;
}

bool is_size(uint64_t bytes) { return bytes && bytes % kGranule == 0; }

/// Claims the handle for a mapping; at most one succeeds.
bool claim(uint64_t handle) {
  bool first = false;
  memories().update(handle, [&](Physical& memory) { first = !std::exchange(memory.mapped, true); });
  return first;
}

Status check_access(const MemoryAccess& access, int device) {
  if (access.location.type != kDeviceLocation)
    return not_served("cuMemSetAccess: only devices have access to device memory");
  if (!visible_gpu(access.location.id)) return kInvalidDevice;
  if (access.location.id == device && access.flags != kReadWrite)
    return not_served("cuMemSetAccess: what is mapped can be read and written, not less");
  return kSuccess;
}

}  // namespace

int32_t cuMemAddressReserve(uint64_t* address, size_t bytes, size_t alignment, uint64_t, uint64_t flags) {
  if (!address || flags || !is_size(bytes) || (alignment & (alignment - 1))) return kInvalidValue;
  Status status = kSuccess;
  Session* session = current_session(&status);
  if (!session) return status;
  *address = addresses_of(*session).reserve(bytes, alignment);
  return *address ? kSuccess : kMemoryAllocation;
}
int32_t cuMemAddressFree(uint64_t address, size_t bytes) {
  Session* session = Node::instance().owner(address);
  return session && addresses_of(*session).unreserve(address, bytes) ? kSuccess : kInvalidValue;
}

int32_t cuMemCreate(uint64_t* handle, size_t bytes, const AllocationProp* properties, uint64_t flags) {
  if (!handle || flags || !is_size(bytes)) return kInvalidValue;
  Status status = check(properties);
  Session* session = status ? nullptr : session_of(properties->location.id, &status);
  if (!session) return status;
  if (bytes > session->address_bytes()) return kMemoryAllocation;
  ops::MemoryHold op;
  op.handle = memories().add({session, bytes, *properties});
  op.bytes = bytes;
  status = from_result(session->call(op).status);
  Physical failed;
  if (status)
    memories().remove(op.handle, &failed);
  else
    *handle = op.handle;
  return status;
}

/// Releases the handle. Mapped memory stays until it is unmapped.
int32_t cuMemRelease(uint64_t handle) {
  Physical memory;
  if (!memories().remove(handle, &memory)) return kInvalidValue;
  if (memory.mapped) return kSuccess;
  ops::MemoryDrop op;
  op.handle = handle;
  return submitted(*memory.session, memory.session->submit(op));
}

int32_t cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags) {
  Physical memory;
  Session* owner = Node::instance().owner(address);
  if (flags || !owner || !memories().get(handle, &memory)) return kInvalidValue;
  if (offset || bytes != memory.bytes)
    return not_served("cuMemMap: physical memory can only be mapped as a whole");
  if (owner != memory.session)
    return not_served("cuMemMap: the addresses were reserved while another device was current");
  if (!claim(handle)) return not_served("cuMemMap: physical memory can be mapped once only");
  if (!addresses_of(*owner).map(address, bytes)) {
    memories().update(handle, [](Physical& again) { again.mapped = false; });
    return kInvalidValue;
  }
  ops::MemoryMap op;
  op.handle = handle;
  op.address = address;
  const Status status = submitted(*owner, owner->submit(op));
  addresses_of(*owner).arrived(address);
  return status;
}

int32_t cuMemUnmap(uint64_t address, size_t bytes) {
  Session* session = Node::instance().owner(address);
  if (!session) return kInvalidValue;
  const std::vector<Block> blocks = addresses_of(*session).unmap(address, bytes);
  Status status = blocks.empty() ? kInvalidValue : kSuccess;
  for (const Block& block : blocks) {
    ops::Free op;
    op.address = block.address;
    status = std::max(status, submitted(*session, session->submit(op)));
  }
  return status;
}

int32_t cuMemSetAccess(uint64_t address, size_t bytes, const MemoryAccess* access, size_t count) {
  Session* session = Node::instance().owner(address);
  if (!access || !count || !session || !addresses_of(*session).is_mapped(address, bytes))
    return kInvalidValue;
  Status status = kSuccess;
  for (size_t i = 0; i < count && !status; ++i) status = check_access(access[i], device_of(session));
  return status;
}

int32_t cuMemGetAccess(uint64_t* flags, const MemoryLocation* location, uint64_t address) {
  Session* session = Node::instance().owner(address);
  if (!flags || !location || !session || !addresses_of(*session).is_mapped(address, 1)) return kInvalidValue;
  const bool own = location->type == kDeviceLocation && location->id == device_of(session);
  *flags = own ? kReadWrite : 0;
  return kSuccess;
}

int32_t cuMemGetAllocationGranularity(size_t* granularity, const AllocationProp* properties, int32_t) {
  if (!granularity) return kInvalidValue;
  *granularity = kGranule;
  return check(properties);
}

int32_t cuMemGetAllocationPropertiesFromHandle(AllocationProp* properties, uint64_t handle) {
  Physical memory;
  if (!properties || !memories().get(handle, &memory)) return kInvalidValue;
  *properties = memory.properties;
  return kSuccess;
}

}  // namespace jitc::api
