// Devices: count, properties, limits, peers. Everything here is answered in the process.
//
// Promise: no round trip after the service was asked once what GPUs there are.
#include <cstdio>
#include <cstring>

#include "front.h"
#include "generated_device.h"

namespace jitc::front {
namespace {

constexpr int kDriverVersion = 13000;

int attribute_value(const Attribute& attribute, const GpuInfo& gpu) {
  switch (attribute.source) {
    case Source::fixed:
      return attribute.value;
    case Source::k_multiprocessors:
      return static_cast<int>(gpu.multiprocessors);
    case Source::k_pci_bus:
      return static_cast<int>(gpu.index) + 1;
    case Source::k_capability_major:
      return static_cast<int>(gpu.capability_major);
    case Source::k_capability_minor:
      return static_cast<int>(gpu.capability_minor);
  }
  return 0;
}

/// 0 for what the device does not have.
int attribute_of(int32_t number, const GpuInfo& gpu) {
  for (const auto& attribute : kAttributes)
    if (attribute.number == number) return attribute_value(attribute, gpu);
  return 0;
}

/// The service gives a UUID as 32 hex digits.
Uuid parse_uuid(const std::string& text) {
  Uuid out{};
  for (size_t i = 0; i < sizeof out.bytes && 2 * i + 1 < text.size(); ++i) {
    unsigned byte = 0;
    std::sscanf(text.c_str() + 2 * i, "%2x", &byte);
    out.bytes[i] = static_cast<uint8_t>(byte);
  }
  return out;
}

Status bad_device() { return visible_count() ? kInvalidDevice : kNoDevice; }

void copy_text(uint8_t* out, int32_t length, const char* text) {
  std::snprintf(reinterpret_cast<char*>(out), static_cast<size_t>(length), "%s", text);
}

}  // namespace

int32_t cuInit(uint32_t) {
  if (forked()) return kInitializationError;
  return visible_count() ? kSuccess : kNoDevice;
}
int32_t cudaDriverGetVersion(int32_t* version) {
  if (!version) return kInvalidValue;
  *version = kDriverVersion;
  return kSuccess;
}
int32_t cudaRuntimeGetVersion(int32_t* version) { return cudaDriverGetVersion(version); }

int32_t cudaGetDeviceCount(int32_t* count) {
  if (!count) return kInvalidValue;
  *count = 0;
  if (forked()) return kInitializationError;
  *count = visible_count();
  return *count ? kSuccess : kNoDevice;
}
int32_t cuDeviceGetCount(int32_t* count) {
  if (!count) return kInvalidValue;
  *count = visible_count();
  return kSuccess;
}
int32_t cuDeviceGet(int32_t* device, int32_t ordinal) {
  if (!device) return kInvalidValue;
  if (!visible_gpu(ordinal)) return bad_device();
  *device = ordinal;
  return kSuccess;
}
int32_t cudaGetDevice(int32_t* device) {
  if (!device) return kInvalidValue;
  *device = current_device();
  return kSuccess;
}
int32_t cudaSetDevice(int32_t device) {
  if (forked()) return kInitializationError;
  return set_current_device(device);
}
int32_t cudaInitDevice(int32_t device, uint32_t, uint32_t) {
  return visible_gpu(device) ? kSuccess : bad_device();
}
int32_t cudaChooseDevice(int32_t* device, const void*) {
  if (!device) return kInvalidValue;
  *device = 0;
  return visible_count() ? kSuccess : kNoDevice;
}
int32_t cudaSetValidDevices(int32_t*, int32_t) { return kSuccess; }
int32_t cudaSetDeviceFlags(uint32_t) { return kSuccess; }
int32_t cudaGetDeviceFlags(uint32_t* flags) {
  if (!flags) return kInvalidValue;
  *flags = 0;
  return kSuccess;
}

int32_t cudaGetDeviceProperties(void* prop, int32_t device) {
  const GpuInfo* gpu = visible_gpu(device);
  if (!prop) return kInvalidValue;
  if (!gpu) return bad_device();
  auto* bytes = static_cast<char*>(prop);
  std::memset(bytes, 0, kDevicePropBytes);
  std::snprintf(bytes + kDeviceProp_name, 256, "%s", gpu->name.c_str());
  const Uuid uuid = parse_uuid(gpu->uuid);
  std::memcpy(bytes + kDeviceProp_uuid, &uuid, sizeof uuid);
  const size_t total = gpu->memory_total;
  std::memcpy(bytes + kDeviceProp_totalGlobalMem, &total, sizeof total);
  for (const auto& field : kDeviceProp) {
    const int64_t value = attribute_of(field.attribute, *gpu);
    std::memcpy(bytes + field.offset, &value, field.bytes);  // little-endian: the low bytes
  }
  return kSuccess;
}
int32_t cudaDeviceGetAttribute(int32_t* value, int32_t attribute, int32_t device) {
  if (!value) return kInvalidValue;
  const GpuInfo* gpu = visible_gpu(device);
  if (!gpu) return bad_device();
  *value = attribute_of(attribute, *gpu);
  return kSuccess;
}
int32_t cuDeviceComputeCapability(int32_t* major, int32_t* minor, int32_t device) {
  if (!major || !minor) return kInvalidValue;
  const Status status = cudaDeviceGetAttribute(major, 75, device);
  return status ? status : cudaDeviceGetAttribute(minor, 76, device);
}
int32_t cuDeviceGetName(uint8_t* name, int32_t length, int32_t device) {
  const GpuInfo* gpu = visible_gpu(device);
  if (!name || length <= 0) return kInvalidValue;
  if (!gpu) return bad_device();
  copy_text(name, length, gpu->name.c_str());
  return kSuccess;
}
int32_t cuDeviceGetUuid(Uuid* uuid, int32_t device) {
  const GpuInfo* gpu = visible_gpu(device);
  if (!uuid) return kInvalidValue;
  if (!gpu) return bad_device();
  *uuid = parse_uuid(gpu->uuid);
  return kSuccess;
}
int32_t cuDeviceTotalMem_v2(size_t* bytes, int32_t device) {
  const GpuInfo* gpu = visible_gpu(device);
  if (!bytes) return kInvalidValue;
  if (!gpu) return bad_device();
  *bytes = gpu->memory_total;
  return kSuccess;
}
int32_t cudaDeviceGetPCIBusId(uint8_t* text, int32_t length, int32_t device) {
  const GpuInfo* gpu = visible_gpu(device);
  if (!text || length <= 0) return kInvalidValue;
  if (!gpu) return bad_device();
  char id[32];
  std::snprintf(id, sizeof id, "00000000:%02X:00.0", gpu->index + 1);
  copy_text(text, length, id);
  return kSuccess;
}
int32_t cudaDeviceGetByPCIBusId(int32_t* device, const char* text) {
  unsigned domain = 0, bus = 0;
  if (!device || !text || std::sscanf(text, "%x:%x", &domain, &bus) != 2) return kInvalidValue;
  for (int i = 0; i < visible_count(); ++i)
    if (visible_gpu(i)->index + 1 == bus) return *device = i, kSuccess;
  return kInvalidDevice;
}

int32_t cudaDeviceGetLimit(size_t* value, int32_t) {
  if (!value) return kInvalidValue;
  *value = 0;
  return kSuccess;
}
int32_t cudaDeviceSetLimit(int32_t, size_t) { return kSuccess; }
int32_t cudaDeviceGetCacheConfig(int32_t* config) {
  if (!config) return kInvalidValue;
  *config = 0;
  return kSuccess;
}
int32_t cudaDeviceSetCacheConfig(int32_t) { return kSuccess; }
int32_t cudaCtxResetPersistingL2Cache() { return kSuccess; }
int32_t cudaDeviceGetStreamPriorityRange(int32_t* least, int32_t* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return kSuccess;
}

// Peer copies are staged through the process, so that every pair can; access by kernels there is none.
int32_t cudaDeviceCanAccessPeer(int32_t* answer, int32_t device, int32_t peer) {
  if (!answer) return kInvalidValue;
  if (!visible_gpu(device) || !visible_gpu(peer)) return bad_device();
  *answer = 0;
  return kSuccess;
}
int32_t cudaDeviceEnablePeerAccess(int32_t peer, uint32_t) {
  return visible_gpu(peer) ? kSuccess : bad_device();
}
int32_t cudaDeviceDisablePeerAccess(int32_t peer) { return visible_gpu(peer) ? kSuccess : bad_device(); }
int32_t cudaDeviceGetP2PAttribute(int32_t* value, int32_t, int32_t source, int32_t destination) {
  return cudaDeviceCanAccessPeer(value, source, destination);
}
int32_t cudaProfilerStart() { return kSuccess; }
int32_t cudaProfilerStop() { return kSuccess; }

}  // namespace jitc::front
