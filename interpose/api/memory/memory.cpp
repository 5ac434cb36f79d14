// Device memory: allocate, free, fill, information; the default pool; attributes of pointers.
//
// Promises: addresses are chosen here; an allocation waits only until the device reports whether there is
// room; cudaFree waits for the device, as in CUDA, and cudaFreeAsync does not if its stream alone orders the
// work; freed memory is never another block's while work may use it. Small allocations share memory, as in
// CUDA.
#include "memory.h"

#include <array>
#include <cstring>
#include <unordered_map>

#include "api/generated/generated_api.h"
#include "api/module/variables.h"
#include "api/stream/capture.h"
#include "api/stream/order.h"
#include "jitc/generated_ops.h"
#include "jitc/packed_reader.h"

namespace jitc::api {
namespace {

constexpr uint64_t kPage = 4096, kPitch = 512;
constexpr const char* kNoPool =
    "memory of a stream's pool cannot be taken or given back in it: use cudaMalloc before";
// The default pool of device d is this plus d; a program can only pass a pool back to us.
constexpr uint64_t kDefaultPool = 0x4a495443'706f6f00;

struct Spaces {
  std::shared_mutex mutex;
  std::unordered_map<const Session*, AddressSpace*> by_session;
};
Spaces& spaces() {
  static auto& out = *new Spaces;
  return out;
}

Status fill(uint64_t address, uint64_t bytes, uint32_t value, uint32_t width, uint64_t stream) {
  if (!bytes) return kSuccess;
  StreamRef ref;
  if (const Status status = resolve_stream(stream, &ref)) return status;
  Session* owner = device_range(address, bytes);
  if (!owner || address % width) return kInvalidValue;
  return give_beside_memory(owner, ref, [&](const StreamRef& there) {
    auto op = on_stream<ops::Fill>(there.id);
    op.address = address;
    op.bytes = bytes;
    op.value = value;
    op.width = width;
    return submitted(*there.session, there.session->submit(op));
  });
}

/// Maps memory at an address that the session has chosen (0: none was left).
Status map_memory(Session& session, uint64_t address, uint64_t bytes) {
  if (!address) return kMemoryAllocation;
  ops::Allocate op;
  op.address = address;
  op.bytes = (bytes + kPage - 1) / kPage * kPage;
  return from_result(session.call(op).status);
}

Status add_slab(Session& session, AddressSpace& space) {
  const uint64_t slab = space.take_slab();
  const Status status = map_memory(session, slab, SmallBlocks::kSlab);
  if (!status) space.add_slab(slab);
  if (status && slab) space.drop_slab(slab);
  return status;
}

/// Reuses resting blocks for a device without free memory, once the ops that may use them are over.
bool use_what_rests(Session& session, AddressSpace& space) {
  return space.small_rest() && !session.call(ops::DeviceSynchronize{}).status &&
         space.unrest_small(is_over(session));
}

Status allocate_small(Session& session, uint64_t bytes, uint64_t* address) {
  AddressSpace& space = addresses_of(session);
  Status status = from_result(session.status());
  while (!status && !(*address = space.take_small(bytes))) {
    status = add_slab(session, space);
    if (status == kMemoryAllocation && use_what_rests(session, space)) status = kSuccess;
  }
  return status;
}

bool is_pool(uint64_t pool) { return visible_gpu(static_cast<int>(pool - kDefaultPool)) != nullptr; }

}  // namespace

AddressSpace& addresses_of(Session& session) {
  Spaces& all = spaces();
  {
    std::shared_lock lock(all.mutex);
    const auto found = all.by_session.find(&session);
    if (found != all.by_session.end()) return *found->second;
  }
  std::unique_lock lock(all.mutex);
  AddressSpace*& space = all.by_session[&session];
  if (!space) space = new AddressSpace(session.address_base(), session.address_bytes());
  return *space;
}

Session* device_range(uint64_t address, uint64_t bytes, Block* block) {
  Session* session = Node::instance().owner(address);
  if (!session) return variable_range(address, bytes, block);
  return addresses_of(*session).find(address, bytes, block) ? session : nullptr;
}

Status allocate(Session& session, uint64_t bytes, uint64_t* address) {
  if (!address) return kInvalidValue;
  *address = 0;
  if (!bytes) return kSuccess;
  if (bytes > session.address_bytes()) return kMemoryAllocation;
  if (bytes <= SmallBlocks::kLargest) return allocate_small(session, bytes, address);
  AddressSpace& space = addresses_of(session);
  const uint64_t taken = space.take(bytes);
  const Status status = map_memory(session, taken, bytes);
  uint64_t ignored;
  if (status) {
    space.give_back(taken, {}, &ignored);
    return status;
  }
  space.arrived(taken);
  *address = taken;
  return kSuccess;
}

Status release(uint64_t address, const LastUse& use) {
  if (!address) return kSuccess;
  Session* session = Node::instance().owner(address);
  auto op = on_stream<ops::Free>(use.stream);
  if (!session || !addresses_of(*session).give_back(address, use, &op.address)) return kInvalidValue;
  return op.address ? submitted(*session, session->submit(op)) : from_result(session->status());
}

AddressSpace::IsOver is_over(Session& session) {
  return [&session](const LastUse& use) {
    if (!session.find_executed(use.stream, use.sequence, Session::Wait::no)) return false;
    tell_waited(session, use.stream, use.sequence);
    return true;
  };
}

int32_t cudaMalloc(uint64_t* address, size_t bytes) {
  Status status = kSuccess;
  Session* session = current_session(&status);
  return session ? allocate(*session, bytes, address) : status;
}
int32_t cudaMallocAsync(uint64_t* address, size_t bytes, uint64_t stream) {
  StreamRef ref;
  Status status = resolve_stream(stream, &ref);
  if (!status) status = refuse_in_capture(ref, kNoPool);
  return status ? status : allocate(*ref.session, bytes, address);
}
int32_t cudaMallocPitch(uint64_t* address, size_t* pitch, size_t width, size_t height) {
  if (!pitch) return kInvalidValue;
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  if (height && *pitch > SIZE_MAX / height) return kMemoryAllocation;
  return cudaMalloc(address, *pitch * height);
}
int32_t cudaFree(uint64_t address) {
  Session* const session = address ? Node::instance().owner(address) : nullptr;
  const Status waited = session ? wait_for_device(*session) : kSuccess;
  const Status released = release(address, {});
  return released ? released : waited;
}
int32_t cudaFreeAsync(uint64_t address, uint64_t stream) {
  StreamRef ref;
  Status status = resolve_stream(stream, &ref);
  if (!status) status = refuse_in_capture(ref, kNoPool);
  if (status || !address) return status;
  // A session's knowledge of its streams does not cover another GPU's.
  const bool beside = Node::instance().owner(address) != ref.session;
  if (beside && (status = synchronize(ref))) return status;
  if (beside || !is_ordered_alone(stream)) return cudaFree(address);
  return release(address, {ref.id, ref.session->last_submitted(ref.id)});
}
int32_t cudaMemGetInfo(size_t* free, size_t* total) {
  Status status = kSuccess;
  Session* session = current_session(&status);
  if (!session) return status;
  if (!free || !total) return kInvalidValue;
  const session::Result result = session->call(ops::MemoryInfo{});
  if (result.status) return from_result(result.status);
  std::array<uint64_t, 2> numbers;
  if (!unpack(result.payload, &numbers)) return kUnknown;
  *free = numbers[0];
  *total = numbers[1];
  return kSuccess;
}
int32_t cuMemGetAddressRange_v2(uint64_t* base, size_t* bytes, uint64_t address) {
  Block block;
  if (!device_range(address, 0, &block)) return kSymbolNotFound;
  if (base) *base = block.address;
  if (bytes) *bytes = block.bytes;
  return kSuccess;
}

int32_t cudaMemsetAsync(uint64_t address, int32_t value, size_t count, uint64_t stream) {
  return fill(address, count, static_cast<uint8_t>(value), 1, stream);
}
int32_t cudaMemset(uint64_t address, int32_t value, size_t count) {
  return cudaMemsetAsync(address, value, count, 0);
}
int32_t cudaMemset2DAsync(uint64_t address, size_t pitch, int32_t value, size_t width, size_t height,
                          uint64_t stream) {
  if (width > pitch) return kInvalidPitchValue;
  if (pitch == width) return cudaMemsetAsync(address, value, width * height, stream);
  Status status = kSuccess;
  for (size_t row = 0; row < height && !status; ++row)
    status = cudaMemsetAsync(address + row * pitch, value, width, stream);
  return status;
}
int32_t cudaMemset2D(uint64_t address, size_t pitch, int32_t value, size_t width, size_t height) {
  return cudaMemset2DAsync(address, pitch, value, width, height, 0);
}
int32_t cuMemsetD8Async(uint64_t address, uint8_t value, size_t count, uint64_t stream) {
  return fill(address, count, value, 1, stream);
}
int32_t cuMemsetD16Async(uint64_t address, uint16_t value, size_t count, uint64_t stream) {
  return fill(address, count * 2, value, 2, stream);
}
int32_t cuMemsetD32Async(uint64_t address, uint32_t value, size_t count, uint64_t stream) {
  return fill(address, count * 4, value, 4, stream);
}
int32_t cuMemsetD8_v2(uint64_t address, uint8_t value, size_t count) {
  return fill(address, count, value, 1, 0);
}
int32_t cuMemsetD16_v2(uint64_t address, uint16_t value, size_t count) {
  return fill(address, count * 2, value, 2, 0);
}
int32_t cuMemsetD32_v2(uint64_t address, uint32_t value, size_t count) {
  return fill(address, count * 4, value, 4, 0);
}

// The default pool. Memory is freed at once, so there is nothing to trim or to set.
int32_t cudaDeviceGetDefaultMemPool(uint64_t* pool, int32_t device) {
  if (!pool) return kInvalidValue;
  if (!visible_gpu(device)) return kInvalidDevice;
  *pool = kDefaultPool + static_cast<uint64_t>(device);
  return kSuccess;
}
int32_t cudaDeviceGetMemPool(uint64_t* pool, int32_t device) {
  return cudaDeviceGetDefaultMemPool(pool, device);
}
int32_t cudaDeviceSetMemPool(int32_t device, uint64_t pool) {
  return visible_gpu(device) && is_pool(pool) ? kSuccess : kInvalidValue;
}
int32_t cudaMemPoolTrimTo(uint64_t pool, size_t) { return is_pool(pool) ? kSuccess : kInvalidValue; }
int32_t cudaMemPoolGetAttribute(uint64_t pool, int32_t attribute, uint64_t* value) {
  constexpr int32_t kFirstWide = 4;  // the preceding ones are switches, of type int
  if (!value || !is_pool(pool)) return kInvalidValue;
  std::memset(value, 0, attribute < kFirstWide ? sizeof(int32_t) : sizeof(uint64_t));
  return kSuccess;
}
int32_t cudaMemPoolSetAttribute(uint64_t pool, int32_t, const uint64_t* value) {
  return value && is_pool(pool) ? kSuccess : kInvalidValue;
}
int32_t cudaMemPoolSetAccess(uint64_t pool, const void*, size_t) {
  return is_pool(pool) ? kSuccess : kInvalidValue;
}

}  // namespace jitc::api
