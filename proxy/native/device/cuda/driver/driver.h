// libcuda.so.1, opened at run time: one typed function pointer per driver function that this back end uses.
//
// Promises: a Driver has all functions of JITC_CUDA_DRIVER; callers check those of JITC_CUDA_DRIVER_OPTIONAL,
// which may be null. The library is opened once per path and never closed: the driver has threads of its own.
// Called by: everything in this folder. To use another function, add a line here.
#pragma once
#include <memory>
#include <string>

#include "abi.h"

// X(function, symbol, parameters): the symbol carries the version of the binary interface.
#define JITC_CUDA_DRIVER(X)                                                                            \
  X(cuInit, "cuInit", (uint32_t))                                                                      \
  X(cuDriverGetVersion, "cuDriverGetVersion", (int32_t*))                                              \
  X(cuGetErrorName, "cuGetErrorName", (CUresult, const char**))                                        \
  X(cuGetErrorString, "cuGetErrorString", (CUresult, const char**))                                    \
  X(cuDeviceGet, "cuDeviceGet", (CUdevice*, int32_t))                                                  \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int32_t*, int32_t, CUdevice))                       \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t*, CUdevice))                                      \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext*, CUdevice))                      \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                             \
  X(cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext))                                                   \
  X(cuCtxSetLimit, "cuCtxSetLimit", (int32_t, size_t))                                                 \
  X(cuCtxGetLimit, "cuCtxGetLimit", (size_t*, int32_t))                                                \
  X(cuMemGetInfo, "cuMemGetInfo_v2", (size_t*, size_t*))                                               \
  X(cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity",                                    \
    (size_t*, const CUmemAllocationProp*, int32_t))                                                    \
  X(cuMemAddressReserve, "cuMemAddressReserve", (CUdeviceptr*, size_t, size_t, CUdeviceptr, uint64_t)) \
  X(cuMemAddressFree, "cuMemAddressFree", (CUdeviceptr, size_t))                                       \
  X(cuMemCreate, "cuMemCreate",                                                                        \
    (CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, uint64_t))                     \
  X(cuMemRelease, "cuMemRelease", (CUmemGenericAllocationHandle))                                      \
  X(cuMemMap, "cuMemMap", (CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, uint64_t))       \
  X(cuMemUnmap, "cuMemUnmap", (CUdeviceptr, size_t))                                                   \
  X(cuMemSetAccess, "cuMemSetAccess", (CUdeviceptr, size_t, const CUmemAccessDesc*, size_t))           \
  X(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr*, size_t))                                               \
  X(cuMemFree, "cuMemFree_v2", (CUdeviceptr))                                                          \
  X(cuMemHostAlloc, "cuMemHostAlloc", (void**, size_t, uint32_t))                                      \
  X(cuMemFreeHost, "cuMemFreeHost", (void*))                                                           \
  X(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", (CUdeviceptr*, void*, uint32_t))        \
  X(cuMemHostRegister, "cuMemHostRegister_v2", (void*, size_t, uint32_t))                              \
  X(cuMemHostUnregister, "cuMemHostUnregister", (void*))                                               \
  X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void*, size_t, CUstream))           \
  X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void*, CUdeviceptr, size_t, CUstream))                 \
  X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, CUstream))           \
  X(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", (const CUDA_MEMCPY2D*, CUstream))                           \
  X(cuMemsetD8Async, "cuMemsetD8Async", (CUdeviceptr, uint8_t, size_t, CUstream))                      \
  X(cuMemsetD16Async, "cuMemsetD16Async", (CUdeviceptr, uint16_t, size_t, CUstream))                   \
  X(cuMemsetD32Async, "cuMemsetD32Async", (CUdeviceptr, uint32_t, size_t, CUstream))                   \
  X(cuStreamCreateWithPriority, "cuStreamCreateWithPriority", (CUstream*, uint32_t, int32_t))          \
  X(cuStreamDestroy, "cuStreamDestroy_v2", (CUstream))                                                 \
  X(cuStreamQuery, "cuStreamQuery", (CUstream))                                                        \
  X(cuStreamSynchronize, "cuStreamSynchronize", (CUstream))                                            \
  X(cuStreamWaitEvent, "cuStreamWaitEvent", (CUstream, CUevent, uint32_t))                             \
  X(cuStreamWriteValue64, "cuStreamWriteValue64_v2", (CUstream, CUdeviceptr, uint64_t, uint32_t))      \
  X(cuStreamWaitValue64, "cuStreamWaitValue64_v2", (CUstream, CUdeviceptr, uint64_t, uint32_t))        \
  X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", (int32_t*))                \
  X(cuEventCreate, "cuEventCreate", (CUevent*, uint32_t))                                              \
  X(cuEventDestroy, "cuEventDestroy_v2", (CUevent))                                                    \
  X(cuEventRecord, "cuEventRecord", (CUevent, CUstream))                                               \
  X(cuEventElapsedTime, "cuEventElapsedTime", (float*, CUevent, CUevent))                              \
  X(cuModuleLoadData, "cuModuleLoadData", (CUmodule*, const void*))                                    \
  X(cuModuleUnload, "cuModuleUnload", (CUmodule))                                                      \
  X(cuModuleGetFunction, "cuModuleGetFunction", (CUfunction*, CUmodule, const char*))                  \
  X(cuModuleGetGlobal, "cuModuleGetGlobal_v2", (CUdeviceptr*, size_t*, CUmodule, const char*))         \
  X(cuFuncGetAttribute, "cuFuncGetAttribute", (int32_t*, int32_t, CUfunction))                         \
  X(cuFuncSetAttribute, "cuFuncSetAttribute", (CUfunction, int32_t, int32_t))                          \
  X(cuLaunchKernelEx, "cuLaunchKernelEx", (const CUlaunchConfig*, CUfunction, void**, void**))         \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,                                              \
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",                                            \
    (int32_t*, CUfunction, int32_t, size_t, uint32_t))                                                 \
  X(cuOccupancyAvailableDynamicSMemPerBlock, "cuOccupancyAvailableDynamicSMemPerBlock",                \
    (size_t*, CUfunction, int32_t, int32_t))                                                           \
  X(cuOccupancyMaxPotentialClusterSize, "cuOccupancyMaxPotentialClusterSize",                          \
    (int32_t*, CUfunction, const CUlaunchConfig*))                                                     \
  X(cuOccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters",                                      \
    (int32_t*, CUfunction, const CUlaunchConfig*))                                                     \
  X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream, int32_t))                              \
  X(cuStreamEndCapture, "cuStreamEndCapture", (CUstream, CUgraph*))                                    \
  X(cuGraphGetNodes, "cuGraphGetNodes", (CUgraph, CUgraphNode*, size_t*))                              \
  X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", (CUgraphExec*, CUgraph, uint64_t))     \
  X(cuGraphLaunch, "cuGraphLaunch", (CUgraphExec, CUstream))                                           \
  X(cuGraphDestroy, "cuGraphDestroy", (CUgraph))                                                       \
  X(cuGraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec))

