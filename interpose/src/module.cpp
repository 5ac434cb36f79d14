// Kernels: what programs register at load time, and the refusal to launch them on the software device.
//
// Promise: a registration is one entry at the end of a list (an import makes 35,000 of them); nothing
// is looked up before something asks for a kernel's name.
#include <deque>
#include <mutex>
#include <unordered_map>

#include "front.h"

namespace jitc::front {
namespace {

struct Registration {
  const void* function;
  const char* name;  // mangled, in the registering library's memory
};
/// What one __cudaRegisterFatBinary gave; its address is the handle.
struct FatBinary {
  void* image = nullptr;
  std::vector<Registration> functions;
};
struct Registry {
  std::mutex mutex;
  std::deque<FatBinary*> binaries;
};
Registry& registry() {
  static auto& out = *new Registry;
  return out;
}

/// The registered name, or nullptr.
const char* kernel_name(const void* function) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  for (const FatBinary* binary : all.binaries)
    for (const auto& one : binary->functions)
      if (one.function == function) return one.name;
  return nullptr;
}

Status refuse_launch(const void* function) {
  const char* name = kernel_name(function);
  runtime::message_once(std::string("the software device cannot run the GPU kernel ") +
                        (name ? name : "(not registered)") +
                        ": PyTorch operators are redirected when jitc's client_shim is installed (pip "
                        "install jitc) and the operator has"
                        " a CPU kernel; other kernels need the cuda device");
  return kNotSupported;
}

struct CallConfiguration {
  Dim3 grid, block;
  size_t shared;
  uint64_t stream;
};
thread_local std::vector<CallConfiguration> configurations;

constexpr int kThreadsPerMultiprocessor = 1024, kMaxThreads = 1024;

}  // namespace

void** __cudaRegisterFatBinary(void* image) {
  auto* binary = new FatBinary;
  binary->image = image;
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.binaries.push_back(binary);
  return reinterpret_cast<void**>(binary);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void** handle) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  for (auto it = all.binaries.begin(); it != all.binaries.end(); ++it) {
    if (static_cast<void*>(*it) != static_cast<void*>(handle)) continue;
    delete *it;
    all.binaries.erase(it);
    return;
  }
}
void __cudaRegisterFunction(void** handle, const uint8_t* function, char*, const char* name, int32_t, void*,
                            void*, Dim3*, Dim3*, int32_t*) {
  if (!handle) return;
  std::lock_guard lock(registry().mutex);
  reinterpret_cast<FatBinary*>(handle)->functions.push_back({function, name});
}
void __cudaRegisterVar(void**, char*, char*, const char*, int32_t, size_t, int32_t, int32_t) {}
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int32_t, size_t, int32_t, int32_t) {}
uint32_t __cudaInitModule(void**) { return 1; }

uint32_t __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, uint64_t stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
int32_t __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared, uint64_t* stream) {
  if (configurations.empty()) return 52;  // cudaErrorMissingConfiguration
  const CallConfiguration& top = configurations.back();
  if (grid) *grid = top.grid;
  if (block) *block = top.block;
  if (shared) *shared = top.shared;
  if (stream) *stream = top.stream;
  configurations.pop_back();
  return kSuccess;
}

// The handle of a kernel is the host function's address.
int32_t __cudaGetKernel(uint64_t* kernel, const void* function) {
  if (!kernel) return kInvalidValue;
  *kernel = reinterpret_cast<uint64_t>(function);
  return kSuccess;
}
int32_t __cudaLaunchKernel(uint64_t kernel, Dim3, Dim3, void**, size_t, uint64_t) {
  return refuse_launch(reinterpret_cast<const void*>(kernel));
}
int32_t cudaLaunchKernelExC(const void*, uint64_t function, void**) {
  return refuse_launch(reinterpret_cast<const void*>(function));
}

int32_t cudaFuncGetAttributes(FuncAttributes* attributes, const void* function) {
  if (!attributes || !function) return kInvalidValue;
  *attributes = {};
  attributes->max_threads = kMaxThreads;
  attributes->registers = 32;
  int32_t major = 0, minor = 0;
  if (const Status status = cuDeviceComputeCapability(&major, &minor, current_device())) return status;
  attributes->ptx_version = attributes->binary_version = major * 10 + minor;
  attributes->max_dynamic_shared = 49152;
  return kSuccess;
}
int32_t cudaFuncSetAttribute(const void*, int32_t, int32_t) { return kSuccess; }
int32_t cudaFuncSetCacheConfig(const void*, int32_t) { return kSuccess; }
int32_t cudaFuncGetName(const char** name, const void* function) {
  if (!name) return kInvalidValue;
  *name = kernel_name(function);
  return *name ? kSuccess : 98;  // cudaErrorInvalidDeviceFunction
}
int32_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int32_t* blocks, const void*, int32_t block, size_t) {
  if (!blocks || block <= 0) return kInvalidValue;
  *blocks = kThreadsPerMultiprocessor / block;
  return kSuccess;
}
int32_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int32_t* blocks, const void* function,
                                                               int32_t block, size_t shared, uint32_t) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block, shared);
}
int32_t cuModuleGetLoadingMode(int32_t* mode) {
  if (!mode) return kInvalidValue;
  *mode = 2;  // lazy
  return kSuccess;
}

}  // namespace jitc::front
