// Our own declarations of what crosses the API, against NVIDIA's (CUDA 13). Included behind their headers.
#pragma once
#include <cstddef>

#include "abi_check_function.h"
#include "jitc/generated_ops.h"

namespace jitc::api {

static_assert(sizeof(PointerAttributes) == sizeof(cudaPointerAttributes));
static_assert(offsetof(PointerAttributes, device_pointer) == offsetof(cudaPointerAttributes, devicePointer));
static_assert(sizeof(MemoryLocation) == sizeof(CUmemLocation) && CU_MEM_LOCATION_TYPE_DEVICE == 1);
static_assert(sizeof(MemoryAccess) == sizeof(CUmemAccessDesc) &&
              offsetof(MemoryAccess, flags) == offsetof(CUmemAccessDesc, flags) &&
              CU_MEM_ACCESS_FLAGS_PROT_READWRITE == 3);
static_assert(sizeof(CopyParameters3d) == sizeof(cudaMemcpy3DParms) &&
              offsetof(CopyParameters3d, source_at) == offsetof(cudaMemcpy3DParms, srcPos) &&
              offsetof(CopyParameters3d, source.height) == offsetof(cudaMemcpy3DParms, srcPtr.ysize) &&
              offsetof(CopyParameters3d, destination_at) == offsetof(cudaMemcpy3DParms, dstPos) &&
              offsetof(CopyParameters3d, destination.pitch) == offsetof(cudaMemcpy3DParms, dstPtr.pitch) &&
              offsetof(CopyParameters3d, depth) == offsetof(cudaMemcpy3DParms, extent.depth) &&
              offsetof(CopyParameters3d, kind) == offsetof(cudaMemcpy3DParms, kind));
static_assert(sizeof(AllocationProp) == sizeof(CUmemAllocationProp) &&
              offsetof(AllocationProp, location) == offsetof(CUmemAllocationProp, location) &&
              offsetof(AllocationProp, rdma) ==
                  offsetof(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable) &&
              CU_MEM_ALLOCATION_TYPE_PINNED == 1);
static_assert(sizeof(FuncAttributes) == sizeof(cudaFuncAttributes));
static_assert(offsetof(FuncAttributes, max_dynamic_shared) ==
              offsetof(cudaFuncAttributes, maxDynamicSharedSizeBytes));
static_assert(offsetof(FuncAttributes, carveout) == offsetof(cudaFuncAttributes, preferredShmemCarveout) &&
              offsetof(FuncAttributes, cluster_width) == offsetof(cudaFuncAttributes, requiredClusterWidth) &&
              offsetof(FuncAttributes, cluster_policy) ==
                  offsetof(cudaFuncAttributes, clusterSchedulingPolicyPreference) &&
              offsetof(FuncAttributes, cluster_size_free) ==
                  offsetof(cudaFuncAttributes, nonPortableClusterSizeAllowed));
static_assert(sizeof(RuntimeLaunchConfig) == sizeof(cudaLaunchConfig_t) &&
              offsetof(RuntimeLaunchConfig, shared) == offsetof(cudaLaunchConfig_t, dynamicSmemBytes) &&
              offsetof(RuntimeLaunchConfig, stream) == offsetof(cudaLaunchConfig_t, stream) &&
              offsetof(RuntimeLaunchConfig, attributes) == offsetof(cudaLaunchConfig_t, attrs) &&
              offsetof(RuntimeLaunchConfig, count) == offsetof(cudaLaunchConfig_t, numAttrs));
static_assert(sizeof(DriverLaunchConfig) == sizeof(CUlaunchConfig) &&
              offsetof(DriverLaunchConfig, block) == offsetof(CUlaunchConfig, blockDimX) &&
              offsetof(DriverLaunchConfig, shared) == offsetof(CUlaunchConfig, sharedMemBytes) &&
              offsetof(DriverLaunchConfig, stream) == offsetof(CUlaunchConfig, hStream) &&
              offsetof(DriverLaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs) &&
              offsetof(DriverLaunchConfig, count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(ops::LaunchAttribute) == sizeof(cudaLaunchAttribute) &&
              sizeof(ops::LaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(ops::LaunchAttribute, value) == offsetof(cudaLaunchAttribute, val) &&
              offsetof(ops::LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(CU_LAUNCH_ATTRIBUTE_COOPERATIVE == 2 && CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION == 4 &&
              CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE == 5 &&
              CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION == 6 &&
              CU_LAUNCH_ATTRIBUTE_PRIORITY == 8 && CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP == 9 &&
              CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN == 10 &&
              CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION == 11 &&
              CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT == 14);
static_assert(CU_LAUNCH_ATTRIBUTE_IGNORE == 0 && CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW == 1 &&
              CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY == 3 &&
              CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING == 16);
static_assert(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES == 8 &&
              CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE == 15 && CU_FUNC_ATTRIBUTE_MAX == 16);
static_assert(cudaErrorStreamCaptureUnsupported == 900 && cudaErrorStreamCaptureInvalidated == 901 &&
              cudaErrorStreamCaptureMerge == 902 && cudaErrorStreamCaptureUnmatched == 903 &&
              cudaErrorStreamCaptureIsolation == 905 && cudaErrorStreamCaptureImplicit == 906 &&
              cudaErrorCapturedEvent == 907 && cudaErrorStreamCaptureWrongThread == 908 &&
              cudaErrorIllegalState == 401 && cudaErrorInvalidSymbol == 13);
static_assert(sizeof(Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(Heuristic, waves) == offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));
static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId) && sizeof(Dim3) == sizeof(dim3) &&
              sizeof(Uuid) == sizeof(CUuuid));
static_assert(NCCL_VERSION_CODE / 100 >= 228 && ncclNumTypes == 12 && ncclAvg == 4);

}  // namespace jitc::api
