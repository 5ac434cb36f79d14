// Addresses, physical memory and mappings (cuMem*), and what has its address from the driver (cuMemAlloc).
#include "../common/devices.h"
#include "call.h"
#include "functions.h"

namespace jitc::fakes {
namespace {
constexpr int kFileDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

Memory& memory() { return Memory::instance(); }

/// Only pinned memory on a device, optionally exportable as a file descriptor.
int device_of(const CUmemAllocationProp* property) {
  const bool good = needed(property)->type == 1 && property->location.type == 1 &&
                    (property->requestedHandleTypes & ~kFileDescriptor) == 0;
  if (!good) throw Failure{kInvalidValue};
  const int device = property->location.id;
  if (device < 0 || static_cast<size_t>(device) >= Driver::instance().devices.size())
    throw Failure{kInvalidDevice};
  return device;
}

Field address(CUdeviceptr value) { return Field::address("address", value); }
Field size_field(size_t value) { return Field::count("size", value); }
Field handle_field(unsigned long long value) { return Field::address("handle", value); }
}  // namespace

int cuMemAddressReserve(CUdeviceptr* out, size_t size, size_t alignment, CUdeviceptr wanted,
                        unsigned long long flags) {
  return call("cuMemAddressReserve", Needs::driver,
              {size_field(size), Field::count("alignment", alignment), Field::address("wanted", wanted)},
              [&](Call& call) {
                if (flags) throw Failure{kInvalidValue};
                *needed(out) = memory().reserve(size, alignment, wanted);
                call.note(Field::address("out", *out));
              });
}

int cuMemAddressFree(CUdeviceptr start, size_t size) {
  return call("cuMemAddressFree", Needs::driver, {address(start), size_field(size)},
              [&](Call&) { memory().give_back(start, size); });
}

int cuMemCreate(unsigned long long* out, size_t size, const CUmemAllocationProp* property,
                unsigned long long flags) {
  return call("cuMemCreate", Needs::context, {size_field(size)}, [&](Call& call) {
    if (flags) throw Failure{kInvalidValue};
    const int device = device_of(property);
    if (property->gpuDirectRDMACapable && rdma() != Kind::works) throw Failure{kNotSupported};
    const bool exported = property->requestedHandleTypes & kFileDescriptor;
    if (exported && exports() != Kind::works) throw Failure{kNotSupported};
    *needed(out) = memory().create(size, device, exported);
    call.note(Field::address("out", *out));
  });
}

int cuMemRelease(unsigned long long handle) {
  return call("cuMemRelease", Needs::context, {handle_field(handle)},
              [&](Call&) { memory().release(handle); });
}

int cuMemRetainAllocationHandle(unsigned long long* out, void* start) {
  return call("cuMemRetainAllocationHandle", Needs::context, {Field::address("address", start)},
              [&](Call& call) {
                *needed(out) = memory().retain(reinterpret_cast<CUdeviceptr>(start));
                call.note(Field::address("out", *out));
              });
}

/// Only what was made for it, and only as a file descriptor.
int cuMemExportToShareableHandle(void* out, unsigned long long handle, int type, unsigned long long flags) {
  return call("cuMemExportToShareableHandle", Needs::context, {handle_field(handle)}, [&](Call&) {
    if (flags || type != kFileDescriptor) throw Failure{kInvalidValue};
    *static_cast<int*>(needed(out)) = memory().exported(handle);
  });
}

int cuMemMap(CUdeviceptr start, size_t size, size_t offset, unsigned long long handle,
             unsigned long long flags) {
  return call("cuMemMap", Needs::context,
              {address(start), size_field(size), Field::count("offset", offset), handle_field(handle)},
              [&](Call&) {
                if (flags) throw Failure{kInvalidValue};
                memory().map(start, size, offset, handle);
              });
}

int cuMemUnmap(CUdeviceptr start, size_t size) {
  return call("cuMemUnmap", Needs::context, {address(start), size_field(size)},
              [&](Call&) { memory().unmap(start, size); });
}

int cuMemSetAccess(CUdeviceptr start, size_t size, const CUmemAccessDesc* access, size_t count) {
  return call("cuMemSetAccess", Needs::context,
              {address(start), size_field(size), Field::count("count", count)}, [&](Call&) {
                for (size_t each = 0; each < count; ++each) {
                  const int flags = needed(access)[each].flags;
                  if (flags != 0 && flags != 1 && flags != 3) throw Failure{kInvalidValue};
                  memory().set_access(start, size, flags);
                }
              });
}

int cuMemGetAllocationGranularity(size_t* out, const CUmemAllocationProp* property, int option) {
  return call("cuMemGetAllocationGranularity", Needs::driver,
              {Field::count("option", static_cast<uint64_t>(option))}, [&](Call&) {
                device_of(property);
                *needed(out) = Memory::kGranularity;
              });
}

int cuMemGetInfo_v2(size_t* free, size_t* total) {
  return call("cuMemGetInfo_v2", Needs::context, {}, [&](Call& call) {
    *needed(total) = Memory::total();
    *needed(free) = Memory::total() - memory().used(call.context().ordinal);
  });
}

int cuMemAlloc_v2(CUdeviceptr* out, size_t size) {
  return call("cuMemAlloc_v2", Needs::unsafe, {size_field(size)}, [&](Call& call) {
    *needed(out) = memory().allocate(size, call.context().ordinal);
    call.note(Field::address("out", *out));
  });
}

/// Waits for all work, as cuMemFree does.
int cuMemFree_v2(CUdeviceptr start) {
  return call("cuMemFree_v2", Needs::unsafe, {address(start)}, [&](Call& call) {
    if (!start) return;
    auto lock = locked();
    call.context().wait_all(lock, call.context().tails());
    lock.unlock();
    memory().free(start);
  });
}

int cuMemHostAlloc(void** out, size_t size, unsigned flags) {
  return call("cuMemHostAlloc", Needs::unsafe, {size_field(size), Field::count("flags", flags)},
              [&](Call& call) {
                if (flags & ~7u) throw Failure{kInvalidValue};
                *needed(out) = memory().allocate_host(size);
                call.note(Field::address("out", *out));
              });
}

int cuMemFreeHost(void* start) {
  return call("cuMemFreeHost", Needs::unsafe, {Field::address("address", start)}, [&](Call& call) {
    auto lock = locked();
    call.context().wait_all(lock, call.context().tails());
    lock.unlock();
    memory().free_host(start);
  });
}

int cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* start, unsigned flags) {
  return call("cuMemHostGetDevicePointer_v2", Needs::context, {Field::address("address", start)}, [&](Call&) {
    if (flags || !memory().pinned(start, 1)) throw Failure{kInvalidValue};
    *needed(out) = reinterpret_cast<CUdeviceptr>(start);
  });
}

