// Parts of the CUDA driver's binary interface that this back end uses, declared here: the build needs no CUDA
// headers. tests/unit/device/cuda/check proves them equal to NVIDIA's cuda.h.
//
// Called by: driver.h and the callers of the driver. Names without "k" are CUDA's own.
#pragma once
#include <cstddef>
#include <cstdint>

// Global, like NVIDIA's: other libraries' declarations name the same types.
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;

namespace jitc::cuda::abi {

using CUresult = int32_t;
using CUdevice = int32_t;
using CUdeviceptr = uint64_t;
using CUmemGenericAllocationHandle = uint64_t;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUgraphNode = struct CUgraphNode_st*;

struct CUmemLocation {
  int32_t type;
  int32_t id;
};

struct CUmemAccessDesc {
  CUmemLocation location;
  int32_t flags;
};

struct CUmemAllocationProp {
  int32_t type;
  int32_t requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    uint8_t compressionType, gpuDirectRDMACapable;
    uint16_t usage;
    uint8_t reserved[4];
  } allocFlags;
};

struct CUDA_MEMCPY2D {
  size_t srcXInBytes, srcY;
  int32_t srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  void* srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  int32_t dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  void* dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
};

struct CUlaunchAttribute {
  int32_t id;
  char pad[4];
  unsigned char value[64];  // a union of plain values
};

struct CUlaunchConfig {
  uint32_t gridDimX, gridDimY, gridDimZ;
  uint32_t blockDimX, blockDimY, blockDimZ;
  uint32_t sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  uint32_t numAttrs;
};

inline constexpr int32_t kLocationDevice = 1;        // CU_MEM_LOCATION_TYPE_DEVICE
inline constexpr int32_t kAllocationPinned = 1;      // CU_MEM_ALLOCATION_TYPE_PINNED
inline constexpr int32_t kHandleFileDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
inline constexpr int32_t kAccessReadWrite = 3;       // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
inline constexpr int32_t kGranularityMinimum = 0;    // CU_MEM_ALLOC_GRANULARITY_MINIMUM
inline constexpr int32_t kMemoryTypeDevice = 2;      // CU_MEMORYTYPE_DEVICE
inline constexpr uint32_t kHostPortable = 1;         // CU_MEMHOSTALLOC_PORTABLE
inline constexpr uint32_t kHostDeviceMap = 2;        // CU_MEMHOSTALLOC_DEVICEMAP
inline constexpr uint32_t kStreamNonBlocking = 1;    // CU_STREAM_NON_BLOCKING
inline constexpr uint32_t kEventDisableTiming = 2;   // CU_EVENT_DISABLE_TIMING
inline constexpr uint32_t kWriteValueDefault = 0;    // CU_STREAM_WRITE_VALUE_DEFAULT
inline constexpr uint32_t kWaitValueGeq = 0;         // CU_STREAM_WAIT_VALUE_GEQ
inline constexpr int32_t kCaptureModeRelaxed = 2;    // CU_STREAM_CAPTURE_MODE_RELAXED

// CUlaunchAttributeID
inline constexpr int32_t kLaunchIgnore = 0;
inline constexpr int32_t kLaunchCooperative = 2;
inline constexpr int32_t kLaunchClusterDimension = 4;
inline constexpr int32_t kLaunchClusterPolicy = 5;              // ..._CLUSTER_SCHEDULING_POLICY_PREFERENCE
inline constexpr int32_t kLaunchProgrammaticSerialization = 6;  // ..._PROGRAMMATIC_STREAM_SERIALIZATION
inline constexpr int32_t kLaunchPriority = 8;
inline constexpr int32_t kLaunchMemoryDomainMap = 9;    // ..._MEM_SYNC_DOMAIN_MAP
inline constexpr int32_t kLaunchMemoryDomain = 10;      // ..._MEM_SYNC_DOMAIN
inline constexpr int32_t kLaunchPreferredCluster = 11;  // ..._PREFERRED_CLUSTER_DIMENSION
inline constexpr int32_t kLaunchCarveout = 14;          // ..._PREFERRED_SHARED_MEMORY_CARVEOUT

// cuLaunchKernelEx's `extra`: pairs of these and a pointer, then the end.
inline void* const kLaunchParameters = reinterpret_cast<void*>(1);      // CU_LAUNCH_PARAM_BUFFER_POINTER
inline void* const kLaunchParametersSize = reinterpret_cast<void*>(2);  // CU_LAUNCH_PARAM_BUFFER_SIZE
inline void* const kLaunchParametersEnd = nullptr;                      // CU_LAUNCH_PARAM_END

// CUfunction_attribute
inline constexpr int32_t kFunctionAttributes = 16;     // 0 to 15
inline constexpr int32_t kFirstClusterAttribute = 10;  // from here on unknown to old drivers

// CUdevice_attribute
inline constexpr int32_t kAttributeMultiprocessors = 16;   // ..._MULTIPROCESSOR_COUNT
inline constexpr int32_t kAttributeMajor = 75;             // ..._COMPUTE_CAPABILITY_MAJOR
inline constexpr int32_t kAttributeMinor = 76;             // ..._COMPUTE_CAPABILITY_MINOR
inline constexpr int32_t kAttributeVirtualMemory = 102;    // ..._VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
inline constexpr int32_t kAttributeFileDescriptors = 103;  // ..._HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
inline constexpr int32_t kAttributeDirectRdma = 110;       // ..._GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
inline constexpr int32_t kAttributeStreamMemoryOps64 = 122;  // ..._CAN_USE_64_BIT_STREAM_MEM_OPS

}  // namespace jitc::cuda::abi
