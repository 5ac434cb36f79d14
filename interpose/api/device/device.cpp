// Devices: count, properties, peers.
//
// Promise: no round trip is needed once the service has listed its GPUs.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <span>

#include "api/common/gpu_count.h"
#include "api/generated/generated_api.h"
#include "api/generated/generated_device.h"
#include "api/process/c_library.h"
#include "attributes.h"

namespace jitc::api {
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

/// Returns an attribute of a real GPU as its driver reports it, unless the feature is not served.
int real_attribute(int32_t number, const GpuInfo& gpu) {
  if (std::binary_search(std::begin(kWithheld), std::end(kWithheld), number)) return 0;
  const auto found = gpu.attributes.find(number);
  return found == gpu.attributes.end() ? 0 : found->second;
}

}  // namespace

int attribute_of(int32_t number, const GpuInfo& gpu) {
  if (gpu.runs_kernels) return real_attribute(number, gpu);
  for (const auto& attribute : kAttributes)
    if (attribute.number == number) return attribute_value(attribute, gpu);
  return 0;
}

namespace {

/// Parses a UUID, which the service writes as 32 hex digits.
Uuid parse_uuid(const std::string& text) {
  Uuid out{};
  for (size_t i = 0; i < sizeof out.bytes && 2 * i + 1 < text.size(); ++i) {
    unsigned byte = 0;
    std::sscanf(text.c_str() + 2 * i, "%2x", &byte);
    out.bytes[i] = static_cast<uint8_t>(byte);
  }
  return out;
}

/// Returns the version of the runtime that the program was built with. The program has loaded that library
/// too, which answers this query without a driver.
int runtime_version() {
  int version = kDriverVersion;
  for (const char* name : {"libcudart.so.13", "libcudart.so.12"}) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;
    const auto ask = reinterpret_cast<int32_t (*)(int32_t*)>(look_up(library, "cudaRuntimeGetVersion"));
    if (!ask || ask == &cudaRuntimeGetVersion || ask(&version)) version = kDriverVersion;
    dlclose(library);
    break;
  }
  return version;
}

Status bad_device() { return visible_count() ? kInvalidDevice : kNoDevice; }

/// Fills in cudaDeviceProp in the layout of one CUDA version.
Status properties(void* prop, size_t size, std::span<const PropField> fields, int32_t device) {
  const GpuInfo* gpu = visible_gpu(device);
  if (!prop) return kInvalidValue;
  if (!gpu) return bad_device();
  auto* bytes = static_cast<char*>(prop);
  std::memset(bytes, 0, size);
  std::snprintf(bytes + kDeviceProp_name, 256, "%s", gpu->name.c_str());
  const Uuid uuid = parse_uuid(gpu->uuid);
  std::memcpy(bytes + kDeviceProp_uuid, &uuid, sizeof uuid);
  const size_t total = gpu->memory_total;
  std::memcpy(bytes + kDeviceProp_totalGlobalMem, &total, sizeof total);
  for (const auto& field : fields) {
    const int64_t value = attribute_of(field.attribute, *gpu);
    std::memcpy(bytes + field.offset, &value, field.bytes);  // little-endian: the low bytes
  }
  return kSuccess;
}

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
int32_t cudaRuntimeGetVersion(int32_t* version) {
  static const int known = runtime_version();
  if (!version) return kInvalidValue;
  *version = known;
  return kSuccess;
}
ChannelDesc cudaCreateChannelDesc(int32_t x, int32_t y, int32_t z, int32_t w, int32_t kind) {
  return {x, y, z, w, kind};
}

int32_t cudaGetDeviceCount(int32_t* count) {
  if (!count) return kInvalidValue;
  *count = 0;
  if (forked()) return kInitializationError;
  *count = visible_count();
  return *count ? kSuccess : kNoDevice;
}
int32_t cuDeviceGetCount(int32_t* count) {
  if (!count) return kInvalidValue;
  if (!has_asked_for_gpus()) return kInitializationError;  // cuInit comes first
  *count = visible_count();
  return kSuccess;
}
int32_t cuDeviceGet(int32_t* device, int32_t ordinal) {
  if (!device) return kInvalidValue;
  if (!has_asked_for_gpus()) return kInitializationError;
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

int32_t cudaGetDeviceProperties(void* prop, int32_t device) {
  return properties(prop, kDevicePropBytes, kDeviceProp, device);
}
int32_t cudaGetDeviceProperties_v2(void* prop, int32_t device) {
  return properties(prop, kDeviceProp12Bytes, kDeviceProp12, device);
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
  const Status status = cudaDeviceGetAttribute(major, kCapabilityMajor, device);
  return status ? status : cudaDeviceGetAttribute(minor, kCapabilityMinor, device);
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
  const auto part = [&](int32_t attribute) { return static_cast<unsigned>(attribute_of(attribute, *gpu)); };
  std::snprintf(id, sizeof id, "%04X:%02X:%02X.0", part(kPciDomain), part(kPciBus), part(kPciDevice));
  copy_text(text, length, id);
  return kSuccess;
}
int32_t cudaDeviceGetByPCIBusId(int32_t* device, const char* text) {
  unsigned domain = 0, bus = 0, slot = 0;
  if (!device || !text || std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) < 2) return kInvalidValue;
  for (int i = 0; i < visible_count(); ++i) {
    const auto part = [&](int32_t attribute) {
      return static_cast<unsigned>(attribute_of(attribute, *visible_gpu(i)));
    };
    if (part(kPciDomain) == domain && part(kPciBus) == bus && part(kPciDevice) == slot)
      return *device = i, kSuccess;
  }
  return kInvalidDevice;
}

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

// Peer copies are staged through the process, so they work for every pair; kernels have no access to a peer.
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

}  // namespace jitc::api
