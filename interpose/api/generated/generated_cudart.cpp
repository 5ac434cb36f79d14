// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
#include "generated_api.h"
#include "api/common/guard.h"

using namespace jitc::api;

// CUDA runtime: libcudart.so.13
namespace {
constexpr const char* kAdvice0 = "a CUDA graph can only be made by capturing a stream (torch.cuda.graph, torch.compile)";
constexpr const char* kAdvice1 = "arrays, textures and surfaces are not supported: use linear memory";
constexpr const char* kAdvice2 = "batched copies, and 3D ones between two GPUs, are not supported: copy with cudaMemcpy3DAsync";
constexpr const char* kAdvice3 = "device memory cannot be shared between processes: use another sharing strategy (CPU tensors)";
constexpr const char* kAdvice4 = "device memory cannot be shared with graphics: copy through the process";
constexpr const char* kAdvice5 = "device variables live in kernels, which the software device does not run";
constexpr const char* kAdvice6 = "kernels and variables of a library are found by their names: cudaLibraryGetKernel, cudaLibraryGetGlobal";
constexpr const char* kAdvice7 = "managed memory is not supported: use cudaMalloc or pinned memory";
constexpr const char* kAdvice8 = "memory pools of your own are not supported: use the default pool";
constexpr const char* kAdvice9 = "not served through the proxy";
constexpr const char* kAdvice10 = "the software device runs no GPU kernels; PyTorch's operators are redirected by jitc's client_shim. Use a GPU (jitc-proxyd --device cuda), or do without them (docs/guarantees.md)";
}  // namespace

