// cudaPointerGetAttributes and its counterparts in the driver's API: the kind of memory at a pointer.
#include "api/generated/generated_api.h"
#include "memory.h"
#include "place.h"

namespace jitc::api {
namespace {

/// CUpointer_attribute: those with an answer.
enum PointerAttribute : int32_t {
  kContext = 1,
  kMemoryType = 2,
  kDevicePointer = 3,
  kHostPointer = 4,
  kBufferId = 7,
  kIsManaged = 8,
  kDeviceOrdinal = 9,
  kIsLegacyIpcCapable = 10,
  kRangeStart = 11,
  kRangeSize = 12,
  kMapped = 13,
  kIsRdmaCapable = 15,
  kAccessFlags = 16,
  kMappingSize = 18,
  kMappingBase = 19,
  kIsHardwareDecompressCapable = 21,
};
/// CUmemorytype.
enum DriverMemoryType : int32_t { kHostMemory = 1, kDeviceMemory = 2 };

struct Pointer {
  int32_t type = kUnregistered, device = -2;
  Block block;
};

Pointer describe(uint64_t address) {
  Pointer out;
  const Place place = place_of(address, 1);
  if (place.on_device()) {
    if (!place.whole) return out;
    out.block = place.block;
    out.type = kDevice;
    out.device = device_of(place.session);
  } else if (place.host.pinned) {
    out.type = kHost;
    out.device = current_device();
  }
  return out;
}

/// Writes the attribute, in the type that the driver documents.
Status write_attribute(void* data, int32_t attribute, const Pointer& pointer, uint64_t address) {
  auto* number = static_cast<int32_t*>(data);
  auto* wide = static_cast<uint64_t*>(data);
  switch (attribute) {
    case kContext:
      *wide = context_of(pointer.device);
      return kSuccess;
    case kMemoryType:
      *number = pointer.type == kDevice ? kDeviceMemory : kHostMemory;
      return kSuccess;
    case kDevicePointer:
    case kHostPointer:
      *wide = address;
      return kSuccess;
    case kBufferId:
      *wide = pointer.block.ordinal + 1;
      return kSuccess;
    case kIsManaged:
    case kIsLegacyIpcCapable:
    case kIsRdmaCapable:
    case kAccessFlags:
    case kIsHardwareDecompressCapable:
      *static_cast<uint32_t*>(data) = 0;
      return kSuccess;
    case kDeviceOrdinal:
      *number = pointer.device;
      return kSuccess;
    case kRangeStart:
    case kMappingBase:
      *wide = pointer.block.address;
      return kSuccess;
    case kRangeSize:
    case kMappingSize:
      *wide = pointer.block.bytes;
      return kSuccess;
    case kMapped:
      *number = 1;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

}  // namespace

int32_t cudaPointerGetAttributes(PointerAttributes* attributes, uint64_t address) {
  if (!attributes) return kInvalidValue;
  const Pointer pointer = describe(address);
  *attributes = {};
  attributes->type = pointer.type;
  attributes->device = pointer.device;
  auto* as_given = reinterpret_cast<void*>(address);
  if (pointer.type != kUnregistered) attributes->device_pointer = as_given;
  if (pointer.type != kDevice) attributes->host_pointer = as_given;
  return kSuccess;
}

int32_t cuPointerGetAttribute(void* data, int32_t attribute, uint64_t address) {
  if (!data) return kInvalidValue;
  const Pointer pointer = describe(address);
  return pointer.type == kUnregistered ? kInvalidValue : write_attribute(data, attribute, pointer, address);
}

int32_t cuPointerGetAttributes(uint32_t count, const int32_t* attributes, void** data, uint64_t address) {
  if (!attributes || !data) return kInvalidValue;
  const Pointer pointer = describe(address);
  for (uint32_t i = 0; i < count; ++i) {
    if (!data[i]) return kInvalidValue;
    const bool known =
        pointer.type != kUnregistered && !write_attribute(data[i], attributes[i], pointer, address);
    // The driver zeroes attributes that it does not know. Each is at least an int.
    if (!known) *static_cast<int32_t*>(data[i]) = 0;
  }
  return kSuccess;
}

}  // namespace jitc::api
