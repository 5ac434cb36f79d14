// Compiles only when the cuda device's own declarations (abi.h, driver.h) are those of the real cuda.h.
#include <cuda.h>

#include <string_view>

#include "device/cuda/driver/driver.h"
#include "same_abi.h"

namespace jitc::cuda::abi {
// cuda.h renames functions to their newest version by macros, so that `function` stands for that here.
#define JITC_TEXT(name) #name
#define JITC_EXPANDED(name) JITC_TEXT(name)
/// Ours on purpose older than the header's: what all drivers have, with the same parameters.
constexpr bool older(std::string_view symbol) { return symbol == "cuEventElapsedTime"; }
#define JITC_SAME_FUNCTION(function, symbol, parameters)                                           \
  static_assert(SameAbi<CUresult parameters, std::remove_pointer_t<decltype(&::function)>>::value, \
                symbol " has other parameters");                                                   \
  static_assert(older(symbol) || std::string_view(symbol) == JITC_EXPANDED(function),              \
                symbol " is not the newest");
JITC_CUDA_DRIVER(JITC_SAME_FUNCTION)
JITC_CUDA_DRIVER_OPTIONAL(JITC_SAME_FUNCTION)

#define JITC_SAME_SIZE(type) static_assert(sizeof(type) == sizeof(::type), #type)
#define JITC_SAME_PLACE(type, field) static_assert(offsetof(type, field) == offsetof(::type, field), #field)
JITC_SAME_SIZE(CUdeviceptr);
JITC_SAME_SIZE(CUmemGenericAllocationHandle);
JITC_SAME_SIZE(CUmemLocation);
JITC_SAME_SIZE(CUmemAccessDesc);
JITC_SAME_PLACE(CUmemAccessDesc, flags);
JITC_SAME_SIZE(CUmemAllocationProp);
JITC_SAME_PLACE(CUmemAllocationProp, requestedHandleTypes);
JITC_SAME_PLACE(CUmemAllocationProp, location);
JITC_SAME_PLACE(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable);
JITC_SAME_SIZE(CUDA_MEMCPY2D);
JITC_SAME_PLACE(CUDA_MEMCPY2D, srcMemoryType);
JITC_SAME_PLACE(CUDA_MEMCPY2D, srcDevice);
JITC_SAME_PLACE(CUDA_MEMCPY2D, srcPitch);
JITC_SAME_PLACE(CUDA_MEMCPY2D, dstMemoryType);
JITC_SAME_PLACE(CUDA_MEMCPY2D, dstDevice);
JITC_SAME_PLACE(CUDA_MEMCPY2D, dstPitch);
JITC_SAME_PLACE(CUDA_MEMCPY2D, WidthInBytes);
JITC_SAME_PLACE(CUDA_MEMCPY2D, Height);

JITC_SAME_SIZE(CUlaunchAttribute);
JITC_SAME_PLACE(CUlaunchAttribute, value);
JITC_SAME_SIZE(CUlaunchConfig);
JITC_SAME_PLACE(CUlaunchConfig, gridDimZ);
JITC_SAME_PLACE(CUlaunchConfig, blockDimX);
JITC_SAME_PLACE(CUlaunchConfig, sharedMemBytes);
JITC_SAME_PLACE(CUlaunchConfig, hStream);
JITC_SAME_PLACE(CUlaunchConfig, attrs);
JITC_SAME_PLACE(CUlaunchConfig, numAttrs);

#define JITC_SAME_VALUE(ours, real) static_assert(static_cast<long>(ours) == static_cast<long>(::real), #real)
JITC_SAME_VALUE(kLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
JITC_SAME_VALUE(kAllocationPinned, CU_MEM_ALLOCATION_TYPE_PINNED);
JITC_SAME_VALUE(kAccessReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
JITC_SAME_VALUE(kGranularityMinimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
JITC_SAME_VALUE(kMemoryTypeDevice, CU_MEMORYTYPE_DEVICE);
JITC_SAME_VALUE(kHandleFileDescriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(kHostPortable == CU_MEMHOSTALLOC_PORTABLE && kHostDeviceMap == CU_MEMHOSTALLOC_DEVICEMAP);
JITC_SAME_VALUE(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
JITC_SAME_VALUE(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
JITC_SAME_VALUE(kWriteValueDefault, CU_STREAM_WRITE_VALUE_DEFAULT);
JITC_SAME_VALUE(kWaitValueGeq, CU_STREAM_WAIT_VALUE_GEQ);
JITC_SAME_VALUE(kCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
JITC_SAME_VALUE(kLaunchIgnore, CU_LAUNCH_ATTRIBUTE_IGNORE);
JITC_SAME_VALUE(kLaunchCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
JITC_SAME_VALUE(kLaunchClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
JITC_SAME_VALUE(kLaunchClusterPolicy, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
JITC_SAME_VALUE(kLaunchProgrammaticSerialization, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
JITC_SAME_VALUE(kLaunchPriority, CU_LAUNCH_ATTRIBUTE_PRIORITY);
JITC_SAME_VALUE(kLaunchMemoryDomainMap, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP);
JITC_SAME_VALUE(kLaunchMemoryDomain, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
JITC_SAME_VALUE(kLaunchPreferredCluster, CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
JITC_SAME_VALUE(kLaunchCarveout, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
JITC_SAME_VALUE(kFunctionAttributes, CU_FUNC_ATTRIBUTE_MAX);
JITC_SAME_VALUE(kFirstClusterAttribute, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
JITC_SAME_VALUE(kAttributeVirtualMemory, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
JITC_SAME_VALUE(kAttributeFileDescriptors, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
JITC_SAME_VALUE(kAttributeDirectRdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
JITC_SAME_VALUE(kAttributeStreamMemoryOps64, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);

}  // namespace jitc::cuda::abi