JITC_EXPORT int32_t __cudaGetKernel(uint64_t* kernel, const void* host_function) { return guard_cudart<false>([&] { return ::jitc::api::__cudaGetKernel(kernel, host_function); }); }
JITC_EXPORT uint32_t __cudaInitModule(void** fatbin) { return ::jitc::api::__cudaInitModule(fatbin); }
JITC_EXPORT int32_t __cudaLaunchKernel(uint64_t kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::__cudaLaunchKernel(kernel, grid, block, arguments, shared, stream); }); }
JITC_EXPORT int32_t __cudaLaunchKernel_ptsz(uint64_t kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::__cudaLaunchKernel(kernel, grid, block, arguments, shared, stream); }); }
JITC_EXPORT int32_t __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared, uint64_t* stream) { return guard_cudart<false>([&] { return ::jitc::api::__cudaPopCallConfiguration(grid, block, shared, stream); }); }
JITC_EXPORT uint32_t __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, uint64_t stream) { return ::jitc::api::__cudaPushCallConfiguration(grid, block, shared, stream); }
JITC_EXPORT void** __cudaRegisterFatBinary(void* image) { return ::jitc::api::__cudaRegisterFatBinary(image); }
JITC_EXPORT void __cudaRegisterFatBinaryEnd(void** fatbin) { return ::jitc::api::__cudaRegisterFatBinaryEnd(fatbin); }
JITC_EXPORT void __cudaRegisterFunction(void** fatbin, const uint8_t* host_function, char* device_function, const char* name, int32_t thread_limit, void* thread_id, void* block_id, Dim3* block_dim, Dim3* grid_dim, int32_t* warp_size) { return ::jitc::api::__cudaRegisterFunction(fatbin, host_function, device_function, name, thread_limit, thread_id, block_id, block_dim, grid_dim, warp_size); }
JITC_EXPORT void __cudaRegisterManagedVar(void** fatbin, void** host_variable, char* device_address, const char* name, int32_t external, size_t bytes, int32_t constant, int32_t global) { return ::jitc::api::__cudaRegisterManagedVar(fatbin, host_variable, device_address, name, external, bytes, constant, global); }
JITC_EXPORT void __cudaRegisterVar(void** fatbin, char* host_variable, char* device_address, const char* name, int32_t external, size_t bytes, int32_t constant, int32_t global) { return ::jitc::api::__cudaRegisterVar(fatbin, host_variable, device_address, name, external, bytes, constant, global); }
JITC_EXPORT void __cudaUnregisterFatBinary(void** fatbin) { return ::jitc::api::__cudaUnregisterFatBinary(fatbin); }
JITC_EXPORT int32_t cudaChooseDevice(int32_t* device, const void* prop) { return guard_cudart<false>([&] { return ::jitc::api::cudaChooseDevice(device, prop); }); }
JITC_EXPORT ChannelDesc cudaCreateChannelDesc(int32_t x, int32_t y, int32_t z, int32_t w, int32_t kind) { return ::jitc::api::cudaCreateChannelDesc(x, y, z, w, kind); }
JITC_EXPORT int32_t cudaCtxResetPersistingL2Cache() { return guard_cudart<false>([&] { return ::jitc::api::cudaCtxResetPersistingL2Cache(); }); }
JITC_EXPORT int32_t cudaDeviceCanAccessPeer(int32_t* answer, int32_t device, int32_t peer) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceCanAccessPeer(answer, device, peer); }); }
JITC_EXPORT int32_t cudaDeviceDisablePeerAccess(int32_t peer) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceDisablePeerAccess(peer); }); }
JITC_EXPORT int32_t cudaDeviceEnablePeerAccess(int32_t peer, uint32_t flags) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceEnablePeerAccess(peer, flags); }); }
JITC_EXPORT int32_t cudaDeviceGetAttribute(int32_t* value, int32_t attribute, int32_t device) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceGetAttribute(value, attribute, device); }); }
JITC_EXPORT int32_t cudaDeviceGetByPCIBusId(int32_t* device, const char* text) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceGetByPCIBusId(device, text); }); }
JITC_EXPORT int32_t cudaDeviceGetCacheConfig(int32_t* config) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceGetCacheConfig(config); }); }
JITC_EXPORT int32_t cudaDeviceGetDefaultMemPool(uint64_t* pool, int32_t device) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceGetDefaultMemPool(pool, device); }); }
JITC_EXPORT int32_t cudaDeviceGetLimit(size_t* value, int32_t limit) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceGetLimit(value, limit); }); }
JITC_EXPORT int32_t cudaDeviceGetMemPool(uint64_t* pool, int32_t device) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceGetMemPool(pool, device); }); }
JITC_EXPORT int32_t cudaDeviceGetP2PAttribute(int32_t* value, int32_t attribute, int32_t source, int32_t destination) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceGetP2PAttribute(value, attribute, source, destination); }); }
JITC_EXPORT int32_t cudaDeviceGetPCIBusId(uint8_t* text, int32_t length, int32_t device) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceGetPCIBusId(text, length, device); }); }
JITC_EXPORT int32_t cudaDeviceGetSharedMemConfig(int32_t* config) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceGetCacheConfig(config); }); }
JITC_EXPORT int32_t cudaDeviceGetStreamPriorityRange(int32_t* least, int32_t* greatest) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceGetStreamPriorityRange(least, greatest); }); }
JITC_EXPORT int32_t cudaDeviceReset() { return guard_cudart<true>([&] { return ::jitc::api::cudaDeviceReset(); }); }
JITC_EXPORT int32_t cudaDeviceSetCacheConfig(int32_t config) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceSetCacheConfig(config); }); }
JITC_EXPORT int32_t cudaDeviceSetLimit(int32_t limit, size_t value) { return guard_cudart<true>([&] { return ::jitc::api::cudaDeviceSetLimit(limit, value); }); }
JITC_EXPORT int32_t cudaDeviceSetMemPool(int32_t device, uint64_t pool) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceSetMemPool(device, pool); }); }
JITC_EXPORT int32_t cudaDeviceSetSharedMemConfig(int32_t config) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceSetCacheConfig(config); }); }
JITC_EXPORT int32_t cudaDeviceSynchronize() { return guard_cudart<true>([&] { return ::jitc::api::cudaDeviceSynchronize(); }); }
JITC_EXPORT int32_t cudaDriverGetVersion(int32_t* version) { return guard_cudart<false>([&] { return ::jitc::api::cudaDriverGetVersion(version); }); }
JITC_EXPORT int32_t cudaEventCreate(uint64_t* event) { return guard_cudart<true>([&] { return ::jitc::api::cudaEventCreate(event); }); }
JITC_EXPORT int32_t cudaEventCreateWithFlags(uint64_t* event, uint32_t flags) { return guard_cudart<true>([&] { return ::jitc::api::cudaEventCreateWithFlags(event, flags); }); }
JITC_EXPORT int32_t cudaEventDestroy(uint64_t event) { return guard_cudart<true>([&] { return ::jitc::api::cudaEventDestroy(event); }); }
JITC_EXPORT int32_t cudaEventElapsedTime(float* milliseconds, uint64_t start, uint64_t end) { return guard_cudart<true>([&] { return ::jitc::api::cudaEventElapsedTime(milliseconds, start, end); }); }
JITC_EXPORT int32_t cudaEventElapsedTime_v2(float* milliseconds, uint64_t start, uint64_t end) { return guard_cudart<true>([&] { return ::jitc::api::cudaEventElapsedTime(milliseconds, start, end); }); }
JITC_EXPORT int32_t cudaEventQuery(uint64_t event) { return guard_cudart<false>([&] { return ::jitc::api::cudaEventQuery(event); }); }
JITC_EXPORT int32_t cudaEventRecord(uint64_t event, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaEventRecord(event, stream); }); }
JITC_EXPORT int32_t cudaEventRecordWithFlags(uint64_t event, uint64_t stream, uint32_t flags) { return guard_cudart<true>([&] { return ::jitc::api::cudaEventRecordWithFlags(event, stream, flags); }); }
JITC_EXPORT int32_t cudaEventRecordWithFlags_ptsz(uint64_t event, uint64_t stream, uint32_t flags) { return guard_cudart<true>([&] { return ::jitc::api::cudaEventRecordWithFlags(event, stream, flags); }); }
JITC_EXPORT int32_t cudaEventRecord_ptsz(uint64_t event, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaEventRecord(event, stream); }); }
JITC_EXPORT int32_t cudaEventSynchronize(uint64_t event) { return guard_cudart<true>([&] { return ::jitc::api::cudaEventSynchronize(event); }); }
JITC_EXPORT int32_t cudaFree(uint64_t address) { return guard_cudart<true>([&] { return ::jitc::api::cudaFree(address); }); }
JITC_EXPORT int32_t cudaFreeAsync(uint64_t address, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaFreeAsync(address, stream); }); }
JITC_EXPORT int32_t cudaFreeAsync_ptsz(uint64_t address, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaFreeAsync(address, stream); }); }
JITC_EXPORT int32_t cudaFreeHost(void* pointer) { return guard_cudart<true>([&] { return ::jitc::api::cudaFreeHost(pointer); }); }
JITC_EXPORT int32_t cudaFuncGetAttributes(FuncAttributes* attributes, const void* function) { return guard_cudart<true>([&] { return ::jitc::api::cudaFuncGetAttributes(attributes, function); }); }
JITC_EXPORT int32_t cudaFuncGetName(const char** name, const void* function) { return guard_cudart<false>([&] { return ::jitc::api::cudaFuncGetName(name, function); }); }
JITC_EXPORT int32_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaFuncGetParamInfo(function, index, offset, bytes) : refuse_cudart("cudaFuncGetParamInfo", kAdvice10); }); }
JITC_EXPORT int32_t cudaFuncSetAttribute(const void* function, int32_t attribute, int32_t value) { return guard_cudart<true>([&] { return ::jitc::api::cudaFuncSetAttribute(function, attribute, value); }); }
JITC_EXPORT int32_t cudaFuncSetCacheConfig(const void* function, int32_t config) { return guard_cudart<false>([&] { return ::jitc::api::cudaFuncSetCacheConfig(function, config); }); }
JITC_EXPORT int32_t cudaFuncSetSharedMemConfig(const void* function, int32_t config) { return guard_cudart<false>([&] { return ::jitc::api::cudaFuncSetCacheConfig(function, config); }); }
JITC_EXPORT int32_t cudaGetDevice(int32_t* device) { return guard_cudart<false>([&] { return ::jitc::api::cudaGetDevice(device); }); }
JITC_EXPORT int32_t cudaGetDeviceCount(int32_t* count) { return guard_cudart<false>([&] { return ::jitc::api::cudaGetDeviceCount(count); }); }
JITC_EXPORT int32_t cudaGetDeviceFlags(uint32_t* flags) { return guard_cudart<false>([&] { return ::jitc::api::cudaGetDeviceFlags(flags); }); }
JITC_EXPORT int32_t cudaGetDeviceProperties(void* prop, int32_t device) { return guard_cudart<false>([&] { return ::jitc::api::cudaGetDeviceProperties(prop, device); }); }
JITC_EXPORT int32_t cudaGetDeviceProperties_v2(void* prop, int32_t device) { return guard_cudart<false>([&] { return ::jitc::api::cudaGetDeviceProperties_v2(prop, device); }); }
JITC_EXPORT int32_t cudaGetDriverEntryPoint(const char* symbol, void** function, uint64_t flags, int32_t* found) { return guard_cudart<false>([&] { return ::jitc::api::cudaGetDriverEntryPoint(symbol, function, flags, found); }); }
JITC_EXPORT int32_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, uint32_t version, uint64_t flags, int32_t* found) { return guard_cudart<false>([&] { return ::jitc::api::cudaGetDriverEntryPointByVersion(symbol, function, version, flags, found); }); }
JITC_EXPORT int32_t cudaGetDriverEntryPointByVersion_ptsz(const char* symbol, void** function, uint32_t version, uint64_t flags, int32_t* found) { return guard_cudart<false>([&] { return ::jitc::api::cudaGetDriverEntryPointByVersion(symbol, function, version, flags, found); }); }
JITC_EXPORT int32_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function, uint64_t flags, int32_t* found) { return guard_cudart<false>([&] { return ::jitc::api::cudaGetDriverEntryPoint(symbol, function, flags, found); }); }
JITC_EXPORT const char* cudaGetErrorName(int32_t error) { return ::jitc::api::cudaGetErrorName(error); }
JITC_EXPORT const char* cudaGetErrorString(int32_t error) { return ::jitc::api::cudaGetErrorString(error); }
JITC_EXPORT int32_t cudaGetFuncBySymbol(uint64_t* function, const void* host_function) { return guard_cudart<false>([&] { return ::jitc::api::__cudaGetKernel(function, host_function); }); }
JITC_EXPORT int32_t cudaGetKernel(uint64_t* kernel, const void* host_function) { return guard_cudart<false>([&] { return ::jitc::api::__cudaGetKernel(kernel, host_function); }); }
JITC_EXPORT int32_t cudaGetLastError() { return ::jitc::api::cudaGetLastError(); }
JITC_EXPORT int32_t cudaGetSymbolAddress(uint64_t* address, const void* symbol) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaGetSymbolAddress(address, symbol) : refuse_cudart("cudaGetSymbolAddress", kAdvice5); }); }
JITC_EXPORT int32_t cudaGetSymbolSize(size_t* bytes, const void* symbol) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaGetSymbolSize(bytes, symbol) : refuse_cudart("cudaGetSymbolSize", kAdvice5); }); }
JITC_EXPORT int32_t cudaGraphDestroy(uint64_t graph) { return guard_cudart<true>([&] { return ::jitc::api::cudaGraphDestroy(graph); }); }
JITC_EXPORT int32_t cudaGraphExecDestroy(uint64_t executable) { return guard_cudart<true>([&] { return ::jitc::api::cudaGraphExecDestroy(executable); }); }
JITC_EXPORT int32_t cudaGraphExecUpdate(uint64_t executable, uint64_t graph, void* result) { return guard_cudart<true>([&] { return ::jitc::api::cudaGraphExecUpdate(executable, graph, result); }); }
JITC_EXPORT int32_t cudaGraphGetNodes(uint64_t graph, uint64_t* nodes, size_t* count) { return guard_cudart<true>([&] { return ::jitc::api::cudaGraphGetNodes(graph, nodes, count); }); }
JITC_EXPORT int32_t cudaGraphInstantiate(uint64_t* executable, uint64_t graph, uint64_t flags) { return guard_cudart<true>([&] { return ::jitc::api::cudaGraphInstantiate(executable, graph, flags); }); }
JITC_EXPORT int32_t cudaGraphInstantiateWithFlags(uint64_t* executable, uint64_t graph, uint64_t flags) { return guard_cudart<true>([&] { return ::jitc::api::cudaGraphInstantiate(executable, graph, flags); }); }
JITC_EXPORT int32_t cudaGraphLaunch(uint64_t executable, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaGraphLaunch(executable, stream); }); }
JITC_EXPORT int32_t cudaGraphLaunch_ptsz(uint64_t executable, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaGraphLaunch(executable, stream); }); }
JITC_EXPORT int32_t cudaGraphUpload(uint64_t executable, uint64_t stream) { return guard_cudart<false>([&] { return ::jitc::api::cudaGraphUpload(executable, stream); }); }
JITC_EXPORT int32_t cudaGraphUpload_ptsz(uint64_t executable, uint64_t stream) { return guard_cudart<false>([&] { return ::jitc::api::cudaGraphUpload(executable, stream); }); }
JITC_EXPORT int32_t cudaHostAlloc(void** pointer, size_t bytes, uint32_t flags) { return guard_cudart<true>([&] { return ::jitc::api::cudaHostAlloc(pointer, bytes, flags); }); }
JITC_EXPORT int32_t cudaHostGetDevicePointer(uint64_t* device_pointer, void* pointer, uint32_t flags) { return guard_cudart<false>([&] { return ::jitc::api::cudaHostGetDevicePointer(device_pointer, pointer, flags); }); }
JITC_EXPORT int32_t cudaHostGetFlags(uint32_t* flags, void* pointer) { return guard_cudart<false>([&] { return ::jitc::api::cudaHostGetFlags(flags, pointer); }); }
JITC_EXPORT int32_t cudaHostRegister(void* pointer, size_t bytes, uint32_t flags) { return guard_cudart<false>([&] { return ::jitc::api::cudaHostRegister(pointer, bytes, flags); }); }
JITC_EXPORT int32_t cudaHostUnregister(void* pointer) { return guard_cudart<true>([&] { return ::jitc::api::cudaHostUnregister(pointer); }); }
JITC_EXPORT int32_t cudaInitDevice(int32_t device, uint32_t device_flags, uint32_t flags) { return guard_cudart<false>([&] { return ::jitc::api::cudaInitDevice(device, device_flags, flags); }); }
JITC_EXPORT int32_t cudaKernelSetAttributeForDevice(uint64_t kernel, int32_t attribute, int32_t value, int32_t device) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaKernelSetAttributeForDevice(kernel, attribute, value, device) : refuse_cudart("cudaKernelSetAttributeForDevice", kAdvice10); }); }
JITC_EXPORT int32_t cudaLaunchCooperativeKernel(uint64_t kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaLaunchCooperativeKernel(kernel, grid, block, arguments, shared, stream); }); }
JITC_EXPORT int32_t cudaLaunchCooperativeKernel_ptsz(uint64_t kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaLaunchCooperativeKernel(kernel, grid, block, arguments, shared, stream); }); }
JITC_EXPORT int32_t cudaLaunchHostFunc(uint64_t stream, void* function, void* data) { return guard_cudart<true>([&] { return ::jitc::api::cudaLaunchHostFunc(stream, function, data); }); }
JITC_EXPORT int32_t cudaLaunchHostFunc_ptsz(uint64_t stream, void* function, void* data) { return guard_cudart<true>([&] { return ::jitc::api::cudaLaunchHostFunc(stream, function, data); }); }
JITC_EXPORT int32_t cudaLaunchKernel(uint64_t kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::__cudaLaunchKernel(kernel, grid, block, arguments, shared, stream); }); }
JITC_EXPORT int32_t cudaLaunchKernelExC(const void* config, uint64_t function, void** arguments) { return guard_cudart<true>([&] { return ::jitc::api::cudaLaunchKernelExC(config, function, arguments); }); }
JITC_EXPORT int32_t cudaLaunchKernelExC_ptsz(const void* config, uint64_t function, void** arguments) { return guard_cudart<true>([&] { return ::jitc::api::cudaLaunchKernelExC(config, function, arguments); }); }
JITC_EXPORT int32_t cudaLaunchKernel_ptsz(uint64_t kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::__cudaLaunchKernel(kernel, grid, block, arguments, shared, stream); }); }
JITC_EXPORT int32_t cudaLibraryGetGlobal(uint64_t* address, size_t* bytes, uint64_t library, const char* name) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cuLibraryGetGlobal(address, bytes, library, name) : refuse_cudart("cudaLibraryGetGlobal", kAdvice10); }); }
JITC_EXPORT int32_t cudaLibraryGetKernel(uint64_t* kernel, uint64_t library, const char* name) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cuLibraryGetKernel(kernel, library, name) : refuse_cudart("cudaLibraryGetKernel", kAdvice10); }); }
JITC_EXPORT int32_t cudaLibraryLoadData(uint64_t* library, const void* image, int32_t* jit_options, void** jit_values, uint32_t jit_count, int32_t* options, void** values, uint32_t count) { return guard_cudart<false>([&] { return runs_kernels() ? ::jitc::api::cuLibraryLoadData(library, image, jit_options, jit_values, jit_count, options, values, count) : refuse_cudart("cudaLibraryLoadData", kAdvice10); }); }
JITC_EXPORT int32_t cudaLibraryLoadFromFile(uint64_t* library, const char* path, int32_t* jit_options, void** jit_values, uint32_t jit_count, int32_t* options, void** values, uint32_t count) { return guard_cudart<false>([&] { return runs_kernels() ? ::jitc::api::cuLibraryLoadFromFile(library, path, jit_options, jit_values, jit_count, options, values, count) : refuse_cudart("cudaLibraryLoadFromFile", kAdvice10); }); }
JITC_EXPORT int32_t cudaLibraryUnload(uint64_t library) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cuLibraryUnload(library) : refuse_cudart("cudaLibraryUnload", kAdvice10); }); }
JITC_EXPORT int32_t cudaMalloc(uint64_t* address, size_t bytes) { return guard_cudart<true>([&] { return ::jitc::api::cudaMalloc(address, bytes); }); }
JITC_EXPORT int32_t cudaMallocAsync(uint64_t* address, size_t bytes, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaMallocAsync(address, bytes, stream); }); }
JITC_EXPORT int32_t cudaMallocAsync_ptsz(uint64_t* address, size_t bytes, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaMallocAsync(address, bytes, stream); }); }
JITC_EXPORT int32_t cudaMallocHost(void** pointer, size_t bytes) { return guard_cudart<true>([&] { return ::jitc::api::cudaMallocHost(pointer, bytes); }); }
JITC_EXPORT int32_t cudaMallocPitch(uint64_t* address, size_t* pitch, size_t width, size_t height) { return guard_cudart<true>([&] { return ::jitc::api::cudaMallocPitch(address, pitch, width, height); }); }
JITC_EXPORT int32_t cudaMemGetInfo(size_t* free, size_t* total) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemGetInfo(free, total); }); }
JITC_EXPORT int32_t cudaMemPoolGetAttribute(uint64_t pool, int32_t attribute, uint64_t* value) { return guard_cudart<false>([&] { return ::jitc::api::cudaMemPoolGetAttribute(pool, attribute, value); }); }
JITC_EXPORT int32_t cudaMemPoolSetAccess(uint64_t pool, const void* access, size_t count) { return guard_cudart<false>([&] { return ::jitc::api::cudaMemPoolSetAccess(pool, access, count); }); }
JITC_EXPORT int32_t cudaMemPoolSetAttribute(uint64_t pool, int32_t attribute, const uint64_t* value) { return guard_cudart<false>([&] { return ::jitc::api::cudaMemPoolSetAttribute(pool, attribute, value); }); }
JITC_EXPORT int32_t cudaMemPoolTrimTo(uint64_t pool, size_t keep) { return guard_cudart<false>([&] { return ::jitc::api::cudaMemPoolTrimTo(pool, keep); }); }
JITC_EXPORT int32_t cudaMemcpy(void* dst, const void* src, size_t count, int32_t kind) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpy(dst, src, count, kind); }); }
JITC_EXPORT int32_t cudaMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height, int32_t kind) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpy2D(dst, dst_pitch, src, src_pitch, width, height, kind); }); }
JITC_EXPORT int32_t cudaMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height, int32_t kind, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpy2DAsync(dst, dst_pitch, src, src_pitch, width, height, kind, stream); }); }
JITC_EXPORT int32_t cudaMemcpy2DAsync_ptsz(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height, int32_t kind, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpy2DAsync(dst, dst_pitch, src, src_pitch, width, height, kind, stream); }); }
JITC_EXPORT int32_t cudaMemcpy2D_ptds(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height, int32_t kind) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpy2D(dst, dst_pitch, src, src_pitch, width, height, kind); }); }
JITC_EXPORT int32_t cudaMemcpy3D(const CopyParameters3d* parameters) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpy3D(parameters); }); }
JITC_EXPORT int32_t cudaMemcpy3DAsync(const CopyParameters3d* parameters, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpy3DAsync(parameters, stream); }); }
JITC_EXPORT int32_t cudaMemcpy3DAsync_ptsz(const CopyParameters3d* parameters, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpy3DAsync(parameters, stream); }); }
JITC_EXPORT int32_t cudaMemcpy3D_ptds(const CopyParameters3d* parameters) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpy3D(parameters); }); }
JITC_EXPORT int32_t cudaMemcpyAsync(void* dst, const void* src, size_t count, int32_t kind, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpyAsync(dst, src, count, kind, stream); }); }
JITC_EXPORT int32_t cudaMemcpyAsync_ptsz(void* dst, const void* src, size_t count, int32_t kind, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpyAsync(dst, src, count, kind, stream); }); }
JITC_EXPORT int32_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count, size_t offset, int32_t kind) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaMemcpyFromSymbol(dst, symbol, count, offset, kind) : refuse_cudart("cudaMemcpyFromSymbol", kAdvice5); }); }
JITC_EXPORT int32_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count, size_t offset, int32_t kind, uint64_t stream) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaMemcpyFromSymbolAsync(dst, symbol, count, offset, kind, stream) : refuse_cudart("cudaMemcpyFromSymbolAsync", kAdvice5); }); }
JITC_EXPORT int32_t cudaMemcpyFromSymbolAsync_ptsz(void* dst, const void* symbol, size_t count, size_t offset, int32_t kind, uint64_t stream) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaMemcpyFromSymbolAsync(dst, symbol, count, offset, kind, stream) : refuse_cudart("cudaMemcpyFromSymbolAsync_ptsz", kAdvice5); }); }
JITC_EXPORT int32_t cudaMemcpyFromSymbol_ptds(void* dst, const void* symbol, size_t count, size_t offset, int32_t kind) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaMemcpyFromSymbol(dst, symbol, count, offset, kind) : refuse_cudart("cudaMemcpyFromSymbol_ptds", kAdvice5); }); }
JITC_EXPORT int32_t cudaMemcpyPeer(void* dst, int32_t dst_device, const void* src, int32_t src_device, size_t count) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpyPeer(dst, dst_device, src, src_device, count); }); }
JITC_EXPORT int32_t cudaMemcpyPeerAsync(void* dst, int32_t dst_device, const void* src, int32_t src_device, size_t count, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpyPeerAsync(dst, dst_device, src, src_device, count, stream); }); }
JITC_EXPORT int32_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t count, size_t offset, int32_t kind) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaMemcpyToSymbol(symbol, src, count, offset, kind) : refuse_cudart("cudaMemcpyToSymbol", kAdvice5); }); }
JITC_EXPORT int32_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count, size_t offset, int32_t kind, uint64_t stream) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaMemcpyToSymbolAsync(symbol, src, count, offset, kind, stream) : refuse_cudart("cudaMemcpyToSymbolAsync", kAdvice5); }); }
JITC_EXPORT int32_t cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* src, size_t count, size_t offset, int32_t kind, uint64_t stream) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaMemcpyToSymbolAsync(symbol, src, count, offset, kind, stream) : refuse_cudart("cudaMemcpyToSymbolAsync_ptsz", kAdvice5); }); }
JITC_EXPORT int32_t cudaMemcpyToSymbol_ptds(const void* symbol, const void* src, size_t count, size_t offset, int32_t kind) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaMemcpyToSymbol(symbol, src, count, offset, kind) : refuse_cudart("cudaMemcpyToSymbol_ptds", kAdvice5); }); }
JITC_EXPORT int32_t cudaMemcpy_ptds(void* dst, const void* src, size_t count, int32_t kind) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemcpy(dst, src, count, kind); }); }
JITC_EXPORT int32_t cudaMemset(uint64_t address, int32_t value, size_t count) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemset(address, value, count); }); }
JITC_EXPORT int32_t cudaMemset2D(uint64_t address, size_t pitch, int32_t value, size_t width, size_t height) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemset2D(address, pitch, value, width, height); }); }
JITC_EXPORT int32_t cudaMemset2DAsync(uint64_t address, size_t pitch, int32_t value, size_t width, size_t height, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemset2DAsync(address, pitch, value, width, height, stream); }); }
JITC_EXPORT int32_t cudaMemset2DAsync_ptsz(uint64_t address, size_t pitch, int32_t value, size_t width, size_t height, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemset2DAsync(address, pitch, value, width, height, stream); }); }
JITC_EXPORT int32_t cudaMemset2D_ptds(uint64_t address, size_t pitch, int32_t value, size_t width, size_t height) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemset2D(address, pitch, value, width, height); }); }
JITC_EXPORT int32_t cudaMemsetAsync(uint64_t address, int32_t value, size_t count, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemsetAsync(address, value, count, stream); }); }
JITC_EXPORT int32_t cudaMemsetAsync_ptsz(uint64_t address, int32_t value, size_t count, uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemsetAsync(address, value, count, stream); }); }
JITC_EXPORT int32_t cudaMemset_ptds(uint64_t address, int32_t value, size_t count) { return guard_cudart<true>([&] { return ::jitc::api::cudaMemset(address, value, count); }); }
JITC_EXPORT int32_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared, const void* function, int32_t blocks, int32_t block) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaOccupancyAvailableDynamicSMemPerBlock(shared, function, blocks, block) : refuse_cudart("cudaOccupancyAvailableDynamicSMemPerBlock", kAdvice10); }); }
JITC_EXPORT int32_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int32_t* blocks, const void* function, int32_t block, size_t shared) { return guard_cudart<true>([&] { return ::jitc::api::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block, shared); }); }
JITC_EXPORT int32_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int32_t* blocks, const void* function, int32_t block, size_t shared, uint32_t flags) { return guard_cudart<true>([&] { return ::jitc::api::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block, shared, flags); }); }
JITC_EXPORT int32_t cudaOccupancyMaxActiveClusters(int32_t* answer, const void* function, const void* config) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaOccupancyMaxActiveClusters(answer, function, config) : refuse_cudart("cudaOccupancyMaxActiveClusters", kAdvice10); }); }
JITC_EXPORT int32_t cudaOccupancyMaxPotentialClusterSize(int32_t* answer, const void* function, const void* config) { return guard_cudart<true>([&] { return runs_kernels() ? ::jitc::api::cudaOccupancyMaxPotentialClusterSize(answer, function, config) : refuse_cudart("cudaOccupancyMaxPotentialClusterSize", kAdvice10); }); }
JITC_EXPORT int32_t cudaPeekAtLastError() { return ::jitc::api::cudaPeekAtLastError(); }
JITC_EXPORT int32_t cudaPointerGetAttributes(PointerAttributes* attributes, uint64_t pointer) { return guard_cudart<false>([&] { return ::jitc::api::cudaPointerGetAttributes(attributes, pointer); }); }
JITC_EXPORT int32_t cudaProfilerStart() { return guard_cudart<false>([&] { return ::jitc::api::cudaProfilerStart(); }); }
JITC_EXPORT int32_t cudaProfilerStop() { return guard_cudart<false>([&] { return ::jitc::api::cudaProfilerStop(); }); }
JITC_EXPORT int32_t cudaRuntimeGetVersion(int32_t* version) { return guard_cudart<false>([&] { return ::jitc::api::cudaRuntimeGetVersion(version); }); }
JITC_EXPORT int32_t cudaSetDevice(int32_t device) { return guard_cudart<false>([&] { return ::jitc::api::cudaSetDevice(device); }); }
JITC_EXPORT int32_t cudaSetDeviceFlags(uint32_t flags) { return guard_cudart<false>([&] { return ::jitc::api::cudaSetDeviceFlags(flags); }); }
JITC_EXPORT int32_t cudaSetValidDevices(int32_t* devices, int32_t count) { return guard_cudart<false>([&] { return ::jitc::api::cudaSetValidDevices(devices, count); }); }
JITC_EXPORT int32_t cudaStreamAddCallback(uint64_t stream, void* callback, void* data, uint32_t flags) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamAddCallback(stream, callback, data, flags); }); }
JITC_EXPORT int32_t cudaStreamAddCallback_ptsz(uint64_t stream, void* callback, void* data, uint32_t flags) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamAddCallback(stream, callback, data, flags); }); }
JITC_EXPORT int32_t cudaStreamBeginCapture(uint64_t stream, int32_t mode) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamBeginCapture(stream, mode); }); }
JITC_EXPORT int32_t cudaStreamBeginCapture_ptsz(uint64_t stream, int32_t mode) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamBeginCapture(stream, mode); }); }
JITC_EXPORT int32_t cudaStreamCopyAttributes(uint64_t dst, uint64_t src) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamCopyAttributes(dst, src); }); }
JITC_EXPORT int32_t cudaStreamCopyAttributes_ptsz(uint64_t dst, uint64_t src) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamCopyAttributes(dst, src); }); }
JITC_EXPORT int32_t cudaStreamCreate(uint64_t* stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamCreate(stream); }); }
JITC_EXPORT int32_t cudaStreamCreateWithFlags(uint64_t* stream, uint32_t flags) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamCreateWithFlags(stream, flags); }); }
JITC_EXPORT int32_t cudaStreamCreateWithPriority(uint64_t* stream, uint32_t flags, int32_t priority) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamCreateWithPriority(stream, flags, priority); }); }
JITC_EXPORT int32_t cudaStreamDestroy(uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamDestroy(stream); }); }
JITC_EXPORT int32_t cudaStreamEndCapture(uint64_t stream, uint64_t* graph) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamEndCapture(stream, graph); }); }
JITC_EXPORT int32_t cudaStreamEndCapture_ptsz(uint64_t stream, uint64_t* graph) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamEndCapture(stream, graph); }); }
JITC_EXPORT int32_t cudaStreamGetCaptureInfo(uint64_t stream, int32_t* status, uint64_t* id, uint64_t* graph, uint64_t* dependencies, uint64_t* edges, size_t* count) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, edges, count); }); }
JITC_EXPORT int32_t cudaStreamGetCaptureInfo_ptsz(uint64_t stream, int32_t* status, uint64_t* id, uint64_t* graph, uint64_t* dependencies, uint64_t* edges, size_t* count) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, edges, count); }); }
JITC_EXPORT int32_t cudaStreamGetCaptureInfo_v2(uint64_t stream, int32_t* status, uint64_t* id, uint64_t* graph, uint64_t* dependencies, size_t* count) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count); }); }
JITC_EXPORT int32_t cudaStreamGetCaptureInfo_v2_ptsz(uint64_t stream, int32_t* status, uint64_t* id, uint64_t* graph, uint64_t* dependencies, size_t* count) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count); }); }
JITC_EXPORT int32_t cudaStreamGetCaptureInfo_v3(uint64_t stream, int32_t* status, uint64_t* id, uint64_t* graph, uint64_t* dependencies, uint64_t* edges, size_t* count) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, edges, count); }); }
JITC_EXPORT int32_t cudaStreamGetCaptureInfo_v3_ptsz(uint64_t stream, int32_t* status, uint64_t* id, uint64_t* graph, uint64_t* dependencies, uint64_t* edges, size_t* count) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, edges, count); }); }
JITC_EXPORT int32_t cudaStreamGetDevice(uint64_t stream, int32_t* device) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetDevice(stream, device); }); }
JITC_EXPORT int32_t cudaStreamGetDevice_ptsz(uint64_t stream, int32_t* device) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetDevice(stream, device); }); }
JITC_EXPORT int32_t cudaStreamGetFlags(uint64_t stream, uint32_t* flags) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetFlags(stream, flags); }); }
JITC_EXPORT int32_t cudaStreamGetFlags_ptsz(uint64_t stream, uint32_t* flags) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetFlags(stream, flags); }); }
JITC_EXPORT int32_t cudaStreamGetId(uint64_t stream, uint64_t* id) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetId(stream, id); }); }
JITC_EXPORT int32_t cudaStreamGetId_ptsz(uint64_t stream, uint64_t* id) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetId(stream, id); }); }
JITC_EXPORT int32_t cudaStreamGetPriority(uint64_t stream, int32_t* priority) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetPriority(stream, priority); }); }
JITC_EXPORT int32_t cudaStreamGetPriority_ptsz(uint64_t stream, int32_t* priority) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamGetPriority(stream, priority); }); }
JITC_EXPORT int32_t cudaStreamIsCapturing(uint64_t stream, int32_t* status) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamIsCapturing(stream, status); }); }
JITC_EXPORT int32_t cudaStreamIsCapturing_ptsz(uint64_t stream, int32_t* status) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamIsCapturing(stream, status); }); }
JITC_EXPORT int32_t cudaStreamQuery(uint64_t stream) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamQuery(stream); }); }
JITC_EXPORT int32_t cudaStreamQuery_ptsz(uint64_t stream) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamQuery(stream); }); }
JITC_EXPORT int32_t cudaStreamSetAttribute(uint64_t stream, int32_t attribute, const void* value) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamSetAttribute(stream, attribute, value); }); }
JITC_EXPORT int32_t cudaStreamSetAttribute_ptsz(uint64_t stream, int32_t attribute, const void* value) { return guard_cudart<false>([&] { return ::jitc::api::cudaStreamSetAttribute(stream, attribute, value); }); }
JITC_EXPORT int32_t cudaStreamSynchronize(uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamSynchronize(stream); }); }
JITC_EXPORT int32_t cudaStreamSynchronize_ptsz(uint64_t stream) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamSynchronize(stream); }); }
JITC_EXPORT int32_t cudaStreamWaitEvent(uint64_t stream, uint64_t event, uint32_t flags) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamWaitEvent(stream, event, flags); }); }
JITC_EXPORT int32_t cudaStreamWaitEvent_ptsz(uint64_t stream, uint64_t event, uint32_t flags) { return guard_cudart<true>([&] { return ::jitc::api::cudaStreamWaitEvent(stream, event, flags); }); }
JITC_EXPORT int32_t cudaThreadExchangeStreamCaptureMode(int32_t* mode) { return guard_cudart<false>([&] { return ::jitc::api::cudaThreadExchangeStreamCaptureMode(mode); }); }
JITC_EXPORT int32_t cudaThreadExit() { return guard_cudart<true>([&] { return ::jitc::api::cudaDeviceReset(); }); }
JITC_EXPORT int32_t cudaThreadGetCacheConfig(int32_t* config) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceGetCacheConfig(config); }); }
JITC_EXPORT int32_t cudaThreadGetLimit(size_t* value, int32_t limit) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceGetLimit(value, limit); }); }
JITC_EXPORT int32_t cudaThreadSetCacheConfig(int32_t config) { return guard_cudart<false>([&] { return ::jitc::api::cudaDeviceSetCacheConfig(config); }); }
JITC_EXPORT int32_t cudaThreadSetLimit(int32_t limit, size_t value) { return guard_cudart<true>([&] { return ::jitc::api::cudaDeviceSetLimit(limit, value); }); }
JITC_EXPORT int32_t cudaThreadSynchronize() { return guard_cudart<true>([&] { return ::jitc::api::cudaDeviceSynchronize(); }); }

