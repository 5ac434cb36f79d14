// NVML functions that PyTorch itself calls: a device by its PCI address, its users, the links between GPUs.
//
// Called by: c10_cuda, when it reports that memory has run out and when it looks for fabric memory. It
// asserts that all these functions exist if the library does.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <span>

#include "answers.h"

namespace {

using namespace jitc::nvml;

struct Process {  // nvmlProcessInfo_v1_t
  unsigned pid;
  unsigned long long used;
};
struct ProcessV2 {  // nvmlProcessInfo_v2_t, nvmlProcessInfo_t
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
constexpr unsigned kNoInstance = 0xffffffff;
constexpr int kP2pNotSupported = 5;  // NVML_P2P_STATUS_NOT_SUPPORTED

/// Fills in this process, if it uses the device: others are not visible here, as in a container.
template <class Info, class Fill>
int processes(const void* device, unsigned* count, Info* out, Fill&& fill) {
  jitc_gpu gpu{};
  if (!count) return kInvalidArgument;
  if (const int status = find(device, &gpu)) return status;
  Memory memory{};
  const unsigned found = memory_of(device, &memory) == kSuccess ? 1 : 0;
  const unsigned room = *count;
  *count = found;
  if (room < found || (found && !out)) return kInsufficientSize;
  if (found) fill(*out, static_cast<unsigned>(getpid()), memory.used);
  return kSuccess;
}

}  // namespace

NVML int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  unsigned domain = 0, bus = 0, slot = 0;
  if (!address || !device) return kInvalidArgument;
  if (std::sscanf(address, "%x:%x:%x", &domain, &bus, &slot) != 3) return kInvalidArgument;
  return find_where(device, [&](const jitc_gpu& gpu) {
    return gpu.pci_domain == static_cast<int>(domain) && gpu.pci_bus == static_cast<int>(bus) &&
           gpu.pci_device == static_cast<int>(slot);
  });
}
NVML int nvmlDeviceGetHandleByPciBusId(const char* address, void** device) {
  return nvmlDeviceGetHandleByPciBusId_v2(address, device);
}

NVML int nvmlDeviceGetComputeRunningProcesses(const void* device, unsigned* count, Process* out) {
  return processes(device, count, out,
                   [](Process& one, unsigned pid, unsigned long long used) { one = {pid, used}; });
}
NVML int nvmlDeviceGetComputeRunningProcesses_v2(const void* device, unsigned* count, ProcessV2* out) {
  return processes(device, count, out, [](ProcessV2& one, unsigned pid, unsigned long long used) {
    one = {pid, used, kNoInstance, kNoInstance};
  });
}
NVML int nvmlDeviceGetComputeRunningProcesses_v3(const void* device, unsigned* count, ProcessV2* out) {
  return nvmlDeviceGetComputeRunningProcesses_v2(device, count, out);
}

NVML int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  const auto ask = reinterpret_cast<int (*)(int*)>(dlsym(RTLD_DEFAULT, "cudaDriverGetVersion"));
  if (!version) return kInvalidArgument;
  return ask && ask(version) == 0 ? kSuccess : kNotFound;
}
NVML int nvmlSystemGetCudaDriverVersion(int* version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

/// Reports no links between the GPUs, and no copies from one to the other past the service.
NVML int nvmlDeviceGetNvLinkRemoteDeviceType(const void*, unsigned, int*) { return kNotSupported; }
NVML int nvmlDeviceGetNvLinkRemotePciInfo_v2(const void*, unsigned, void*) { return kNotSupported; }
NVML int nvmlDeviceGetP2PStatus(const void*, const void*, int, int* status) {
  if (!status) return kInvalidArgument;
  *status = kP2pNotSupported;
  return kSuccess;
}
