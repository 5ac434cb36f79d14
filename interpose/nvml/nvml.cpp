// Functions of NVML, answered from the service's GPUs.
//
// Called by: programs and packages (pynvml, torch.cuda.device_memory_used) through dlopen. Promises: no
// exception leaves; nothing is queried before nvmlInit; structures and numbers are those of NVIDIA's header.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "answers.h"

namespace {

using namespace jitc::nvml;

struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
constexpr unsigned kMemoryVersion2 = sizeof(MemoryV2) | 2u << 24;
constexpr unsigned kClockTypes = 4;

struct Asked {
  int (*count)(void) = nullptr;
  int (*describe)(int, jitc_gpu*) = nullptr;
  int (*memory)(int, uint64_t*, uint64_t*) = nullptr;
};

/// Returns the interposer in this process; without one nothing is found.
const Asked& interposer() {
  static const Asked found = [] {
    Asked out;
    out.count = reinterpret_cast<decltype(out.count)>(dlsym(RTLD_DEFAULT, "jitc_gpu_count"));
    out.describe = reinterpret_cast<decltype(out.describe)>(dlsym(RTLD_DEFAULT, "jitc_gpu_describe"));
    out.memory = reinterpret_cast<decltype(out.memory)>(dlsym(RTLD_DEFAULT, "jitc_gpu_memory"));
    return out;
  }();
  return found;
}

std::atomic<int> users{0};

int copy(std::string_view text, char* out, unsigned length) {
  if (!out) return kInvalidArgument;
  if (length <= text.size()) return kInsufficientSize;
  std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
  return kSuccess;
}

/// Returns the UUID in NVML's form: "GPU-01234567-89ab-...".
std::string_view uuid_text(const jitc_gpu& gpu, char (&out)[48]) {
  const char* hex = gpu.uuid;
  std::snprintf(out, sizeof out, "GPU-%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
  return out;
}

}  // namespace

namespace jitc::nvml {

int number_of(const void* device) { return static_cast<int>(reinterpret_cast<intptr_t>(device)) - 1; }
void* handle_of(int number) { return reinterpret_cast<void*>(static_cast<intptr_t>(number) + 1); }

int find(const void* device, jitc_gpu* out) {
  if (users.load() <= 0) return kUninitialized;
  return interposer().describe(number_of(device), out) ? kInvalidArgument : kSuccess;
}

int memory_of(const void* device, Memory* out) {
  jitc_gpu gpu{};
  if (const int status = find(device, &gpu)) return status;
  uint64_t free = 0, total = 0;
  if (interposer().memory(number_of(device), &free, &total)) return kNotSupported;
  *out = {total, free, total - free};
  return kSuccess;
}

}  // namespace jitc::nvml

NVML int nvmlInit_v2(void) {
  const Asked& asked = interposer();
  if (!asked.count || !asked.describe || !asked.memory || asked.count() <= 0) return kDriverNotLoaded;
  ++users;
  return kSuccess;
}
NVML int nvmlInit(void) { return nvmlInit_v2(); }
NVML int nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }
NVML int nvmlShutdown(void) {
  if (users.load() <= 0) return kUninitialized;
  --users;
  return kSuccess;
}

NVML const char* nvmlErrorString(int status) {
  switch (status) {
    case kSuccess:
      return "Success";
    case kUninitialized:
      return "Uninitialized";
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported";
    case kNotFound:
      return "Not Found";
    case kInsufficientSize:
      return "Insufficient Size";
    case kDriverNotLoaded:
      return "Driver Not Loaded";
    default:
      return "Unknown Error";
  }
}

NVML int nvmlDeviceGetCount_v2(unsigned* count) {
  if (users.load() <= 0) return kUninitialized;
  if (!count) return kInvalidArgument;
  *count = static_cast<unsigned>(interposer().count());
  return kSuccess;
}
NVML int nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

NVML int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  jitc_gpu gpu{};
  if (!device || index > 1u << 16) return kInvalidArgument;
  if (const int status = find(handle_of(static_cast<int>(index)), &gpu)) return status;
  *device = handle_of(static_cast<int>(index));
  return kSuccess;
}
NVML int nvmlDeviceGetHandleByIndex(unsigned index, void** device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}
NVML int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (!uuid || !device) return kInvalidArgument;
  char text[48];
  return find_where(device, [&](const jitc_gpu& gpu) { return uuid_text(gpu, text) == uuid; });
}

NVML int nvmlDeviceGetIndex(const void* device, unsigned* index) {
  jitc_gpu gpu{};
  if (!index) return kInvalidArgument;
  if (const int status = find(device, &gpu)) return status;
  *index = static_cast<unsigned>(number_of(device));
  return kSuccess;
}
NVML int nvmlDeviceGetName(const void* device, char* name, unsigned length) {
  jitc_gpu gpu{};
  const int status = find(device, &gpu);
  return status ? status : copy(gpu.name, name, length);
}
NVML int nvmlDeviceGetUUID(const void* device, char* uuid, unsigned length) {
  jitc_gpu gpu{};
  char text[48];
  const int status = find(device, &gpu);
  return status ? status : copy(uuid_text(gpu, text), uuid, length);
}
NVML int nvmlDeviceGetCudaComputeCapability(const void* device, int* major, int* minor) {
  jitc_gpu gpu{};
  if (!major || !minor) return kInvalidArgument;
  if (const int status = find(device, &gpu)) return status;
  *major = gpu.capability_major;
  *minor = gpu.capability_minor;
  return kSuccess;
}

NVML int nvmlDeviceGetMemoryInfo(const void* device, Memory* memory) {
  return memory ? memory_of(device, memory) : kInvalidArgument;
}
NVML int nvmlDeviceGetMemoryInfo_v2(const void* device, MemoryV2* memory) {
  if (!memory || memory->version != kMemoryVersion2) return kInvalidArgument;
  Memory plain{};
  if (const int status = memory_of(device, &plain)) return status;
  *memory = {memory->version, plain.total, 0, plain.free, plain.used};
  return kSuccess;
}

/// Returns MHz; for all types the clock that the CUDA runtime reports, which torch.cuda._sleep counts.
NVML int nvmlDeviceGetClockInfo(const void* device, unsigned type, unsigned* clock) {
  jitc_gpu gpu{};
  if (!clock || type >= kClockTypes) return kInvalidArgument;
  if (const int status = find(device, &gpu)) return status;
  *clock = static_cast<unsigned>(gpu.clock_khz / 1000);
  return kSuccess;
}
NVML int nvmlDeviceGetMaxClockInfo(const void* device, unsigned type, unsigned* clock) {
  return nvmlDeviceGetClockInfo(device, type, clock);
}

/// Reports not supported, as do the functions below: a device in host memory has no sensors.
NVML int nvmlDeviceGetTemperature(const void*, int, unsigned*) { return kNotSupported; }
NVML int nvmlDeviceGetTemperatureV(const void*, void*) { return kNotSupported; }
NVML int nvmlDeviceGetPowerUsage(const void*, unsigned*) { return kNotSupported; }
NVML int nvmlDeviceGetUtilizationRates(const void*, void*) { return kNotSupported; }
