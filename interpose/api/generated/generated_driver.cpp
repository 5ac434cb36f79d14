// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
#include "generated_api.h"
#include "api/common/guard.h"

using namespace jitc::api;

// CUDA driver: libcuda.so.1
namespace {
constexpr const char* kAdvice0 = "a CUDA graph can only be made by capturing a stream";
constexpr const char* kAdvice1 = "contexts of your own are not supported: use the primary context";
constexpr const char* kAdvice2 = "device memory cannot be shared between processes: use another sharing strategy (CPU tensors)";
constexpr const char* kAdvice3 = "link it with -cudart shared";
constexpr const char* kAdvice4 = "linking is not served through the proxy: link with nvcc or nvJitLink and load the result";
constexpr const char* kAdvice5 = "managed memory is not supported: use cuMemAlloc or pinned memory";
constexpr const char* kAdvice6 = "memory cannot be mapped twice or shared between processes or devices: do without symmetric memory";
constexpr const char* kAdvice7 = "not served through the proxy";
constexpr const char* kAdvice8 = "the software device runs no GPU kernels; PyTorch's operators are redirected by jitc's client_shim. Use a GPU (jitc-proxyd --device cuda), or do without them (docs/guarantees.md)";
}  // namespace

JITC_EXPORT int32_t cuCtxDisablePeerAccess(uint64_t peer) { return guard_driver<false>([&] { return ::jitc::api::cuCtxDisablePeerAccess(peer); }); }
JITC_EXPORT int32_t cuCtxEnablePeerAccess(uint64_t peer, uint32_t flags) { return guard_driver<false>([&] { return ::jitc::api::cuCtxEnablePeerAccess(peer, flags); }); }
JITC_EXPORT int32_t cuCtxGetApiVersion(uint64_t context, uint32_t* version) { return guard_driver<false>([&] { return ::jitc::api::cuCtxGetApiVersion(context, version); }); }
JITC_EXPORT int32_t cuCtxGetCurrent(uint64_t* context) { return guard_driver<false>([&] { return ::jitc::api::cuCtxGetCurrent(context); }); }
JITC_EXPORT int32_t cuCtxGetDevice(int32_t* device) { return guard_driver<false>([&] { return ::jitc::api::cuCtxGetDevice(device); }); }
JITC_EXPORT int32_t cuCtxGetFlags(uint32_t* flags) { return guard_driver<false>([&] { return ::jitc::api::cudaGetDeviceFlags(flags); }); }
JITC_EXPORT int32_t cuCtxGetLimit(size_t* value, int32_t limit) { return guard_driver<false>([&] { return ::jitc::api::cudaDeviceGetLimit(value, limit); }); }
JITC_EXPORT int32_t cuCtxGetStreamPriorityRange(int32_t* least, int32_t* greatest) { return guard_driver<false>([&] { return ::jitc::api::cudaDeviceGetStreamPriorityRange(least, greatest); }); }
JITC_EXPORT int32_t cuCtxPopCurrent_v2(uint64_t* context) { return guard_driver<false>([&] { return ::jitc::api::cuCtxPopCurrent_v2(context); }); }
JITC_EXPORT int32_t cuCtxPushCurrent_v2(uint64_t context) { return guard_driver<false>([&] { return ::jitc::api::cuCtxPushCurrent_v2(context); }); }
JITC_EXPORT int32_t cuCtxSetCurrent(uint64_t context) { return guard_driver<false>([&] { return ::jitc::api::cuCtxSetCurrent(context); }); }
JITC_EXPORT int32_t cuCtxSetLimit(int32_t limit, size_t value) { return guard_driver<true>([&] { return ::jitc::api::cudaDeviceSetLimit(limit, value); }); }
JITC_EXPORT int32_t cuCtxSynchronize() { return guard_driver<true>([&] { return ::jitc::api::cudaDeviceSynchronize(); }); }
JITC_EXPORT int32_t cuDeviceCanAccessPeer(int32_t* answer, int32_t device, int32_t peer) { return guard_driver<false>([&] { return ::jitc::api::cudaDeviceCanAccessPeer(answer, device, peer); }); }
JITC_EXPORT int32_t cuDeviceComputeCapability(int32_t* major, int32_t* minor, int32_t device) { return guard_driver<false>([&] { return ::jitc::api::cuDeviceComputeCapability(major, minor, device); }); }
JITC_EXPORT int32_t cuDeviceGet(int32_t* device, int32_t ordinal) { return guard_driver<false>([&] { return ::jitc::api::cuDeviceGet(device, ordinal); }); }
JITC_EXPORT int32_t cuDeviceGetAttribute(int32_t* value, int32_t attribute, int32_t device) { return guard_driver<false>([&] { return ::jitc::api::cudaDeviceGetAttribute(value, attribute, device); }); }
JITC_EXPORT int32_t cuDeviceGetByPCIBusId(int32_t* device, const char* text) { return guard_driver<false>([&] { return ::jitc::api::cudaDeviceGetByPCIBusId(device, text); }); }
JITC_EXPORT int32_t cuDeviceGetCount(int32_t* count) { return guard_driver<false>([&] { return ::jitc::api::cuDeviceGetCount(count); }); }
JITC_EXPORT int32_t cuDeviceGetName(uint8_t* name, int32_t length, int32_t device) { return guard_driver<false>([&] { return ::jitc::api::cuDeviceGetName(name, length, device); }); }
JITC_EXPORT int32_t cuDeviceGetP2PAttribute(int32_t* value, int32_t attribute, int32_t source, int32_t destination) { return guard_driver<false>([&] { return ::jitc::api::cudaDeviceGetP2PAttribute(value, attribute, source, destination); }); }
JITC_EXPORT int32_t cuDeviceGetPCIBusId(uint8_t* text, int32_t length, int32_t device) { return guard_driver<false>([&] { return ::jitc::api::cudaDeviceGetPCIBusId(text, length, device); }); }
JITC_EXPORT int32_t cuDeviceGetUuid(Uuid* uuid, int32_t device) { return guard_driver<false>([&] { return ::jitc::api::cuDeviceGetUuid(uuid, device); }); }
JITC_EXPORT int32_t cuDeviceGetUuid_v2(Uuid* uuid, int32_t device) { return guard_driver<false>([&] { return ::jitc::api::cuDeviceGetUuid(uuid, device); }); }
JITC_EXPORT int32_t cuDevicePrimaryCtxGetState(int32_t device, uint32_t* flags, int32_t* active) { return guard_driver<false>([&] { return ::jitc::api::cuDevicePrimaryCtxGetState(device, flags, active); }); }
JITC_EXPORT int32_t cuDevicePrimaryCtxRelease_v2(int32_t device) { return guard_driver<false>([&] { return ::jitc::api::cuDevicePrimaryCtxRelease_v2(device); }); }
JITC_EXPORT int32_t cuDevicePrimaryCtxRetain(uint64_t* context, int32_t device) { return guard_driver<false>([&] { return ::jitc::api::cuDevicePrimaryCtxRetain(context, device); }); }
JITC_EXPORT int32_t cuDevicePrimaryCtxSetFlags_v2(int32_t device, uint32_t flags) { return guard_driver<false>([&] { return ::jitc::api::cuDevicePrimaryCtxSetFlags_v2(device, flags); }); }
JITC_EXPORT int32_t cuDeviceTotalMem_v2(size_t* bytes, int32_t device) { return guard_driver<false>([&] { return ::jitc::api::cuDeviceTotalMem_v2(bytes, device); }); }
JITC_EXPORT int32_t cuDriverGetVersion(int32_t* version) { return guard_driver<false>([&] { return ::jitc::api::cudaDriverGetVersion(version); }); }
JITC_EXPORT int32_t cuEventCreate(uint64_t* event, uint32_t flags) { return guard_driver<true>([&] { return ::jitc::api::cudaEventCreateWithFlags(event, flags); }); }
JITC_EXPORT int32_t cuEventDestroy_v2(uint64_t event) { return guard_driver<true>([&] { return ::jitc::api::cudaEventDestroy(event); }); }
JITC_EXPORT int32_t cuEventElapsedTime(float* milliseconds, uint64_t start, uint64_t end) { return guard_driver<true>([&] { return ::jitc::api::cudaEventElapsedTime(milliseconds, start, end); }); }
JITC_EXPORT int32_t cuEventElapsedTime_v2(float* milliseconds, uint64_t start, uint64_t end) { return guard_driver<true>([&] { return ::jitc::api::cudaEventElapsedTime(milliseconds, start, end); }); }
JITC_EXPORT int32_t cuEventQuery(uint64_t event) { return guard_driver<false>([&] { return ::jitc::api::cudaEventQuery(event); }); }
JITC_EXPORT int32_t cuEventRecord(uint64_t event, uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cudaEventRecord(event, stream); }); }
JITC_EXPORT int32_t cuEventRecordWithFlags(uint64_t event, uint64_t stream, uint32_t flags) { return guard_driver<true>([&] { return ::jitc::api::cudaEventRecordWithFlags(event, stream, flags); }); }
JITC_EXPORT int32_t cuEventSynchronize(uint64_t event) { return guard_driver<true>([&] { return ::jitc::api::cudaEventSynchronize(event); }); }
JITC_EXPORT int32_t cuFuncGetAttribute(int32_t* value, int32_t attribute, uint64_t kernel) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuFuncGetAttribute(value, attribute, kernel) : refuse_driver("cuFuncGetAttribute", kAdvice8); }); }
JITC_EXPORT int32_t cuFuncGetName(const char** name, uint64_t kernel) { return guard_driver<false>([&] { return runs_kernels() ? ::jitc::api::cuFuncGetName(name, kernel) : refuse_driver("cuFuncGetName", kAdvice8); }); }
JITC_EXPORT int32_t cuFuncGetParamInfo(uint64_t kernel, size_t index, size_t* offset, size_t* bytes) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuFuncGetParamInfo(kernel, index, offset, bytes) : refuse_driver("cuFuncGetParamInfo", kAdvice8); }); }
JITC_EXPORT int32_t cuFuncSetAttribute(uint64_t kernel, int32_t attribute, int32_t value) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuFuncSetAttribute(kernel, attribute, value) : refuse_driver("cuFuncSetAttribute", kAdvice8); }); }
JITC_EXPORT int32_t cuFuncSetCacheConfig(uint64_t kernel, int32_t config) { return guard_driver<false>([&] { return runs_kernels() ? ::jitc::api::cuFuncSetCacheConfig(kernel, config) : refuse_driver("cuFuncSetCacheConfig", kAdvice8); }); }
JITC_EXPORT int32_t cuGetErrorName(int32_t error, const char** text) { return guard_driver<false>([&] { return ::jitc::api::cuGetErrorName(error, text); }); }
JITC_EXPORT int32_t cuGetErrorString(int32_t error, const char** text) { return guard_driver<false>([&] { return ::jitc::api::cuGetErrorString(error, text); }); }
JITC_EXPORT int32_t cuGetProcAddress(const char* symbol, void** function, int32_t version, uint64_t flags) { return guard_driver<false>([&] { return ::jitc::api::cuGetProcAddress(symbol, function, version, flags); }); }
JITC_EXPORT int32_t cuGetProcAddress_v2(const char* symbol, void** function, int32_t version, uint64_t flags, int32_t* status) { return guard_driver<false>([&] { return ::jitc::api::cuGetProcAddress_v2(symbol, function, version, flags, status); }); }
JITC_EXPORT int32_t cuGraphDestroy(uint64_t graph) { return guard_driver<true>([&] { return ::jitc::api::cudaGraphDestroy(graph); }); }
JITC_EXPORT int32_t cuGraphExecDestroy(uint64_t executable) { return guard_driver<true>([&] { return ::jitc::api::cudaGraphExecDestroy(executable); }); }
JITC_EXPORT int32_t cuGraphExecUpdate_v2(uint64_t executable, uint64_t graph, void* result) { return guard_driver<true>([&] { return ::jitc::api::cudaGraphExecUpdate(executable, graph, result); }); }
JITC_EXPORT int32_t cuGraphGetNodes(uint64_t graph, uint64_t* nodes, size_t* count) { return guard_driver<true>([&] { return ::jitc::api::cudaGraphGetNodes(graph, nodes, count); }); }
JITC_EXPORT int32_t cuGraphInstantiateWithFlags(uint64_t* executable, uint64_t graph, uint64_t flags) { return guard_driver<true>([&] { return ::jitc::api::cudaGraphInstantiate(executable, graph, flags); }); }
JITC_EXPORT int32_t cuGraphLaunch(uint64_t executable, uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cudaGraphLaunch(executable, stream); }); }
JITC_EXPORT int32_t cuGraphUpload(uint64_t executable, uint64_t stream) { return guard_driver<false>([&] { return ::jitc::api::cudaGraphUpload(executable, stream); }); }
JITC_EXPORT int32_t cuInit(uint32_t flags) { return guard_driver<false>([&] { return ::jitc::api::cuInit(flags); }); }
JITC_EXPORT int32_t cuKernelGetAttribute(int32_t* value, int32_t attribute, uint64_t kernel, int32_t device) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuKernelGetAttribute(value, attribute, kernel, device) : refuse_driver("cuKernelGetAttribute", kAdvice8); }); }
JITC_EXPORT int32_t cuKernelGetFunction(uint64_t* function, uint64_t kernel) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuKernelGetFunction(function, kernel) : refuse_driver("cuKernelGetFunction", kAdvice8); }); }
JITC_EXPORT int32_t cuKernelGetName(const char** name, uint64_t kernel) { return guard_driver<false>([&] { return runs_kernels() ? ::jitc::api::cuFuncGetName(name, kernel) : refuse_driver("cuKernelGetName", kAdvice8); }); }
JITC_EXPORT int32_t cuKernelGetParamInfo(uint64_t kernel, size_t index, size_t* offset, size_t* bytes) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuFuncGetParamInfo(kernel, index, offset, bytes) : refuse_driver("cuKernelGetParamInfo", kAdvice8); }); }
JITC_EXPORT int32_t cuKernelSetAttribute(int32_t attribute, int32_t value, uint64_t kernel, int32_t device) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuKernelSetAttribute(attribute, value, kernel, device) : refuse_driver("cuKernelSetAttribute", kAdvice8); }); }
JITC_EXPORT int32_t cuKernelSetCacheConfig(uint64_t kernel, int32_t config, int32_t device) { return guard_driver<false>([&] { return runs_kernels() ? ::jitc::api::cuKernelSetCacheConfig(kernel, config, device) : refuse_driver("cuKernelSetCacheConfig", kAdvice8); }); }
JITC_EXPORT int32_t cuLaunchCooperativeKernel(uint64_t kernel, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t shared, uint64_t stream, void** arguments) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuLaunchCooperativeKernel(kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments) : refuse_driver("cuLaunchCooperativeKernel", kAdvice8); }); }
JITC_EXPORT int32_t cuLaunchHostFunc(uint64_t stream, void* function, void* data) { return guard_driver<true>([&] { return ::jitc::api::cudaLaunchHostFunc(stream, function, data); }); }
JITC_EXPORT int32_t cuLaunchKernel(uint64_t kernel, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t shared, uint64_t stream, void** arguments, void** extra) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuLaunchKernel(kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments, extra) : refuse_driver("cuLaunchKernel", kAdvice8); }); }
JITC_EXPORT int32_t cuLaunchKernelEx(const void* config, uint64_t kernel, void** arguments, void** extra) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuLaunchKernelEx(config, kernel, arguments, extra) : refuse_driver("cuLaunchKernelEx", kAdvice8); }); }
JITC_EXPORT int32_t cuLibraryGetGlobal(uint64_t* address, size_t* bytes, uint64_t library, const char* name) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuLibraryGetGlobal(address, bytes, library, name) : refuse_driver("cuLibraryGetGlobal", kAdvice8); }); }
JITC_EXPORT int32_t cuLibraryGetKernel(uint64_t* kernel, uint64_t library, const char* name) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuLibraryGetKernel(kernel, library, name) : refuse_driver("cuLibraryGetKernel", kAdvice8); }); }
JITC_EXPORT int32_t cuLibraryGetModule(uint64_t* module, uint64_t library) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuLibraryGetModule(module, library) : refuse_driver("cuLibraryGetModule", kAdvice8); }); }
JITC_EXPORT int32_t cuLibraryLoadData(uint64_t* library, const void* image, int32_t* jit_options, void** jit_values, uint32_t jit_count, int32_t* options, void** values, uint32_t count) { return guard_driver<false>([&] { return runs_kernels() ? ::jitc::api::cuLibraryLoadData(library, image, jit_options, jit_values, jit_count, options, values, count) : refuse_driver("cuLibraryLoadData", kAdvice8); }); }
JITC_EXPORT int32_t cuLibraryLoadFromFile(uint64_t* library, const char* path, int32_t* jit_options, void** jit_values, uint32_t jit_count, int32_t* options, void** values, uint32_t count) { return guard_driver<false>([&] { return runs_kernels() ? ::jitc::api::cuLibraryLoadFromFile(library, path, jit_options, jit_values, jit_count, options, values, count) : refuse_driver("cuLibraryLoadFromFile", kAdvice8); }); }
JITC_EXPORT int32_t cuLibraryUnload(uint64_t library) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuLibraryUnload(library) : refuse_driver("cuLibraryUnload", kAdvice8); }); }
JITC_EXPORT int32_t cuMemAddressFree(uint64_t address, size_t bytes) { return guard_driver<false>([&] { return ::jitc::api::cuMemAddressFree(address, bytes); }); }
JITC_EXPORT int32_t cuMemAddressReserve(uint64_t* address, size_t bytes, size_t alignment, uint64_t wanted, uint64_t flags) { return guard_driver<false>([&] { return ::jitc::api::cuMemAddressReserve(address, bytes, alignment, wanted, flags); }); }
JITC_EXPORT int32_t cuMemAllocAsync(uint64_t* address, size_t bytes, uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cudaMallocAsync(address, bytes, stream); }); }
JITC_EXPORT int32_t cuMemAllocHost_v2(void** pointer, size_t bytes) { return guard_driver<true>([&] { return ::jitc::api::cudaMallocHost(pointer, bytes); }); }
JITC_EXPORT int32_t cuMemAlloc_v2(uint64_t* address, size_t bytes) { return guard_driver<true>([&] { return ::jitc::api::cudaMalloc(address, bytes); }); }
JITC_EXPORT int32_t cuMemCreate(uint64_t* handle, size_t bytes, const AllocationProp* properties, uint64_t flags) { return guard_driver<true>([&] { return ::jitc::api::cuMemCreate(handle, bytes, properties, flags); }); }
JITC_EXPORT int32_t cuMemFreeAsync(uint64_t address, uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cudaFreeAsync(address, stream); }); }
JITC_EXPORT int32_t cuMemFreeHost(void* pointer) { return guard_driver<true>([&] { return ::jitc::api::cudaFreeHost(pointer); }); }
JITC_EXPORT int32_t cuMemFree_v2(uint64_t address) { return guard_driver<true>([&] { return ::jitc::api::cudaFree(address); }); }
JITC_EXPORT int32_t cuMemGetAccess(uint64_t* flags, const MemoryLocation* location, uint64_t address) { return guard_driver<false>([&] { return ::jitc::api::cuMemGetAccess(flags, location, address); }); }
JITC_EXPORT int32_t cuMemGetAddressRange_v2(uint64_t* base, size_t* bytes, uint64_t address) { return guard_driver<false>([&] { return ::jitc::api::cuMemGetAddressRange_v2(base, bytes, address); }); }
JITC_EXPORT int32_t cuMemGetAllocationGranularity(size_t* granularity, const AllocationProp* properties, int32_t option) { return guard_driver<false>([&] { return ::jitc::api::cuMemGetAllocationGranularity(granularity, properties, option); }); }
JITC_EXPORT int32_t cuMemGetAllocationPropertiesFromHandle(AllocationProp* properties, uint64_t handle) { return guard_driver<false>([&] { return ::jitc::api::cuMemGetAllocationPropertiesFromHandle(properties, handle); }); }
JITC_EXPORT int32_t cuMemGetInfo_v2(size_t* free, size_t* total) { return guard_driver<true>([&] { return ::jitc::api::cudaMemGetInfo(free, total); }); }
JITC_EXPORT int32_t cuMemHostAlloc(void** pointer, size_t bytes, uint32_t flags) { return guard_driver<true>([&] { return ::jitc::api::cudaHostAlloc(pointer, bytes, flags); }); }
JITC_EXPORT int32_t cuMemHostGetDevicePointer_v2(uint64_t* device_pointer, void* pointer, uint32_t flags) { return guard_driver<false>([&] { return ::jitc::api::cudaHostGetDevicePointer(device_pointer, pointer, flags); }); }
JITC_EXPORT int32_t cuMemHostGetFlags(uint32_t* flags, void* pointer) { return guard_driver<false>([&] { return ::jitc::api::cudaHostGetFlags(flags, pointer); }); }
JITC_EXPORT int32_t cuMemHostRegister_v2(void* pointer, size_t bytes, uint32_t flags) { return guard_driver<false>([&] { return ::jitc::api::cudaHostRegister(pointer, bytes, flags); }); }
JITC_EXPORT int32_t cuMemHostUnregister(void* pointer) { return guard_driver<true>([&] { return ::jitc::api::cudaHostUnregister(pointer); }); }
JITC_EXPORT int32_t cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags) { return guard_driver<true>([&] { return ::jitc::api::cuMemMap(address, bytes, offset, handle, flags); }); }
JITC_EXPORT int32_t cuMemRelease(uint64_t handle) { return guard_driver<true>([&] { return ::jitc::api::cuMemRelease(handle); }); }
JITC_EXPORT int32_t cuMemSetAccess(uint64_t address, size_t bytes, const MemoryAccess* access, size_t count) { return guard_driver<false>([&] { return ::jitc::api::cuMemSetAccess(address, bytes, access, count); }); }
JITC_EXPORT int32_t cuMemUnmap(uint64_t address, size_t bytes) { return guard_driver<true>([&] { return ::jitc::api::cuMemUnmap(address, bytes); }); }
JITC_EXPORT int32_t cuMemcpy(uint64_t dst, uint64_t src, size_t count) { return guard_driver<true>([&] { return ::jitc::api::cuMemcpy(dst, src, count); }); }
JITC_EXPORT int32_t cuMemcpyAsync(uint64_t dst, uint64_t src, size_t count, uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cuMemcpyAsync(dst, src, count, stream); }); }
JITC_EXPORT int32_t cuMemcpyDtoDAsync_v2(uint64_t dst, uint64_t src, size_t count, uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cuMemcpyAsync(dst, src, count, stream); }); }
JITC_EXPORT int32_t cuMemcpyDtoD_v2(uint64_t dst, uint64_t src, size_t count) { return guard_driver<true>([&] { return ::jitc::api::cuMemcpy(dst, src, count); }); }
JITC_EXPORT int32_t cuMemcpyDtoHAsync_v2(uint64_t dst, uint64_t src, size_t count, uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cuMemcpyAsync(dst, src, count, stream); }); }
JITC_EXPORT int32_t cuMemcpyDtoH_v2(uint64_t dst, uint64_t src, size_t count) { return guard_driver<true>([&] { return ::jitc::api::cuMemcpy(dst, src, count); }); }
JITC_EXPORT int32_t cuMemcpyHtoDAsync_v2(uint64_t dst, uint64_t src, size_t count, uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cuMemcpyAsync(dst, src, count, stream); }); }
JITC_EXPORT int32_t cuMemcpyHtoD_v2(uint64_t dst, uint64_t src, size_t count) { return guard_driver<true>([&] { return ::jitc::api::cuMemcpy(dst, src, count); }); }
JITC_EXPORT int32_t cuMemcpyPeer(uint64_t dst, uint64_t dst_context, uint64_t src, uint64_t src_context, size_t count) { return guard_driver<true>([&] { return ::jitc::api::cuMemcpyPeer(dst, dst_context, src, src_context, count); }); }
JITC_EXPORT int32_t cuMemcpyPeerAsync(uint64_t dst, uint64_t dst_context, uint64_t src, uint64_t src_context, size_t count, uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cuMemcpyPeerAsync(dst, dst_context, src, src_context, count, stream); }); }
JITC_EXPORT int32_t cuMemsetD16Async(uint64_t address, uint16_t value, size_t count, uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cuMemsetD16Async(address, value, count, stream); }); }
JITC_EXPORT int32_t cuMemsetD16_v2(uint64_t address, uint16_t value, size_t count) { return guard_driver<true>([&] { return ::jitc::api::cuMemsetD16_v2(address, value, count); }); }
JITC_EXPORT int32_t cuMemsetD32Async(uint64_t address, uint32_t value, size_t count, uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cuMemsetD32Async(address, value, count, stream); }); }
JITC_EXPORT int32_t cuMemsetD32_v2(uint64_t address, uint32_t value, size_t count) { return guard_driver<true>([&] { return ::jitc::api::cuMemsetD32_v2(address, value, count); }); }
JITC_EXPORT int32_t cuMemsetD8Async(uint64_t address, uint8_t value, size_t count, uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cuMemsetD8Async(address, value, count, stream); }); }
JITC_EXPORT int32_t cuMemsetD8_v2(uint64_t address, uint8_t value, size_t count) { return guard_driver<true>([&] { return ::jitc::api::cuMemsetD8_v2(address, value, count); }); }
JITC_EXPORT int32_t cuModuleGetFunction(uint64_t* kernel, uint64_t module, const char* name) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuModuleGetFunction(kernel, module, name) : refuse_driver("cuModuleGetFunction", kAdvice8); }); }
JITC_EXPORT int32_t cuModuleGetGlobal_v2(uint64_t* address, size_t* bytes, uint64_t module, const char* name) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuModuleGetGlobal_v2(address, bytes, module, name) : refuse_driver("cuModuleGetGlobal_v2", kAdvice8); }); }
JITC_EXPORT int32_t cuModuleGetLoadingMode(int32_t* mode) { return guard_driver<false>([&] { return ::jitc::api::cuModuleGetLoadingMode(mode); }); }
JITC_EXPORT int32_t cuModuleLoad(uint64_t* module, const char* path) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuModuleLoad(module, path) : refuse_driver("cuModuleLoad", kAdvice8); }); }
JITC_EXPORT int32_t cuModuleLoadData(uint64_t* module, const void* image) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuModuleLoadData(module, image) : refuse_driver("cuModuleLoadData", kAdvice8); }); }
JITC_EXPORT int32_t cuModuleLoadDataEx(uint64_t* module, const void* image, uint32_t count, int32_t* options, void** values) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuModuleLoadDataEx(module, image, count, options, values) : refuse_driver("cuModuleLoadDataEx", kAdvice8); }); }
JITC_EXPORT int32_t cuModuleLoadFatBinary(uint64_t* module, const void* image) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuModuleLoadData(module, image) : refuse_driver("cuModuleLoadFatBinary", kAdvice8); }); }
JITC_EXPORT int32_t cuModuleUnload(uint64_t module) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuModuleUnload(module) : refuse_driver("cuModuleUnload", kAdvice8); }); }
JITC_EXPORT int32_t cuOccupancyAvailableDynamicSMemPerBlock(size_t* shared, uint64_t kernel, int32_t blocks, int32_t block) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuOccupancyAvailableDynamicSMemPerBlock(shared, kernel, blocks, block) : refuse_driver("cuOccupancyAvailableDynamicSMemPerBlock", kAdvice8); }); }
JITC_EXPORT int32_t cuOccupancyMaxActiveBlocksPerMultiprocessor(int32_t* blocks, uint64_t kernel, int32_t block, size_t shared) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block, shared) : refuse_driver("cuOccupancyMaxActiveBlocksPerMultiprocessor", kAdvice8); }); }
JITC_EXPORT int32_t cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int32_t* blocks, uint64_t kernel, int32_t block, size_t shared, uint32_t flags) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, block, shared, flags) : refuse_driver("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", kAdvice8); }); }
JITC_EXPORT int32_t cuOccupancyMaxActiveClusters(int32_t* answer, uint64_t kernel, const void* config) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuOccupancyMaxActiveClusters(answer, kernel, config) : refuse_driver("cuOccupancyMaxActiveClusters", kAdvice8); }); }
JITC_EXPORT int32_t cuOccupancyMaxPotentialClusterSize(int32_t* answer, uint64_t kernel, const void* config) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuOccupancyMaxPotentialClusterSize(answer, kernel, config) : refuse_driver("cuOccupancyMaxPotentialClusterSize", kAdvice8); }); }
JITC_EXPORT int32_t cuPointerGetAttribute(void* data, int32_t attribute, uint64_t address) { return guard_driver<false>([&] { return ::jitc::api::cuPointerGetAttribute(data, attribute, address); }); }
JITC_EXPORT int32_t cuPointerGetAttributes(uint32_t count, const int32_t* attributes, void** data, uint64_t address) { return guard_driver<false>([&] { return ::jitc::api::cuPointerGetAttributes(count, attributes, data, address); }); }
JITC_EXPORT int32_t cuProfilerStart() { return guard_driver<false>([&] { return ::jitc::api::cudaProfilerStart(); }); }
JITC_EXPORT int32_t cuProfilerStop() { return guard_driver<false>([&] { return ::jitc::api::cudaProfilerStop(); }); }
JITC_EXPORT int32_t cuStreamBeginCapture_v2(uint64_t stream, int32_t mode) { return guard_driver<true>([&] { return ::jitc::api::cudaStreamBeginCapture(stream, mode); }); }
JITC_EXPORT int32_t cuStreamCreate(uint64_t* stream, uint32_t flags) { return guard_driver<true>([&] { return ::jitc::api::cudaStreamCreateWithFlags(stream, flags); }); }
JITC_EXPORT int32_t cuStreamCreateWithPriority(uint64_t* stream, uint32_t flags, int32_t priority) { return guard_driver<true>([&] { return ::jitc::api::cudaStreamCreateWithPriority(stream, flags, priority); }); }
JITC_EXPORT int32_t cuStreamDestroy_v2(uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cudaStreamDestroy(stream); }); }
JITC_EXPORT int32_t cuStreamEndCapture(uint64_t stream, uint64_t* graph) { return guard_driver<true>([&] { return ::jitc::api::cudaStreamEndCapture(stream, graph); }); }
JITC_EXPORT int32_t cuStreamGetCaptureInfo_v2(uint64_t stream, int32_t* status, uint64_t* id, uint64_t* graph, uint64_t* dependencies, size_t* count) { return guard_driver<false>([&] { return ::jitc::api::cudaStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count); }); }
JITC_EXPORT int32_t cuStreamGetCaptureInfo_v3(uint64_t stream, int32_t* status, uint64_t* id, uint64_t* graph, uint64_t* dependencies, uint64_t* edges, size_t* count) { return guard_driver<false>([&] { return ::jitc::api::cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, edges, count); }); }
JITC_EXPORT int32_t cuStreamGetCtx(uint64_t stream, uint64_t* context) { return guard_driver<false>([&] { return ::jitc::api::cuStreamGetCtx(stream, context); }); }
JITC_EXPORT int32_t cuStreamGetDevice(uint64_t stream, int32_t* device) { return guard_driver<false>([&] { return ::jitc::api::cudaStreamGetDevice(stream, device); }); }
JITC_EXPORT int32_t cuStreamGetFlags(uint64_t stream, uint32_t* flags) { return guard_driver<false>([&] { return ::jitc::api::cudaStreamGetFlags(stream, flags); }); }
JITC_EXPORT int32_t cuStreamGetId(uint64_t stream, uint64_t* id) { return guard_driver<false>([&] { return ::jitc::api::cudaStreamGetId(stream, id); }); }
JITC_EXPORT int32_t cuStreamGetPriority(uint64_t stream, int32_t* priority) { return guard_driver<false>([&] { return ::jitc::api::cudaStreamGetPriority(stream, priority); }); }
JITC_EXPORT int32_t cuStreamIsCapturing(uint64_t stream, int32_t* status) { return guard_driver<false>([&] { return ::jitc::api::cudaStreamIsCapturing(stream, status); }); }
JITC_EXPORT int32_t cuStreamQuery(uint64_t stream) { return guard_driver<false>([&] { return ::jitc::api::cudaStreamQuery(stream); }); }
JITC_EXPORT int32_t cuStreamSynchronize(uint64_t stream) { return guard_driver<true>([&] { return ::jitc::api::cudaStreamSynchronize(stream); }); }
JITC_EXPORT int32_t cuStreamWaitEvent(uint64_t stream, uint64_t event, uint32_t flags) { return guard_driver<true>([&] { return ::jitc::api::cudaStreamWaitEvent(stream, event, flags); }); }
JITC_EXPORT int32_t cuTensorMapEncodeIm2col(void* map, int32_t type, uint32_t rank, uint64_t address, const uint64_t* dims, const uint64_t* strides, const int32_t* lower, const int32_t* upper, uint32_t channels, uint32_t pixels, const uint32_t* steps, int32_t interleave, int32_t swizzle, int32_t promotion, int32_t fill) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuTensorMapEncodeIm2col(map, type, rank, address, dims, strides, lower, upper, channels, pixels, steps, interleave, swizzle, promotion, fill) : refuse_driver("cuTensorMapEncodeIm2col", kAdvice8); }); }
JITC_EXPORT int32_t cuTensorMapEncodeTiled(void* map, int32_t type, uint32_t rank, uint64_t address, const uint64_t* dims, const uint64_t* strides, const uint32_t* box, const uint32_t* steps, int32_t interleave, int32_t swizzle, int32_t promotion, int32_t fill) { return guard_driver<true>([&] { return runs_kernels() ? ::jitc::api::cuTensorMapEncodeTiled(map, type, rank, address, dims, strides, box, steps, interleave, swizzle, promotion, fill) : refuse_driver("cuTensorMapEncodeTiled", kAdvice8); }); }
JITC_EXPORT int32_t cuThreadExchangeStreamCaptureMode(int32_t* mode) { return guard_driver<false>([&] { return ::jitc::api::cudaThreadExchangeStreamCaptureMode(mode); }); }