// cuFuncGetParamInfo came with 12.4.
#define JITC_CUDA_DRIVER_OPTIONAL(X)                                                                      \
  X(cuFuncGetParamInfo, "cuFuncGetParamInfo", (CUfunction, size_t, size_t*, size_t*))                     \
  X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                                     \
    (void*, int32_t, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, \
     int32_t, int32_t, int32_t, int32_t))                                                                 \
  X(cuTensorMapEncodeIm2col, "cuTensorMapEncodeIm2col",                                                   \
    (void*, int32_t, uint32_t, void*, const uint64_t*, const uint64_t*, const int32_t*, const int32_t*,   \
     uint32_t, uint32_t, const uint32_t*, int32_t, int32_t, int32_t, int32_t))

namespace jitc::cuda {
namespace abi {

#define JITC_CUDA_MEMBER(function, symbol, parameters) CUresult(*function) parameters = nullptr;
struct Functions {
  JITC_CUDA_DRIVER(JITC_CUDA_MEMBER)
  JITC_CUDA_DRIVER_OPTIONAL(JITC_CUDA_MEMBER)
};
#undef JITC_CUDA_MEMBER

}  // namespace abi

class Driver : public abi::Functions {
 public:
  /// Opens the library; nullptr with the reason, which names a missing function and the driver's version.
  static std::shared_ptr<const Driver> open(const std::string& path, std::string& error);
  int version() const { return version_; }  // as cuDriverGetVersion returns it: 12040 is 12.4
  /// Returns a text such as "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered".
  std::string describe(abi::CUresult status) const;

 private:
  bool load(const std::string& path, std::string& error);
  int version_ = 0;
};

}  // namespace jitc::cuda
