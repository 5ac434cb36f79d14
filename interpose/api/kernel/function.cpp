// Queries about a kernel: its handle, name, attributes, parameters.
//
// Promises: after a kernel's first use on a device its attributes are known in the process; setting an
// attribute to its present value costs nothing.
#include <array>

#include "api/generated/generated_api.h"
#include "api/module/registration.h"
#include "launch.h"

namespace jitc::api {
namespace {

/// Returns the software device's limits, since it knows no kernels.
Status software_attributes(FuncAttributes* attributes) {
  constexpr int kMaxThreads = 1024, kRegisters = 32, kShared = 49152;
  *attributes = {};
  attributes->max_threads = kMaxThreads;
  attributes->registers = kRegisters;
  int32_t major = 0, minor = 0;
  if (const Status status = cuDeviceComputeCapability(&major, &minor, current_device())) return status;
  attributes->ptx_version = attributes->binary_version = major * 10 + minor;
  attributes->max_dynamic_shared = kShared;
  return kSuccess;
}

uint64_t key_of(const void* host_function) { return reinterpret_cast<uint64_t>(host_function); }

Status parameter_info(const Function& function, size_t index, size_t* offset, size_t* bytes) {
  if (index >= function.parameters.size() || !offset) return kInvalidValue;
  *offset = function.parameters[index].offset;
  if (bytes) *bytes = function.parameters[index].bytes;
  return kSuccess;
}

Status read_attribute(const Function& function, int32_t attribute, int32_t* value) {
  if (!value || attribute < 0 || static_cast<size_t>(attribute) >= Function::kAttributes)
    return kInvalidValue;
  *value = function.attributes[static_cast<size_t>(attribute)];
  return kSuccess;
}

Function* function_on(uint64_t kernel, int32_t device, Status* why) {
  Kernel* known = find_kernel(kernel);
  if (!known) return *why = kInvalidResourceHandle, nullptr;
  Session* session = session_of(device, why);
  return session ? known->on(*session, device, why) : nullptr;
}

}  // namespace

// A kernel's handle is the host function's address: every function accepts either.
int32_t __cudaGetKernel(uint64_t* kernel, const void* host_function) {
  if (!kernel) return kInvalidValue;
  if (runs_kernels() && !find_kernel(key_of(host_function))) return kInvalidDeviceFunction;
  *kernel = key_of(host_function);
  return kSuccess;
}

int32_t cudaFuncGetAttributes(FuncAttributes* attributes, const void* host_function) {
  if (!attributes || !host_function) return kInvalidValue;
  if (!runs_kernels()) return software_attributes(attributes);
  Status status = kSuccess;
  const Function* function = current_function(key_of(host_function), kInvalidDeviceFunction, &status);
  if (!function) return status;
  std::array<int32_t, Function::kAttributes> a;
  for (size_t i = 0; i < a.size(); ++i) a[i] = function->attributes[i];
  *attributes = {};
  attributes->shared_bytes = static_cast<size_t>(a[Function::kStaticShared]);
  attributes->const_bytes = static_cast<size_t>(a[Function::kConstant]);
  attributes->local_bytes = static_cast<size_t>(a[Function::kLocal]);
  attributes->max_threads = a[Function::kMaxThreads];
  attributes->registers = a[Function::kRegisters];
  attributes->ptx_version = a[Function::kPtxVersion];
  attributes->binary_version = a[Function::kBinaryVersion];
  attributes->cache_mode = a[Function::kCacheMode];
  attributes->max_dynamic_shared = a[Function::kMaxDynamicShared];
  attributes->carveout = a[Function::kCarveout];
  attributes->cluster_size_set = a[Function::kClusterSizeSet];
  attributes->cluster_width = a[Function::kClusterWidth];
  attributes->cluster_height = a[Function::kClusterHeight];
  attributes->cluster_depth = a[Function::kClusterDepth];
  attributes->cluster_size_free = a[Function::kClusterSizeFree];
  attributes->cluster_policy = a[Function::kClusterPolicy];
  return kSuccess;
}
int32_t cudaFuncSetAttribute(const void* host_function, int32_t attribute, int32_t value) {
  if (!runs_kernels()) return kSuccess;
  Status status = kSuccess;
  Function* function = current_function(key_of(host_function), kInvalidDeviceFunction, &status);
  return function ? set_attribute(*function, attribute, value) : status;
}
int32_t cudaKernelSetAttributeForDevice(uint64_t kernel, int32_t attribute, int32_t value, int32_t device) {
  return cuKernelSetAttribute(attribute, value, kernel, device);
}
int32_t cudaFuncSetCacheConfig(const void*, int32_t) { return kSuccess; }
int32_t cudaFuncGetName(const char** name, const void* host_function) {
  if (!name) return kInvalidValue;
  const Kernel* known = known_kernel(key_of(host_function));
  *name = known ? known->name().c_str() : registered_name(host_function);
  return *name ? kSuccess : kInvalidDeviceFunction;
}
int32_t cudaFuncGetParamInfo(const void* host_function, size_t index, size_t* offset, size_t* bytes) {
  Status status = kSuccess;
  const Function* function = current_function(key_of(host_function), kInvalidDeviceFunction, &status);
  return function ? parameter_info(*function, index, offset, bytes) : status;
}

int32_t cuFuncGetAttribute(int32_t* value, int32_t attribute, uint64_t kernel) {
  Status status = kSuccess;
  const Function* function = current_function(kernel, kInvalidResourceHandle, &status);
  return function ? read_attribute(*function, attribute, value) : status;
}
int32_t cuFuncSetAttribute(uint64_t kernel, int32_t attribute, int32_t value) {
  Status status = kSuccess;
  Function* function = current_function(kernel, kInvalidResourceHandle, &status);
  return function ? set_attribute(*function, attribute, value) : status;
}
int32_t cuFuncSetCacheConfig(uint64_t kernel, int32_t) {
  return find_kernel(kernel) ? kSuccess : kInvalidResourceHandle;
}
int32_t cuFuncGetName(const char** name, uint64_t kernel) {
  if (!name) return kInvalidValue;
  const Kernel* known = find_kernel(kernel);
  if (!known) return kInvalidResourceHandle;
  *name = known->name().c_str();
  return kSuccess;
}
int32_t cuFuncGetParamInfo(uint64_t kernel, size_t index, size_t* offset, size_t* bytes) {
  Status status = kSuccess;
  const Function* function = current_function(kernel, kInvalidResourceHandle, &status);
  return function ? parameter_info(*function, index, offset, bytes) : status;
}

int32_t cuKernelGetFunction(uint64_t* function, uint64_t kernel) {
  if (!function) return kInvalidValue;
  Status status = kSuccess;
  if (!current_function(kernel, kInvalidResourceHandle, &status)) return status;
  *function = kernel;
  return kSuccess;
}
int32_t cuKernelGetAttribute(int32_t* value, int32_t attribute, uint64_t kernel, int32_t device) {
  Status status = kSuccess;
  const Function* function = function_on(kernel, device, &status);
  return function ? read_attribute(*function, attribute, value) : status;
}
int32_t cuKernelSetAttribute(int32_t attribute, int32_t value, uint64_t kernel, int32_t device) {
  Status status = kSuccess;
  Function* function = function_on(kernel, device, &status);
  return function ? set_attribute(*function, attribute, value) : status;
}
int32_t cuKernelSetCacheConfig(uint64_t kernel, int32_t config, int32_t) {
  return cuFuncSetCacheConfig(kernel, config);
}

}  // namespace jitc::api