JITC_EXPORT int32_t cuCtxCreate_v4() { return refuse_driver("cuCtxCreate_v4", kAdvice1, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuCtxDestroy_v2() { return refuse_driver("cuCtxDestroy_v2", kAdvice1, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuCtxFromGreenCtx() { return refuse_driver("cuCtxFromGreenCtx", kAdvice1, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuDevResourceGenerateDesc() { return refuse_driver("cuDevResourceGenerateDesc", kAdvice1, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuDevSmResourceSplitByCount() { return refuse_driver("cuDevSmResourceSplitByCount", kAdvice1, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuDeviceGetDevResource() { return refuse_driver("cuDeviceGetDevResource", kAdvice1, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuDevicePrimaryCtxReset_v2() { return refuse_driver("cuDevicePrimaryCtxReset_v2", kAdvice1, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuFuncGetModule() { return refuse_driver("cuFuncGetModule", kAdvice7, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuGetExportTable() { return refuse_driver("cuGetExportTable", kAdvice3, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuGraphCreate() { return refuse_driver("cuGraphCreate", kAdvice0, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuGraphDebugDotPrint() { return refuse_driver("cuGraphDebugDotPrint", kAdvice0, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuGreenCtxCreate() { return refuse_driver("cuGreenCtxCreate", kAdvice1, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuGreenCtxDestroy() { return refuse_driver("cuGreenCtxDestroy", kAdvice1, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuGreenCtxStreamCreate() { return refuse_driver("cuGreenCtxStreamCreate", kAdvice1, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuIpcCloseMemHandle() { return refuse_driver("cuIpcCloseMemHandle", kAdvice2, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuIpcGetEventHandle() { return refuse_driver("cuIpcGetEventHandle", kAdvice2, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuIpcGetMemHandle() { return refuse_driver("cuIpcGetMemHandle", kAdvice2, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuIpcOpenEventHandle() { return refuse_driver("cuIpcOpenEventHandle", kAdvice2, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuIpcOpenMemHandle_v2() { return refuse_driver("cuIpcOpenMemHandle_v2", kAdvice2, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuLinkAddData_v2() { return refuse_driver("cuLinkAddData_v2", kAdvice4, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuLinkAddFile_v2() { return refuse_driver("cuLinkAddFile_v2", kAdvice4, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuLinkComplete() { return refuse_driver("cuLinkComplete", kAdvice4, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuLinkCreate_v2() { return refuse_driver("cuLinkCreate_v2", kAdvice4, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuLinkDestroy() { return refuse_driver("cuLinkDestroy", kAdvice4, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMemAdvise() { return refuse_driver("cuMemAdvise", kAdvice5, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMemAdvise_v2() { return refuse_driver("cuMemAdvise_v2", kAdvice5, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMemAllocManaged() { return refuse_driver("cuMemAllocManaged", kAdvice5, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMemExportToShareableHandle() { return refuse_driver("cuMemExportToShareableHandle", kAdvice6, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMemGetHandleForAddressRange() { return refuse_driver("cuMemGetHandleForAddressRange", kAdvice6, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMemImportFromShareableHandle() { return refuse_driver("cuMemImportFromShareableHandle", kAdvice6, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMemPrefetchAsync() { return refuse_driver("cuMemPrefetchAsync", kAdvice5, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMemPrefetchAsync_v2() { return refuse_driver("cuMemPrefetchAsync_v2", kAdvice5, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMemRetainAllocationHandle() { return refuse_driver("cuMemRetainAllocationHandle", kAdvice6, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMemcpy2DAsync_v2() { return refuse_driver("cuMemcpy2DAsync_v2", kAdvice7, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMemcpy2D_v2() { return refuse_driver("cuMemcpy2D_v2", kAdvice7, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMemcpy3DAsync_v2() { return refuse_driver("cuMemcpy3DAsync_v2", kAdvice7, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMemcpy3D_v2() { return refuse_driver("cuMemcpy3D_v2", kAdvice7, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMulticastAddDevice() { return refuse_driver("cuMulticastAddDevice", kAdvice6, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMulticastBindAddr() { return refuse_driver("cuMulticastBindAddr", kAdvice6, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMulticastBindMem() { return refuse_driver("cuMulticastBindMem", kAdvice6, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMulticastCreate() { return refuse_driver("cuMulticastCreate", kAdvice6, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMulticastGetGranularity() { return refuse_driver("cuMulticastGetGranularity", kAdvice6, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuMulticastUnbind() { return refuse_driver("cuMulticastUnbind", kAdvice6, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuOccupancyMaxPotentialBlockSize() { return refuse_driver("cuOccupancyMaxPotentialBlockSize", kAdvice7, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuPointerSetAttribute() { return refuse_driver("cuPointerSetAttribute", kAdvice7, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuStreamBatchMemOp_v2() { return refuse_driver("cuStreamBatchMemOp_v2", kAdvice7, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuStreamBeginCaptureToGraph() { return refuse_driver("cuStreamBeginCaptureToGraph", kAdvice0, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuStreamUpdateCaptureDependencies() { return refuse_driver("cuStreamUpdateCaptureDependencies", kAdvice0, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuStreamUpdateCaptureDependencies_v2() { return refuse_driver("cuStreamUpdateCaptureDependencies_v2", kAdvice0, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuStreamWaitValue32_v2() { return refuse_driver("cuStreamWaitValue32_v2", kAdvice7, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuStreamWaitValue64_v2() { return refuse_driver("cuStreamWaitValue64_v2", kAdvice7, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuStreamWriteValue32() { return refuse_driver("cuStreamWriteValue32", kAdvice7, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuStreamWriteValue32_v2() { return refuse_driver("cuStreamWriteValue32_v2", kAdvice7, __builtin_return_address(0)); }
JITC_EXPORT int32_t cuStreamWriteValue64_v2() { return refuse_driver("cuStreamWriteValue64_v2", kAdvice7, __builtin_return_address(0)); }