JITC_EXPORT int32_t __cudaGetProcAddress() { return refuse_cudart("__cudaGetProcAddress", kAdvice9); }
JITC_EXPORT int32_t __cudaRegisterHostVar() { return refuse_cudart("__cudaRegisterHostVar", kAdvice9); }
JITC_EXPORT int32_t __cudaRegisterUnifiedTable() { return refuse_cudart("__cudaRegisterUnifiedTable", kAdvice9); }
JITC_EXPORT int32_t cudaArrayGetInfo() { return refuse_cudart("cudaArrayGetInfo", kAdvice1); }
JITC_EXPORT int32_t cudaArrayGetMemoryRequirements() { return refuse_cudart("cudaArrayGetMemoryRequirements", kAdvice1); }
JITC_EXPORT int32_t cudaArrayGetPlane() { return refuse_cudart("cudaArrayGetPlane", kAdvice1); }
JITC_EXPORT int32_t cudaArrayGetSparseProperties() { return refuse_cudart("cudaArrayGetSparseProperties", kAdvice1); }
JITC_EXPORT int32_t cudaCreateSurfaceObject() { return refuse_cudart("cudaCreateSurfaceObject", kAdvice1); }
JITC_EXPORT int32_t cudaCreateTextureObject() { return refuse_cudart("cudaCreateTextureObject", kAdvice1); }
JITC_EXPORT int32_t cudaDestroyExternalMemory() { return refuse_cudart("cudaDestroyExternalMemory", kAdvice3); }
JITC_EXPORT int32_t cudaDestroyExternalSemaphore() { return refuse_cudart("cudaDestroyExternalSemaphore", kAdvice3); }
JITC_EXPORT int32_t cudaDestroySurfaceObject() { return refuse_cudart("cudaDestroySurfaceObject", kAdvice1); }
JITC_EXPORT int32_t cudaDestroyTextureObject() { return refuse_cudart("cudaDestroyTextureObject", kAdvice1); }
JITC_EXPORT int32_t cudaDeviceFlushGPUDirectRDMAWrites() { return refuse_cudart("cudaDeviceFlushGPUDirectRDMAWrites", kAdvice9); }
JITC_EXPORT int32_t cudaDeviceGetGraphMemAttribute() { return refuse_cudart("cudaDeviceGetGraphMemAttribute", kAdvice0); }
JITC_EXPORT int32_t cudaDeviceGetHostAtomicCapabilities() { return refuse_cudart("cudaDeviceGetHostAtomicCapabilities", kAdvice9); }
JITC_EXPORT int32_t cudaDeviceGetNvSciSyncAttributes() { return refuse_cudart("cudaDeviceGetNvSciSyncAttributes", kAdvice3); }
JITC_EXPORT int32_t cudaDeviceGetP2PAtomicCapabilities() { return refuse_cudart("cudaDeviceGetP2PAtomicCapabilities", kAdvice9); }
JITC_EXPORT int32_t cudaDeviceGetTexture1DLinearMaxWidth() { return refuse_cudart("cudaDeviceGetTexture1DLinearMaxWidth", kAdvice1); }
JITC_EXPORT int32_t cudaDeviceGraphMemTrim() { return refuse_cudart("cudaDeviceGraphMemTrim", kAdvice0); }
JITC_EXPORT int32_t cudaDeviceRegisterAsyncNotification() { return refuse_cudart("cudaDeviceRegisterAsyncNotification", kAdvice9); }
JITC_EXPORT int32_t cudaDeviceSetGraphMemAttribute() { return refuse_cudart("cudaDeviceSetGraphMemAttribute", kAdvice0); }
JITC_EXPORT int32_t cudaDeviceUnregisterAsyncNotification() { return refuse_cudart("cudaDeviceUnregisterAsyncNotification", kAdvice9); }
JITC_EXPORT int32_t cudaEGLStreamConsumerAcquireFrame() { return refuse_cudart("cudaEGLStreamConsumerAcquireFrame", kAdvice4); }
JITC_EXPORT int32_t cudaEGLStreamConsumerConnect() { return refuse_cudart("cudaEGLStreamConsumerConnect", kAdvice4); }
JITC_EXPORT int32_t cudaEGLStreamConsumerConnectWithFlags() { return refuse_cudart("cudaEGLStreamConsumerConnectWithFlags", kAdvice4); }
JITC_EXPORT int32_t cudaEGLStreamConsumerDisconnect() { return refuse_cudart("cudaEGLStreamConsumerDisconnect", kAdvice4); }
JITC_EXPORT int32_t cudaEGLStreamConsumerReleaseFrame() { return refuse_cudart("cudaEGLStreamConsumerReleaseFrame", kAdvice4); }
JITC_EXPORT int32_t cudaEGLStreamProducerConnect() { return refuse_cudart("cudaEGLStreamProducerConnect", kAdvice4); }
JITC_EXPORT int32_t cudaEGLStreamProducerDisconnect() { return refuse_cudart("cudaEGLStreamProducerDisconnect", kAdvice4); }
JITC_EXPORT int32_t cudaEGLStreamProducerPresentFrame() { return refuse_cudart("cudaEGLStreamProducerPresentFrame", kAdvice4); }
JITC_EXPORT int32_t cudaEGLStreamProducerReturnFrame() { return refuse_cudart("cudaEGLStreamProducerReturnFrame", kAdvice4); }
JITC_EXPORT int32_t cudaEventCreateFromEGLSync() { return refuse_cudart("cudaEventCreateFromEGLSync", kAdvice4); }
JITC_EXPORT int32_t cudaExternalMemoryGetMappedBuffer() { return refuse_cudart("cudaExternalMemoryGetMappedBuffer", kAdvice3); }
JITC_EXPORT int32_t cudaExternalMemoryGetMappedMipmappedArray() { return refuse_cudart("cudaExternalMemoryGetMappedMipmappedArray", kAdvice3); }
JITC_EXPORT int32_t cudaFreeArray() { return refuse_cudart("cudaFreeArray", kAdvice1); }
JITC_EXPORT int32_t cudaFreeMipmappedArray() { return refuse_cudart("cudaFreeMipmappedArray", kAdvice1); }
JITC_EXPORT int32_t cudaGLGetDevices() { return refuse_cudart("cudaGLGetDevices", kAdvice4); }
JITC_EXPORT int32_t cudaGLMapBufferObject() { return refuse_cudart("cudaGLMapBufferObject", kAdvice4); }
JITC_EXPORT int32_t cudaGLMapBufferObjectAsync() { return refuse_cudart("cudaGLMapBufferObjectAsync", kAdvice4); }
JITC_EXPORT int32_t cudaGLRegisterBufferObject() { return refuse_cudart("cudaGLRegisterBufferObject", kAdvice4); }
JITC_EXPORT int32_t cudaGLSetBufferObjectMapFlags() { return refuse_cudart("cudaGLSetBufferObjectMapFlags", kAdvice4); }
JITC_EXPORT int32_t cudaGLSetGLDevice() { return refuse_cudart("cudaGLSetGLDevice", kAdvice4); }
JITC_EXPORT int32_t cudaGLUnmapBufferObject() { return refuse_cudart("cudaGLUnmapBufferObject", kAdvice4); }
JITC_EXPORT int32_t cudaGLUnmapBufferObjectAsync() { return refuse_cudart("cudaGLUnmapBufferObjectAsync", kAdvice4); }
JITC_EXPORT int32_t cudaGLUnregisterBufferObject() { return refuse_cudart("cudaGLUnregisterBufferObject", kAdvice4); }
JITC_EXPORT int32_t cudaGetChannelDesc() { return refuse_cudart("cudaGetChannelDesc", kAdvice1); }
JITC_EXPORT int32_t cudaGetExportTable() { return refuse_cudart("cudaGetExportTable", kAdvice9); }
JITC_EXPORT int32_t cudaGetMipmappedArrayLevel() { return refuse_cudart("cudaGetMipmappedArrayLevel", kAdvice1); }
JITC_EXPORT int32_t cudaGetSurfaceObjectResourceDesc() { return refuse_cudart("cudaGetSurfaceObjectResourceDesc", kAdvice1); }
JITC_EXPORT int32_t cudaGetTextureObjectResourceDesc() { return refuse_cudart("cudaGetTextureObjectResourceDesc", kAdvice1); }
JITC_EXPORT int32_t cudaGetTextureObjectResourceViewDesc() { return refuse_cudart("cudaGetTextureObjectResourceViewDesc", kAdvice1); }
JITC_EXPORT int32_t cudaGetTextureObjectTextureDesc() { return refuse_cudart("cudaGetTextureObjectTextureDesc", kAdvice1); }
JITC_EXPORT int32_t cudaGraphAddChildGraphNode() { return refuse_cudart("cudaGraphAddChildGraphNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddDependencies() { return refuse_cudart("cudaGraphAddDependencies", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddDependencies_v2() { return refuse_cudart("cudaGraphAddDependencies_v2", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddEmptyNode() { return refuse_cudart("cudaGraphAddEmptyNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddEventRecordNode() { return refuse_cudart("cudaGraphAddEventRecordNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddEventWaitNode() { return refuse_cudart("cudaGraphAddEventWaitNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddExternalSemaphoresSignalNode() { return refuse_cudart("cudaGraphAddExternalSemaphoresSignalNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddExternalSemaphoresWaitNode() { return refuse_cudart("cudaGraphAddExternalSemaphoresWaitNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddHostNode() { return refuse_cudart("cudaGraphAddHostNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddKernelNode() { return refuse_cudart("cudaGraphAddKernelNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddMemAllocNode() { return refuse_cudart("cudaGraphAddMemAllocNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddMemFreeNode() { return refuse_cudart("cudaGraphAddMemFreeNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddMemcpyNode() { return refuse_cudart("cudaGraphAddMemcpyNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddMemcpyNode1D() { return refuse_cudart("cudaGraphAddMemcpyNode1D", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddMemcpyNodeFromSymbol() { return refuse_cudart("cudaGraphAddMemcpyNodeFromSymbol", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddMemcpyNodeToSymbol() { return refuse_cudart("cudaGraphAddMemcpyNodeToSymbol", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddMemsetNode() { return refuse_cudart("cudaGraphAddMemsetNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddNode() { return refuse_cudart("cudaGraphAddNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphAddNode_v2() { return refuse_cudart("cudaGraphAddNode_v2", kAdvice0); }
JITC_EXPORT int32_t cudaGraphChildGraphNodeGetGraph() { return refuse_cudart("cudaGraphChildGraphNodeGetGraph", kAdvice0); }
JITC_EXPORT int32_t cudaGraphClone() { return refuse_cudart("cudaGraphClone", kAdvice0); }
JITC_EXPORT int32_t cudaGraphConditionalHandleCreate() { return refuse_cudart("cudaGraphConditionalHandleCreate", kAdvice0); }
JITC_EXPORT int32_t cudaGraphCreate() { return refuse_cudart("cudaGraphCreate", kAdvice0); }
JITC_EXPORT int32_t cudaGraphDebugDotPrint() { return refuse_cudart("cudaGraphDebugDotPrint", kAdvice0); }
JITC_EXPORT int32_t cudaGraphDestroyNode() { return refuse_cudart("cudaGraphDestroyNode", kAdvice0); }
JITC_EXPORT int32_t cudaGraphEventRecordNodeGetEvent() { return refuse_cudart("cudaGraphEventRecordNodeGetEvent", kAdvice0); }
JITC_EXPORT int32_t cudaGraphEventRecordNodeSetEvent() { return refuse_cudart("cudaGraphEventRecordNodeSetEvent", kAdvice0); }
JITC_EXPORT int32_t cudaGraphEventWaitNodeGetEvent() { return refuse_cudart("cudaGraphEventWaitNodeGetEvent", kAdvice0); }
JITC_EXPORT int32_t cudaGraphEventWaitNodeSetEvent() { return refuse_cudart("cudaGraphEventWaitNodeSetEvent", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecChildGraphNodeSetParams() { return refuse_cudart("cudaGraphExecChildGraphNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecEventRecordNodeSetEvent() { return refuse_cudart("cudaGraphExecEventRecordNodeSetEvent", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecEventWaitNodeSetEvent() { return refuse_cudart("cudaGraphExecEventWaitNodeSetEvent", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecExternalSemaphoresSignalNodeSetParams() { return refuse_cudart("cudaGraphExecExternalSemaphoresSignalNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecExternalSemaphoresWaitNodeSetParams() { return refuse_cudart("cudaGraphExecExternalSemaphoresWaitNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecGetFlags() { return refuse_cudart("cudaGraphExecGetFlags", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecHostNodeSetParams() { return refuse_cudart("cudaGraphExecHostNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecKernelNodeSetParams() { return refuse_cudart("cudaGraphExecKernelNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecMemcpyNodeSetParams() { return refuse_cudart("cudaGraphExecMemcpyNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecMemcpyNodeSetParams1D() { return refuse_cudart("cudaGraphExecMemcpyNodeSetParams1D", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecMemcpyNodeSetParamsFromSymbol() { return refuse_cudart("cudaGraphExecMemcpyNodeSetParamsFromSymbol", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecMemcpyNodeSetParamsToSymbol() { return refuse_cudart("cudaGraphExecMemcpyNodeSetParamsToSymbol", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecMemsetNodeSetParams() { return refuse_cudart("cudaGraphExecMemsetNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExecNodeSetParams() { return refuse_cudart("cudaGraphExecNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExternalSemaphoresSignalNodeGetParams() { return refuse_cudart("cudaGraphExternalSemaphoresSignalNodeGetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExternalSemaphoresSignalNodeSetParams() { return refuse_cudart("cudaGraphExternalSemaphoresSignalNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExternalSemaphoresWaitNodeGetParams() { return refuse_cudart("cudaGraphExternalSemaphoresWaitNodeGetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphExternalSemaphoresWaitNodeSetParams() { return refuse_cudart("cudaGraphExternalSemaphoresWaitNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphGetEdges() { return refuse_cudart("cudaGraphGetEdges", kAdvice0); }
JITC_EXPORT int32_t cudaGraphGetEdges_v2() { return refuse_cudart("cudaGraphGetEdges_v2", kAdvice0); }
JITC_EXPORT int32_t cudaGraphGetRootNodes() { return refuse_cudart("cudaGraphGetRootNodes", kAdvice0); }
JITC_EXPORT int32_t cudaGraphHostNodeGetParams() { return refuse_cudart("cudaGraphHostNodeGetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphHostNodeSetParams() { return refuse_cudart("cudaGraphHostNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphInstantiateWithParams() { return refuse_cudart("cudaGraphInstantiateWithParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphInstantiateWithParams_ptsz() { return refuse_cudart("cudaGraphInstantiateWithParams_ptsz", kAdvice0); }
JITC_EXPORT int32_t cudaGraphKernelNodeCopyAttributes() { return refuse_cudart("cudaGraphKernelNodeCopyAttributes", kAdvice0); }
JITC_EXPORT int32_t cudaGraphKernelNodeGetAttribute() { return refuse_cudart("cudaGraphKernelNodeGetAttribute", kAdvice0); }
JITC_EXPORT int32_t cudaGraphKernelNodeGetParams() { return refuse_cudart("cudaGraphKernelNodeGetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphKernelNodeSetAttribute() { return refuse_cudart("cudaGraphKernelNodeSetAttribute", kAdvice0); }
JITC_EXPORT int32_t cudaGraphKernelNodeSetParams() { return refuse_cudart("cudaGraphKernelNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphMemAllocNodeGetParams() { return refuse_cudart("cudaGraphMemAllocNodeGetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphMemFreeNodeGetParams() { return refuse_cudart("cudaGraphMemFreeNodeGetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphMemcpyNodeGetParams() { return refuse_cudart("cudaGraphMemcpyNodeGetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphMemcpyNodeSetParams() { return refuse_cudart("cudaGraphMemcpyNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphMemcpyNodeSetParams1D() { return refuse_cudart("cudaGraphMemcpyNodeSetParams1D", kAdvice0); }
JITC_EXPORT int32_t cudaGraphMemcpyNodeSetParamsFromSymbol() { return refuse_cudart("cudaGraphMemcpyNodeSetParamsFromSymbol", kAdvice0); }
JITC_EXPORT int32_t cudaGraphMemcpyNodeSetParamsToSymbol() { return refuse_cudart("cudaGraphMemcpyNodeSetParamsToSymbol", kAdvice0); }
JITC_EXPORT int32_t cudaGraphMemsetNodeGetParams() { return refuse_cudart("cudaGraphMemsetNodeGetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphMemsetNodeSetParams() { return refuse_cudart("cudaGraphMemsetNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphNodeFindInClone() { return refuse_cudart("cudaGraphNodeFindInClone", kAdvice0); }
JITC_EXPORT int32_t cudaGraphNodeGetDependencies() { return refuse_cudart("cudaGraphNodeGetDependencies", kAdvice0); }
JITC_EXPORT int32_t cudaGraphNodeGetDependencies_v2() { return refuse_cudart("cudaGraphNodeGetDependencies_v2", kAdvice0); }
JITC_EXPORT int32_t cudaGraphNodeGetDependentNodes() { return refuse_cudart("cudaGraphNodeGetDependentNodes", kAdvice0); }
JITC_EXPORT int32_t cudaGraphNodeGetDependentNodes_v2() { return refuse_cudart("cudaGraphNodeGetDependentNodes_v2", kAdvice0); }
JITC_EXPORT int32_t cudaGraphNodeGetEnabled() { return refuse_cudart("cudaGraphNodeGetEnabled", kAdvice0); }
JITC_EXPORT int32_t cudaGraphNodeGetType() { return refuse_cudart("cudaGraphNodeGetType", kAdvice0); }
JITC_EXPORT int32_t cudaGraphNodeSetEnabled() { return refuse_cudart("cudaGraphNodeSetEnabled", kAdvice0); }
JITC_EXPORT int32_t cudaGraphNodeSetParams() { return refuse_cudart("cudaGraphNodeSetParams", kAdvice0); }
JITC_EXPORT int32_t cudaGraphReleaseUserObject() { return refuse_cudart("cudaGraphReleaseUserObject", kAdvice0); }
JITC_EXPORT int32_t cudaGraphRemoveDependencies() { return refuse_cudart("cudaGraphRemoveDependencies", kAdvice0); }
JITC_EXPORT int32_t cudaGraphRemoveDependencies_v2() { return refuse_cudart("cudaGraphRemoveDependencies_v2", kAdvice0); }
JITC_EXPORT int32_t cudaGraphRetainUserObject() { return refuse_cudart("cudaGraphRetainUserObject", kAdvice0); }
JITC_EXPORT int32_t cudaGraphicsEGLRegisterImage() { return refuse_cudart("cudaGraphicsEGLRegisterImage", kAdvice4); }
JITC_EXPORT int32_t cudaGraphicsGLRegisterBuffer() { return refuse_cudart("cudaGraphicsGLRegisterBuffer", kAdvice4); }
JITC_EXPORT int32_t cudaGraphicsGLRegisterImage() { return refuse_cudart("cudaGraphicsGLRegisterImage", kAdvice4); }
JITC_EXPORT int32_t cudaGraphicsMapResources() { return refuse_cudart("cudaGraphicsMapResources", kAdvice3); }
JITC_EXPORT int32_t cudaGraphicsResourceGetMappedEglFrame() { return refuse_cudart("cudaGraphicsResourceGetMappedEglFrame", kAdvice4); }
JITC_EXPORT int32_t cudaGraphicsResourceGetMappedMipmappedArray() { return refuse_cudart("cudaGraphicsResourceGetMappedMipmappedArray", kAdvice3); }
JITC_EXPORT int32_t cudaGraphicsResourceGetMappedPointer() { return refuse_cudart("cudaGraphicsResourceGetMappedPointer", kAdvice3); }
JITC_EXPORT int32_t cudaGraphicsResourceSetMapFlags() { return refuse_cudart("cudaGraphicsResourceSetMapFlags", kAdvice3); }
JITC_EXPORT int32_t cudaGraphicsSubResourceGetMappedArray() { return refuse_cudart("cudaGraphicsSubResourceGetMappedArray", kAdvice3); }
JITC_EXPORT int32_t cudaGraphicsUnmapResources() { return refuse_cudart("cudaGraphicsUnmapResources", kAdvice3); }
JITC_EXPORT int32_t cudaGraphicsUnregisterResource() { return refuse_cudart("cudaGraphicsUnregisterResource", kAdvice3); }
JITC_EXPORT int32_t cudaGraphicsVDPAURegisterOutputSurface() { return refuse_cudart("cudaGraphicsVDPAURegisterOutputSurface", kAdvice4); }
JITC_EXPORT int32_t cudaGraphicsVDPAURegisterVideoSurface() { return refuse_cudart("cudaGraphicsVDPAURegisterVideoSurface", kAdvice4); }
JITC_EXPORT int32_t cudaImportExternalMemory() { return refuse_cudart("cudaImportExternalMemory", kAdvice3); }
JITC_EXPORT int32_t cudaImportExternalSemaphore() { return refuse_cudart("cudaImportExternalSemaphore", kAdvice3); }
JITC_EXPORT int32_t cudaIpcCloseMemHandle() { return refuse_cudart("cudaIpcCloseMemHandle", kAdvice3); }
JITC_EXPORT int32_t cudaIpcGetEventHandle() { return refuse_cudart("cudaIpcGetEventHandle", kAdvice3); }
JITC_EXPORT int32_t cudaIpcGetMemHandle() { return refuse_cudart("cudaIpcGetMemHandle", kAdvice3); }
JITC_EXPORT int32_t cudaIpcOpenEventHandle() { return refuse_cudart("cudaIpcOpenEventHandle", kAdvice3); }
JITC_EXPORT int32_t cudaIpcOpenMemHandle() { return refuse_cudart("cudaIpcOpenMemHandle", kAdvice3); }
JITC_EXPORT int32_t cudaLaunchCooperativeKernelMultiDevice() { return refuse_cudart("cudaLaunchCooperativeKernelMultiDevice", kAdvice9); }
JITC_EXPORT int32_t cudaLibraryEnumerateKernels() { return refuse_cudart("cudaLibraryEnumerateKernels", kAdvice6); }
JITC_EXPORT int32_t cudaLibraryGetKernelCount() { return refuse_cudart("cudaLibraryGetKernelCount", kAdvice6); }
JITC_EXPORT int32_t cudaLibraryGetManaged() { return refuse_cudart("cudaLibraryGetManaged", kAdvice6); }
JITC_EXPORT int32_t cudaLibraryGetUnifiedFunction() { return refuse_cudart("cudaLibraryGetUnifiedFunction", kAdvice6); }
JITC_EXPORT int32_t cudaLogsCurrent() { return refuse_cudart("cudaLogsCurrent", kAdvice9); }
JITC_EXPORT int32_t cudaLogsDumpToFile() { return refuse_cudart("cudaLogsDumpToFile", kAdvice9); }
JITC_EXPORT int32_t cudaLogsDumpToMemory() { return refuse_cudart("cudaLogsDumpToMemory", kAdvice9); }
JITC_EXPORT int32_t cudaLogsRegisterCallback() { return refuse_cudart("cudaLogsRegisterCallback", kAdvice9); }
JITC_EXPORT int32_t cudaLogsUnregisterCallback() { return refuse_cudart("cudaLogsUnregisterCallback", kAdvice9); }
JITC_EXPORT int32_t cudaMalloc3D() { return refuse_cudart("cudaMalloc3D", kAdvice2); }
JITC_EXPORT int32_t cudaMalloc3DArray() { return refuse_cudart("cudaMalloc3DArray", kAdvice1); }
JITC_EXPORT int32_t cudaMallocArray() { return refuse_cudart("cudaMallocArray", kAdvice1); }
JITC_EXPORT int32_t cudaMallocFromPoolAsync() { return refuse_cudart("cudaMallocFromPoolAsync", kAdvice8); }
JITC_EXPORT int32_t cudaMallocFromPoolAsync_ptsz() { return refuse_cudart("cudaMallocFromPoolAsync_ptsz", kAdvice8); }
JITC_EXPORT int32_t cudaMallocManaged() { return refuse_cudart("cudaMallocManaged", kAdvice7); }
JITC_EXPORT int32_t cudaMallocMipmappedArray() { return refuse_cudart("cudaMallocMipmappedArray", kAdvice1); }
JITC_EXPORT int32_t cudaMemAdvise() { return refuse_cudart("cudaMemAdvise", kAdvice7); }
JITC_EXPORT int32_t cudaMemAdvise_v2() { return refuse_cudart("cudaMemAdvise_v2", kAdvice7); }
JITC_EXPORT int32_t cudaMemDiscardAndPrefetchBatchAsync() { return refuse_cudart("cudaMemDiscardAndPrefetchBatchAsync", kAdvice7); }
JITC_EXPORT int32_t cudaMemDiscardAndPrefetchBatchAsync_ptsz() { return refuse_cudart("cudaMemDiscardAndPrefetchBatchAsync_ptsz", kAdvice7); }
JITC_EXPORT int32_t cudaMemDiscardBatchAsync() { return refuse_cudart("cudaMemDiscardBatchAsync", kAdvice7); }
JITC_EXPORT int32_t cudaMemDiscardBatchAsync_ptsz() { return refuse_cudart("cudaMemDiscardBatchAsync_ptsz", kAdvice7); }
JITC_EXPORT int32_t cudaMemGetDefaultMemPool() { return refuse_cudart("cudaMemGetDefaultMemPool", kAdvice8); }
JITC_EXPORT int32_t cudaMemGetMemPool() { return refuse_cudart("cudaMemGetMemPool", kAdvice8); }
JITC_EXPORT int32_t cudaMemPoolCreate() { return refuse_cudart("cudaMemPoolCreate", kAdvice8); }
JITC_EXPORT int32_t cudaMemPoolDestroy() { return refuse_cudart("cudaMemPoolDestroy", kAdvice8); }
JITC_EXPORT int32_t cudaMemPoolExportPointer() { return refuse_cudart("cudaMemPoolExportPointer", kAdvice8); }
JITC_EXPORT int32_t cudaMemPoolExportToShareableHandle() { return refuse_cudart("cudaMemPoolExportToShareableHandle", kAdvice8); }
JITC_EXPORT int32_t cudaMemPoolGetAccess() { return refuse_cudart("cudaMemPoolGetAccess", kAdvice8); }
JITC_EXPORT int32_t cudaMemPoolImportFromShareableHandle() { return refuse_cudart("cudaMemPoolImportFromShareableHandle", kAdvice8); }
JITC_EXPORT int32_t cudaMemPoolImportPointer() { return refuse_cudart("cudaMemPoolImportPointer", kAdvice8); }
JITC_EXPORT int32_t cudaMemPrefetchAsync() { return refuse_cudart("cudaMemPrefetchAsync", kAdvice7); }
JITC_EXPORT int32_t cudaMemPrefetchAsync_ptsz() { return refuse_cudart("cudaMemPrefetchAsync_ptsz", kAdvice7); }
JITC_EXPORT int32_t cudaMemPrefetchAsync_v2() { return refuse_cudart("cudaMemPrefetchAsync_v2", kAdvice7); }
JITC_EXPORT int32_t cudaMemPrefetchAsync_v2_ptsz() { return refuse_cudart("cudaMemPrefetchAsync_v2_ptsz", kAdvice7); }
JITC_EXPORT int32_t cudaMemPrefetchBatchAsync() { return refuse_cudart("cudaMemPrefetchBatchAsync", kAdvice7); }
JITC_EXPORT int32_t cudaMemPrefetchBatchAsync_ptsz() { return refuse_cudart("cudaMemPrefetchBatchAsync_ptsz", kAdvice7); }
JITC_EXPORT int32_t cudaMemRangeGetAttribute() { return refuse_cudart("cudaMemRangeGetAttribute", kAdvice7); }
JITC_EXPORT int32_t cudaMemRangeGetAttributes() { return refuse_cudart("cudaMemRangeGetAttributes", kAdvice7); }
JITC_EXPORT int32_t cudaMemSetMemPool() { return refuse_cudart("cudaMemSetMemPool", kAdvice8); }
JITC_EXPORT int32_t cudaMemcpy2DArrayToArray() { return refuse_cudart("cudaMemcpy2DArrayToArray", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpy2DArrayToArray_ptds() { return refuse_cudart("cudaMemcpy2DArrayToArray_ptds", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpy2DFromArray() { return refuse_cudart("cudaMemcpy2DFromArray", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpy2DFromArrayAsync() { return refuse_cudart("cudaMemcpy2DFromArrayAsync", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpy2DFromArrayAsync_ptsz() { return refuse_cudart("cudaMemcpy2DFromArrayAsync_ptsz", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpy2DFromArray_ptds() { return refuse_cudart("cudaMemcpy2DFromArray_ptds", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpy2DToArray() { return refuse_cudart("cudaMemcpy2DToArray", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpy2DToArrayAsync() { return refuse_cudart("cudaMemcpy2DToArrayAsync", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpy2DToArrayAsync_ptsz() { return refuse_cudart("cudaMemcpy2DToArrayAsync_ptsz", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpy2DToArray_ptds() { return refuse_cudart("cudaMemcpy2DToArray_ptds", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpy3DBatchAsync() { return refuse_cudart("cudaMemcpy3DBatchAsync", kAdvice2); }
JITC_EXPORT int32_t cudaMemcpy3DBatchAsync_ptsz() { return refuse_cudart("cudaMemcpy3DBatchAsync_ptsz", kAdvice2); }
JITC_EXPORT int32_t cudaMemcpy3DPeer() { return refuse_cudart("cudaMemcpy3DPeer", kAdvice2); }
JITC_EXPORT int32_t cudaMemcpy3DPeerAsync() { return refuse_cudart("cudaMemcpy3DPeerAsync", kAdvice2); }
JITC_EXPORT int32_t cudaMemcpy3DPeerAsync_ptsz() { return refuse_cudart("cudaMemcpy3DPeerAsync_ptsz", kAdvice2); }
JITC_EXPORT int32_t cudaMemcpy3DPeer_ptds() { return refuse_cudart("cudaMemcpy3DPeer_ptds", kAdvice2); }
JITC_EXPORT int32_t cudaMemcpyArrayToArray() { return refuse_cudart("cudaMemcpyArrayToArray", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpyArrayToArray_ptds() { return refuse_cudart("cudaMemcpyArrayToArray_ptds", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpyBatchAsync() { return refuse_cudart("cudaMemcpyBatchAsync", kAdvice2); }
JITC_EXPORT int32_t cudaMemcpyBatchAsync_ptsz() { return refuse_cudart("cudaMemcpyBatchAsync_ptsz", kAdvice2); }
JITC_EXPORT int32_t cudaMemcpyFromArray() { return refuse_cudart("cudaMemcpyFromArray", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpyFromArrayAsync() { return refuse_cudart("cudaMemcpyFromArrayAsync", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpyFromArrayAsync_ptsz() { return refuse_cudart("cudaMemcpyFromArrayAsync_ptsz", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpyFromArray_ptds() { return refuse_cudart("cudaMemcpyFromArray_ptds", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpyToArray() { return refuse_cudart("cudaMemcpyToArray", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpyToArrayAsync() { return refuse_cudart("cudaMemcpyToArrayAsync", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpyToArrayAsync_ptsz() { return refuse_cudart("cudaMemcpyToArrayAsync_ptsz", kAdvice1); }
JITC_EXPORT int32_t cudaMemcpyToArray_ptds() { return refuse_cudart("cudaMemcpyToArray_ptds", kAdvice1); }
JITC_EXPORT int32_t cudaMemset3D() { return refuse_cudart("cudaMemset3D", kAdvice2); }
JITC_EXPORT int32_t cudaMemset3DAsync() { return refuse_cudart("cudaMemset3DAsync", kAdvice2); }
JITC_EXPORT int32_t cudaMemset3DAsync_ptsz() { return refuse_cudart("cudaMemset3DAsync_ptsz", kAdvice2); }
JITC_EXPORT int32_t cudaMemset3D_ptds() { return refuse_cudart("cudaMemset3D_ptds", kAdvice2); }
JITC_EXPORT int32_t cudaMipmappedArrayGetMemoryRequirements() { return refuse_cudart("cudaMipmappedArrayGetMemoryRequirements", kAdvice1); }
JITC_EXPORT int32_t cudaMipmappedArrayGetSparseProperties() { return refuse_cudart("cudaMipmappedArrayGetSparseProperties", kAdvice1); }
JITC_EXPORT int32_t cudaSetDoubleForDevice() { return refuse_cudart("cudaSetDoubleForDevice", kAdvice9); }
JITC_EXPORT int32_t cudaSetDoubleForHost() { return refuse_cudart("cudaSetDoubleForHost", kAdvice9); }
JITC_EXPORT int32_t cudaSignalExternalSemaphoresAsync() { return refuse_cudart("cudaSignalExternalSemaphoresAsync", kAdvice3); }
JITC_EXPORT int32_t cudaSignalExternalSemaphoresAsync_ptsz() { return refuse_cudart("cudaSignalExternalSemaphoresAsync_ptsz", kAdvice3); }
JITC_EXPORT int32_t cudaSignalExternalSemaphoresAsync_v2() { return refuse_cudart("cudaSignalExternalSemaphoresAsync_v2", kAdvice3); }
JITC_EXPORT int32_t cudaSignalExternalSemaphoresAsync_v2_ptsz() { return refuse_cudart("cudaSignalExternalSemaphoresAsync_v2_ptsz", kAdvice3); }
JITC_EXPORT int32_t cudaStreamAttachMemAsync() { return refuse_cudart("cudaStreamAttachMemAsync", kAdvice7); }
JITC_EXPORT int32_t cudaStreamAttachMemAsync_ptsz() { return refuse_cudart("cudaStreamAttachMemAsync_ptsz", kAdvice7); }
JITC_EXPORT int32_t cudaStreamBeginCaptureToGraph() { return refuse_cudart("cudaStreamBeginCaptureToGraph", kAdvice0); }
JITC_EXPORT int32_t cudaStreamBeginCaptureToGraph_ptsz() { return refuse_cudart("cudaStreamBeginCaptureToGraph_ptsz", kAdvice0); }
JITC_EXPORT int32_t cudaStreamGetAttribute() { return refuse_cudart("cudaStreamGetAttribute", kAdvice9); }
JITC_EXPORT int32_t cudaStreamGetAttribute_ptsz() { return refuse_cudart("cudaStreamGetAttribute_ptsz", kAdvice9); }
JITC_EXPORT int32_t cudaStreamUpdateCaptureDependencies() { return refuse_cudart("cudaStreamUpdateCaptureDependencies", kAdvice0); }
JITC_EXPORT int32_t cudaStreamUpdateCaptureDependencies_ptsz() { return refuse_cudart("cudaStreamUpdateCaptureDependencies_ptsz", kAdvice0); }
JITC_EXPORT int32_t cudaStreamUpdateCaptureDependencies_v2() { return refuse_cudart("cudaStreamUpdateCaptureDependencies_v2", kAdvice0); }
JITC_EXPORT int32_t cudaStreamUpdateCaptureDependencies_v2_ptsz() { return refuse_cudart("cudaStreamUpdateCaptureDependencies_v2_ptsz", kAdvice0); }
JITC_EXPORT int32_t cudaUserObjectCreate() { return refuse_cudart("cudaUserObjectCreate", kAdvice0); }
JITC_EXPORT int32_t cudaUserObjectRelease() { return refuse_cudart("cudaUserObjectRelease", kAdvice0); }
JITC_EXPORT int32_t cudaUserObjectRetain() { return refuse_cudart("cudaUserObjectRetain", kAdvice0); }
JITC_EXPORT int32_t cudaVDPAUGetDevice() { return refuse_cudart("cudaVDPAUGetDevice", kAdvice4); }
JITC_EXPORT int32_t cudaVDPAUSetVDPAUDevice() { return refuse_cudart("cudaVDPAUSetVDPAUDevice", kAdvice4); }
JITC_EXPORT int32_t cudaWaitExternalSemaphoresAsync() { return refuse_cudart("cudaWaitExternalSemaphoresAsync", kAdvice3); }
JITC_EXPORT int32_t cudaWaitExternalSemaphoresAsync_ptsz() { return refuse_cudart("cudaWaitExternalSemaphoresAsync_ptsz", kAdvice3); }
JITC_EXPORT int32_t cudaWaitExternalSemaphoresAsync_v2() { return refuse_cudart("cudaWaitExternalSemaphoresAsync_v2", kAdvice3); }
JITC_EXPORT int32_t cudaWaitExternalSemaphoresAsync_v2_ptsz() { return refuse_cudart("cudaWaitExternalSemaphoresAsync_v2_ptsz", kAdvice3); }