int cuMemHostRegister_v2(void* start, size_t size, unsigned flags) {
  return call("cuMemHostRegister_v2", Needs::unsafe,
              {Field::address("address", start), size_field(size), Field::count("flags", flags)},
              [&](Call&) { memory().register_host(start, size); });
}

int cuMemHostUnregister(void* start) {
  return call("cuMemHostUnregister", Needs::unsafe, {Field::address("address", start)}, [&](Call& call) {
    call.context().wait_if_asked();
    memory().unregister_host(start);
  });
}

int cuPointerGetAttribute(void* out, int attribute, CUdeviceptr pointer) {
  return call("cuPointerGetAttribute", Needs::driver,
              {Field::count("attribute", static_cast<uint64_t>(attribute)), address(pointer)}, [&](Call&) {
                const int device = memory().device_of(pointer);
                const bool host = memory().pinned(reinterpret_cast<void*>(pointer), 1);
                if (device < 0 && !host) throw Failure{kInvalidValue};
                if (attribute == 2)  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
                  *static_cast<unsigned*>(needed(out)) = host ? 1 : 2;
                else if (attribute == 9)  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
                  *static_cast<int*>(needed(out)) = host ? 0 : device;
                else
                  throw Failure{kNotSupported};
              });
}

}  // namespace jitc::fakes
