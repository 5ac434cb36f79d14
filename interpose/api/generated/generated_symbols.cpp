// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
#include "api/process/symbols.h"

#include <cstdint>

extern "C" {
extern int32_t jitc_symbol_cuCtxCreate_v4() __asm__("cuCtxCreate_v4");
extern int32_t jitc_symbol_cuCtxDestroy_v2() __asm__("cuCtxDestroy_v2");
extern int32_t jitc_symbol_cuCtxDisablePeerAccess() __asm__("cuCtxDisablePeerAccess");
extern int32_t jitc_symbol_cuCtxEnablePeerAccess() __asm__("cuCtxEnablePeerAccess");
extern int32_t jitc_symbol_cuCtxFromGreenCtx() __asm__("cuCtxFromGreenCtx");
extern int32_t jitc_symbol_cuCtxGetApiVersion() __asm__("cuCtxGetApiVersion");
extern int32_t jitc_symbol_cuCtxGetCurrent() __asm__("cuCtxGetCurrent");
extern int32_t jitc_symbol_cuCtxGetDevice() __asm__("cuCtxGetDevice");
extern int32_t jitc_symbol_cuCtxGetFlags() __asm__("cuCtxGetFlags");
extern int32_t jitc_symbol_cuCtxGetLimit() __asm__("cuCtxGetLimit");
extern int32_t jitc_symbol_cuCtxGetStreamPriorityRange() __asm__("cuCtxGetStreamPriorityRange");
extern int32_t jitc_symbol_cuCtxPopCurrent_v2() __asm__("cuCtxPopCurrent_v2");
extern int32_t jitc_symbol_cuCtxPushCurrent_v2() __asm__("cuCtxPushCurrent_v2");
extern int32_t jitc_symbol_cuCtxSetCurrent() __asm__("cuCtxSetCurrent");
extern int32_t jitc_symbol_cuCtxSetLimit() __asm__("cuCtxSetLimit");
extern int32_t jitc_symbol_cuCtxSynchronize() __asm__("cuCtxSynchronize");
extern int32_t jitc_symbol_cuDevResourceGenerateDesc() __asm__("cuDevResourceGenerateDesc");
extern int32_t jitc_symbol_cuDevSmResourceSplitByCount() __asm__("cuDevSmResourceSplitByCount");
extern int32_t jitc_symbol_cuDeviceCanAccessPeer() __asm__("cuDeviceCanAccessPeer");
extern int32_t jitc_symbol_cuDeviceComputeCapability() __asm__("cuDeviceComputeCapability");
extern int32_t jitc_symbol_cuDeviceGet() __asm__("cuDeviceGet");
extern int32_t jitc_symbol_cuDeviceGetAttribute() __asm__("cuDeviceGetAttribute");
extern int32_t jitc_symbol_cuDeviceGetByPCIBusId() __asm__("cuDeviceGetByPCIBusId");
extern int32_t jitc_symbol_cuDeviceGetCount() __asm__("cuDeviceGetCount");
extern int32_t jitc_symbol_cuDeviceGetDevResource() __asm__("cuDeviceGetDevResource");
extern int32_t jitc_symbol_cuDeviceGetName() __asm__("cuDeviceGetName");
extern int32_t jitc_symbol_cuDeviceGetP2PAttribute() __asm__("cuDeviceGetP2PAttribute");
extern int32_t jitc_symbol_cuDeviceGetPCIBusId() __asm__("cuDeviceGetPCIBusId");
extern int32_t jitc_symbol_cuDeviceGetUuid() __asm__("cuDeviceGetUuid");
extern int32_t jitc_symbol_cuDeviceGetUuid_v2() __asm__("cuDeviceGetUuid_v2");
extern int32_t jitc_symbol_cuDevicePrimaryCtxGetState() __asm__("cuDevicePrimaryCtxGetState");
extern int32_t jitc_symbol_cuDevicePrimaryCtxRelease_v2() __asm__("cuDevicePrimaryCtxRelease_v2");
extern int32_t jitc_symbol_cuDevicePrimaryCtxReset_v2() __asm__("cuDevicePrimaryCtxReset_v2");
extern int32_t jitc_symbol_cuDevicePrimaryCtxRetain() __asm__("cuDevicePrimaryCtxRetain");
extern int32_t jitc_symbol_cuDevicePrimaryCtxSetFlags_v2() __asm__("cuDevicePrimaryCtxSetFlags_v2");
extern int32_t jitc_symbol_cuDeviceTotalMem_v2() __asm__("cuDeviceTotalMem_v2");
extern int32_t jitc_symbol_cuDriverGetVersion() __asm__("cuDriverGetVersion");
extern int32_t jitc_symbol_cuEventCreate() __asm__("cuEventCreate");
extern int32_t jitc_symbol_cuEventDestroy_v2() __asm__("cuEventDestroy_v2");
extern int32_t jitc_symbol_cuEventElapsedTime() __asm__("cuEventElapsedTime");
extern int32_t jitc_symbol_cuEventElapsedTime_v2() __asm__("cuEventElapsedTime_v2");
extern int32_t jitc_symbol_cuEventQuery() __asm__("cuEventQuery");
extern int32_t jitc_symbol_cuEventRecord() __asm__("cuEventRecord");
extern int32_t jitc_symbol_cuEventRecordWithFlags() __asm__("cuEventRecordWithFlags");
extern int32_t jitc_symbol_cuEventSynchronize() __asm__("cuEventSynchronize");
extern int32_t jitc_symbol_cuFuncGetAttribute() __asm__("cuFuncGetAttribute");
extern int32_t jitc_symbol_cuFuncGetModule() __asm__("cuFuncGetModule");
extern int32_t jitc_symbol_cuFuncGetName() __asm__("cuFuncGetName");
extern int32_t jitc_symbol_cuFuncGetParamInfo() __asm__("cuFuncGetParamInfo");
extern int32_t jitc_symbol_cuFuncSetAttribute() __asm__("cuFuncSetAttribute");
extern int32_t jitc_symbol_cuFuncSetCacheConfig() __asm__("cuFuncSetCacheConfig");
extern int32_t jitc_symbol_cuGetErrorName() __asm__("cuGetErrorName");
extern int32_t jitc_symbol_cuGetErrorString() __asm__("cuGetErrorString");
extern int32_t jitc_symbol_cuGetExportTable() __asm__("cuGetExportTable");
extern int32_t jitc_symbol_cuGetProcAddress() __asm__("cuGetProcAddress");
extern int32_t jitc_symbol_cuGetProcAddress_v2() __asm__("cuGetProcAddress_v2");
extern int32_t jitc_symbol_cuGraphCreate() __asm__("cuGraphCreate");
extern int32_t jitc_symbol_cuGraphDebugDotPrint() __asm__("cuGraphDebugDotPrint");
extern int32_t jitc_symbol_cuGraphDestroy() __asm__("cuGraphDestroy");
extern int32_t jitc_symbol_cuGraphExecDestroy() __asm__("cuGraphExecDestroy");
extern int32_t jitc_symbol_cuGraphExecUpdate_v2() __asm__("cuGraphExecUpdate_v2");
extern int32_t jitc_symbol_cuGraphGetNodes() __asm__("cuGraphGetNodes");
extern int32_t jitc_symbol_cuGraphInstantiateWithFlags() __asm__("cuGraphInstantiateWithFlags");
extern int32_t jitc_symbol_cuGraphLaunch() __asm__("cuGraphLaunch");
extern int32_t jitc_symbol_cuGraphUpload() __asm__("cuGraphUpload");
extern int32_t jitc_symbol_cuGreenCtxCreate() __asm__("cuGreenCtxCreate");
extern int32_t jitc_symbol_cuGreenCtxDestroy() __asm__("cuGreenCtxDestroy");
extern int32_t jitc_symbol_cuGreenCtxStreamCreate() __asm__("cuGreenCtxStreamCreate");
extern int32_t jitc_symbol_cuInit() __asm__("cuInit");
extern int32_t jitc_symbol_cuIpcCloseMemHandle() __asm__("cuIpcCloseMemHandle");
extern int32_t jitc_symbol_cuIpcGetEventHandle() __asm__("cuIpcGetEventHandle");
extern int32_t jitc_symbol_cuIpcGetMemHandle() __asm__("cuIpcGetMemHandle");
extern int32_t jitc_symbol_cuIpcOpenEventHandle() __asm__("cuIpcOpenEventHandle");
extern int32_t jitc_symbol_cuIpcOpenMemHandle_v2() __asm__("cuIpcOpenMemHandle_v2");
extern int32_t jitc_symbol_cuKernelGetAttribute() __asm__("cuKernelGetAttribute");
extern int32_t jitc_symbol_cuKernelGetFunction() __asm__("cuKernelGetFunction");
extern int32_t jitc_symbol_cuKernelGetName() __asm__("cuKernelGetName");
extern int32_t jitc_symbol_cuKernelGetParamInfo() __asm__("cuKernelGetParamInfo");
extern int32_t jitc_symbol_cuKernelSetAttribute() __asm__("cuKernelSetAttribute");
extern int32_t jitc_symbol_cuKernelSetCacheConfig() __asm__("cuKernelSetCacheConfig");
extern int32_t jitc_symbol_cuLaunchCooperativeKernel() __asm__("cuLaunchCooperativeKernel");
extern int32_t jitc_symbol_cuLaunchHostFunc() __asm__("cuLaunchHostFunc");
extern int32_t jitc_symbol_cuLaunchKernel() __asm__("cuLaunchKernel");
extern int32_t jitc_symbol_cuLaunchKernelEx() __asm__("cuLaunchKernelEx");
extern int32_t jitc_symbol_cuLibraryGetGlobal() __asm__("cuLibraryGetGlobal");
extern int32_t jitc_symbol_cuLibraryGetKernel() __asm__("cuLibraryGetKernel");
extern int32_t jitc_symbol_cuLibraryGetModule() __asm__("cuLibraryGetModule");
extern int32_t jitc_symbol_cuLibraryLoadData() __asm__("cuLibraryLoadData");
extern int32_t jitc_symbol_cuLibraryLoadFromFile() __asm__("cuLibraryLoadFromFile");
extern int32_t jitc_symbol_cuLibraryUnload() __asm__("cuLibraryUnload");
extern int32_t jitc_symbol_cuLinkAddData_v2() __asm__("cuLinkAddData_v2");
extern int32_t jitc_symbol_cuLinkAddFile_v2() __asm__("cuLinkAddFile_v2");
extern int32_t jitc_symbol_cuLinkComplete() __asm__("cuLinkComplete");
extern int32_t jitc_symbol_cuLinkCreate_v2() __asm__("cuLinkCreate_v2");
extern int32_t jitc_symbol_cuLinkDestroy() __asm__("cuLinkDestroy");
extern int32_t jitc_symbol_cuMemAddressFree() __asm__("cuMemAddressFree");
extern int32_t jitc_symbol_cuMemAddressReserve() __asm__("cuMemAddressReserve");
extern int32_t jitc_symbol_cuMemAdvise() __asm__("cuMemAdvise");
extern int32_t jitc_symbol_cuMemAdvise_v2() __asm__("cuMemAdvise_v2");
extern int32_t jitc_symbol_cuMemAllocAsync() __asm__("cuMemAllocAsync");
extern int32_t jitc_symbol_cuMemAllocHost_v2() __asm__("cuMemAllocHost_v2");
extern int32_t jitc_symbol_cuMemAllocManaged() __asm__("cuMemAllocManaged");
extern int32_t jitc_symbol_cuMemAlloc_v2() __asm__("cuMemAlloc_v2");
extern int32_t jitc_symbol_cuMemCreate() __asm__("cuMemCreate");
extern int32_t jitc_symbol_cuMemExportToShareableHandle() __asm__("cuMemExportToShareableHandle");
extern int32_t jitc_symbol_cuMemFreeAsync() __asm__("cuMemFreeAsync");
extern int32_t jitc_symbol_cuMemFreeHost() __asm__("cuMemFreeHost");
extern int32_t jitc_symbol_cuMemFree_v2() __asm__("cuMemFree_v2");
extern int32_t jitc_symbol_cuMemGetAccess() __asm__("cuMemGetAccess");
extern int32_t jitc_symbol_cuMemGetAddressRange_v2() __asm__("cuMemGetAddressRange_v2");
extern int32_t jitc_symbol_cuMemGetAllocationGranularity() __asm__("cuMemGetAllocationGranularity");
extern int32_t jitc_symbol_cuMemGetAllocationPropertiesFromHandle() __asm__("cuMemGetAllocationPropertiesFromHandle");
extern int32_t jitc_symbol_cuMemGetHandleForAddressRange() __asm__("cuMemGetHandleForAddressRange");
extern int32_t jitc_symbol_cuMemGetInfo_v2() __asm__("cuMemGetInfo_v2");
extern int32_t jitc_symbol_cuMemHostAlloc() __asm__("cuMemHostAlloc");
extern int32_t jitc_symbol_cuMemHostGetDevicePointer_v2() __asm__("cuMemHostGetDevicePointer_v2");
extern int32_t jitc_symbol_cuMemHostGetFlags() __asm__("cuMemHostGetFlags");
extern int32_t jitc_symbol_cuMemHostRegister_v2() __asm__("cuMemHostRegister_v2");
extern int32_t jitc_symbol_cuMemHostUnregister() __asm__("cuMemHostUnregister");
extern int32_t jitc_symbol_cuMemImportFromShareableHandle() __asm__("cuMemImportFromShareableHandle");
extern int32_t jitc_symbol_cuMemMap() __asm__("cuMemMap");
extern int32_t jitc_symbol_cuMemPrefetchAsync() __asm__("cuMemPrefetchAsync");
extern int32_t jitc_symbol_cuMemPrefetchAsync_v2() __asm__("cuMemPrefetchAsync_v2");
extern int32_t jitc_symbol_cuMemRelease() __asm__("cuMemRelease");
extern int32_t jitc_symbol_cuMemRetainAllocationHandle() __asm__("cuMemRetainAllocationHandle");
extern int32_t jitc_symbol_cuMemSetAccess() __asm__("cuMemSetAccess");
extern int32_t jitc_symbol_cuMemUnmap() __asm__("cuMemUnmap");
extern int32_t jitc_symbol_cuMemcpy() __asm__("cuMemcpy");
extern int32_t jitc_symbol_cuMemcpy2DAsync_v2() __asm__("cuMemcpy2DAsync_v2");
extern int32_t jitc_symbol_cuMemcpy2D_v2() __asm__("cuMemcpy2D_v2");
extern int32_t jitc_symbol_cuMemcpy3DAsync_v2() __asm__("cuMemcpy3DAsync_v2");
extern int32_t jitc_symbol_cuMemcpy3D_v2() __asm__("cuMemcpy3D_v2");
extern int32_t jitc_symbol_cuMemcpyAsync() __asm__("cuMemcpyAsync");
extern int32_t jitc_symbol_cuMemcpyDtoDAsync_v2() __asm__("cuMemcpyDtoDAsync_v2");
extern int32_t jitc_symbol_cuMemcpyDtoD_v2() __asm__("cuMemcpyDtoD_v2");
extern int32_t jitc_symbol_cuMemcpyDtoHAsync_v2() __asm__("cuMemcpyDtoHAsync_v2");
extern int32_t jitc_symbol_cuMemcpyDtoH_v2() __asm__("cuMemcpyDtoH_v2");
extern int32_t jitc_symbol_cuMemcpyHtoDAsync_v2() __asm__("cuMemcpyHtoDAsync_v2");
extern int32_t jitc_symbol_cuMemcpyHtoD_v2() __asm__("cuMemcpyHtoD_v2");
extern int32_t jitc_symbol_cuMemcpyPeer() __asm__("cuMemcpyPeer");
extern int32_t jitc_symbol_cuMemcpyPeerAsync() __asm__("cuMemcpyPeerAsync");
extern int32_t jitc_symbol_cuMemsetD16Async() __asm__("cuMemsetD16Async");
extern int32_t jitc_symbol_cuMemsetD16_v2() __asm__("cuMemsetD16_v2");
extern int32_t jitc_symbol_cuMemsetD32Async() __asm__("cuMemsetD32Async");
extern int32_t jitc_symbol_cuMemsetD32_v2() __asm__("cuMemsetD32_v2");
extern int32_t jitc_symbol_cuMemsetD8Async() __asm__("cuMemsetD8Async");
extern int32_t jitc_symbol_cuMemsetD8_v2() __asm__("cuMemsetD8_v2");
extern int32_t jitc_symbol_cuModuleGetFunction() __asm__("cuModuleGetFunction");
extern int32_t jitc_symbol_cuModuleGetGlobal_v2() __asm__("cuModuleGetGlobal_v2");
extern int32_t jitc_symbol_cuModuleGetLoadingMode() __asm__("cuModuleGetLoadingMode");
extern int32_t jitc_symbol_cuModuleLoad() __asm__("cuModuleLoad");
extern int32_t jitc_symbol_cuModuleLoadData() __asm__("cuModuleLoadData");
extern int32_t jitc_symbol_cuModuleLoadDataEx() __asm__("cuModuleLoadDataEx");
extern int32_t jitc_symbol_cuModuleLoadFatBinary() __asm__("cuModuleLoadFatBinary");
extern int32_t jitc_symbol_cuModuleUnload() __asm__("cuModuleUnload");
extern int32_t jitc_symbol_cuMulticastAddDevice() __asm__("cuMulticastAddDevice");
extern int32_t jitc_symbol_cuMulticastBindAddr() __asm__("cuMulticastBindAddr");
extern int32_t jitc_symbol_cuMulticastBindMem() __asm__("cuMulticastBindMem");
extern int32_t jitc_symbol_cuMulticastCreate() __asm__("cuMulticastCreate");
extern int32_t jitc_symbol_cuMulticastGetGranularity() __asm__("cuMulticastGetGranularity");
extern int32_t jitc_symbol_cuMulticastUnbind() __asm__("cuMulticastUnbind");
extern int32_t jitc_symbol_cuOccupancyAvailableDynamicSMemPerBlock() __asm__("cuOccupancyAvailableDynamicSMemPerBlock");
extern int32_t jitc_symbol_cuOccupancyMaxActiveBlocksPerMultiprocessor() __asm__("cuOccupancyMaxActiveBlocksPerMultiprocessor");
extern int32_t jitc_symbol_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags() __asm__("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
extern int32_t jitc_symbol_cuOccupancyMaxActiveClusters() __asm__("cuOccupancyMaxActiveClusters");
extern int32_t jitc_symbol_cuOccupancyMaxPotentialBlockSize() __asm__("cuOccupancyMaxPotentialBlockSize");
extern int32_t jitc_symbol_cuOccupancyMaxPotentialClusterSize() __asm__("cuOccupancyMaxPotentialClusterSize");
extern int32_t jitc_symbol_cuPointerGetAttribute() __asm__("cuPointerGetAttribute");
extern int32_t jitc_symbol_cuPointerGetAttributes() __asm__("cuPointerGetAttributes");
extern int32_t jitc_symbol_cuPointerSetAttribute() __asm__("cuPointerSetAttribute");
extern int32_t jitc_symbol_cuProfilerStart() __asm__("cuProfilerStart");
extern int32_t jitc_symbol_cuProfilerStop() __asm__("cuProfilerStop");
extern int32_t jitc_symbol_cuStreamBatchMemOp_v2() __asm__("cuStreamBatchMemOp_v2");
extern int32_t jitc_symbol_cuStreamBeginCaptureToGraph() __asm__("cuStreamBeginCaptureToGraph");
extern int32_t jitc_symbol_cuStreamBeginCapture_v2() __asm__("cuStreamBeginCapture_v2");
extern int32_t jitc_symbol_cuStreamCreate() __asm__("cuStreamCreate");
extern int32_t jitc_symbol_cuStreamCreateWithPriority() __asm__("cuStreamCreateWithPriority");
extern int32_t jitc_symbol_cuStreamDestroy_v2() __asm__("cuStreamDestroy_v2");
extern int32_t jitc_symbol_cuStreamEndCapture() __asm__("cuStreamEndCapture");
extern int32_t jitc_symbol_cuStreamGetCaptureInfo_v2() __asm__("cuStreamGetCaptureInfo_v2");
extern int32_t jitc_symbol_cuStreamGetCaptureInfo_v3() __asm__("cuStreamGetCaptureInfo_v3");
extern int32_t jitc_symbol_cuStreamGetCtx() __asm__("cuStreamGetCtx");
extern int32_t jitc_symbol_cuStreamGetDevice() __asm__("cuStreamGetDevice");
extern int32_t jitc_symbol_cuStreamGetFlags() __asm__("cuStreamGetFlags");
extern int32_t jitc_symbol_cuStreamGetId() __asm__("cuStreamGetId");
extern int32_t jitc_symbol_cuStreamGetPriority() __asm__("cuStreamGetPriority");
extern int32_t jitc_symbol_cuStreamIsCapturing() __asm__("cuStreamIsCapturing");
extern int32_t jitc_symbol_cuStreamQuery() __asm__("cuStreamQuery");
extern int32_t jitc_symbol_cuStreamSynchronize() __asm__("cuStreamSynchronize");
extern int32_t jitc_symbol_cuStreamUpdateCaptureDependencies() __asm__("cuStreamUpdateCaptureDependencies");
extern int32_t jitc_symbol_cuStreamUpdateCaptureDependencies_v2() __asm__("cuStreamUpdateCaptureDependencies_v2");
extern int32_t jitc_symbol_cuStreamWaitEvent() __asm__("cuStreamWaitEvent");
extern int32_t jitc_symbol_cuStreamWaitValue32_v2() __asm__("cuStreamWaitValue32_v2");
extern int32_t jitc_symbol_cuStreamWaitValue64_v2() __asm__("cuStreamWaitValue64_v2");
extern int32_t jitc_symbol_cuStreamWriteValue32() __asm__("cuStreamWriteValue32");
extern int32_t jitc_symbol_cuStreamWriteValue32_v2() __asm__("cuStreamWriteValue32_v2");
extern int32_t jitc_symbol_cuStreamWriteValue64_v2() __asm__("cuStreamWriteValue64_v2");
extern int32_t jitc_symbol_cuTensorMapEncodeIm2col() __asm__("cuTensorMapEncodeIm2col");
extern int32_t jitc_symbol_cuTensorMapEncodeTiled() __asm__("cuTensorMapEncodeTiled");
extern int32_t jitc_symbol_cuThreadExchangeStreamCaptureMode() __asm__("cuThreadExchangeStreamCaptureMode");
}

namespace jitc::api {
// sorted by name
const Symbol kDriverSymbols[] = {
    {"cuCtxCreate_v4", reinterpret_cast<void*>(&jitc_symbol_cuCtxCreate_v4)},
    {"cuCtxDestroy_v2", reinterpret_cast<void*>(&jitc_symbol_cuCtxDestroy_v2)},
    {"cuCtxDisablePeerAccess", reinterpret_cast<void*>(&jitc_symbol_cuCtxDisablePeerAccess)},
    {"cuCtxEnablePeerAccess", reinterpret_cast<void*>(&jitc_symbol_cuCtxEnablePeerAccess)},
    {"cuCtxFromGreenCtx", reinterpret_cast<void*>(&jitc_symbol_cuCtxFromGreenCtx)},
    {"cuCtxGetApiVersion", reinterpret_cast<void*>(&jitc_symbol_cuCtxGetApiVersion)},
    {"cuCtxGetCurrent", reinterpret_cast<void*>(&jitc_symbol_cuCtxGetCurrent)},
    {"cuCtxGetDevice", reinterpret_cast<void*>(&jitc_symbol_cuCtxGetDevice)},
    {"cuCtxGetFlags", reinterpret_cast<void*>(&jitc_symbol_cuCtxGetFlags)},
    {"cuCtxGetLimit", reinterpret_cast<void*>(&jitc_symbol_cuCtxGetLimit)},
    {"cuCtxGetStreamPriorityRange", reinterpret_cast<void*>(&jitc_symbol_cuCtxGetStreamPriorityRange)},
    {"cuCtxPopCurrent_v2", reinterpret_cast<void*>(&jitc_symbol_cuCtxPopCurrent_v2)},
    {"cuCtxPushCurrent_v2", reinterpret_cast<void*>(&jitc_symbol_cuCtxPushCurrent_v2)},
    {"cuCtxSetCurrent", reinterpret_cast<void*>(&jitc_symbol_cuCtxSetCurrent)},
    {"cuCtxSetLimit", reinterpret_cast<void*>(&jitc_symbol_cuCtxSetLimit)},
    {"cuCtxSynchronize", reinterpret_cast<void*>(&jitc_symbol_cuCtxSynchronize)},
    {"cuDevResourceGenerateDesc", reinterpret_cast<void*>(&jitc_symbol_cuDevResourceGenerateDesc)},
    {"cuDevSmResourceSplitByCount", reinterpret_cast<void*>(&jitc_symbol_cuDevSmResourceSplitByCount)},
    {"cuDeviceCanAccessPeer", reinterpret_cast<void*>(&jitc_symbol_cuDeviceCanAccessPeer)},
    {"cuDeviceComputeCapability", reinterpret_cast<void*>(&jitc_symbol_cuDeviceComputeCapability)},
    {"cuDeviceGet", reinterpret_cast<void*>(&jitc_symbol_cuDeviceGet)},
    {"cuDeviceGetAttribute", reinterpret_cast<void*>(&jitc_symbol_cuDeviceGetAttribute)},
    {"cuDeviceGetByPCIBusId", reinterpret_cast<void*>(&jitc_symbol_cuDeviceGetByPCIBusId)},
    {"cuDeviceGetCount", reinterpret_cast<void*>(&jitc_symbol_cuDeviceGetCount)},
    {"cuDeviceGetDevResource", reinterpret_cast<void*>(&jitc_symbol_cuDeviceGetDevResource)},
    {"cuDeviceGetName", reinterpret_cast<void*>(&jitc_symbol_cuDeviceGetName)},
    {"cuDeviceGetP2PAttribute", reinterpret_cast<void*>(&jitc_symbol_cuDeviceGetP2PAttribute)},
    {"cuDeviceGetPCIBusId", reinterpret_cast<void*>(&jitc_symbol_cuDeviceGetPCIBusId)},
    {"cuDeviceGetUuid", reinterpret_cast<void*>(&jitc_symbol_cuDeviceGetUuid)},
    {"cuDeviceGetUuid_v2", reinterpret_cast<void*>(&jitc_symbol_cuDeviceGetUuid_v2)},
    {"cuDevicePrimaryCtxGetState", reinterpret_cast<void*>(&jitc_symbol_cuDevicePrimaryCtxGetState)},
    {"cuDevicePrimaryCtxRelease_v2", reinterpret_cast<void*>(&jitc_symbol_cuDevicePrimaryCtxRelease_v2)},
    {"cuDevicePrimaryCtxReset_v2", reinterpret_cast<void*>(&jitc_symbol_cuDevicePrimaryCtxReset_v2)},
    {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(&jitc_symbol_cuDevicePrimaryCtxRetain)},
    {"cuDevicePrimaryCtxSetFlags_v2", reinterpret_cast<void*>(&jitc_symbol_cuDevicePrimaryCtxSetFlags_v2)},
    {"cuDeviceTotalMem_v2", reinterpret_cast<void*>(&jitc_symbol_cuDeviceTotalMem_v2)},
    {"cuDriverGetVersion", reinterpret_cast<void*>(&jitc_symbol_cuDriverGetVersion)},
    {"cuEventCreate", reinterpret_cast<void*>(&jitc_symbol_cuEventCreate)},
    {"cuEventDestroy_v2", reinterpret_cast<void*>(&jitc_symbol_cuEventDestroy_v2)},
    {"cuEventElapsedTime", reinterpret_cast<void*>(&jitc_symbol_cuEventElapsedTime)},
    {"cuEventElapsedTime_v2", reinterpret_cast<void*>(&jitc_symbol_cuEventElapsedTime_v2)},
    {"cuEventQuery", reinterpret_cast<void*>(&jitc_symbol_cuEventQuery)},
    {"cuEventRecord", reinterpret_cast<void*>(&jitc_symbol_cuEventRecord)},
    {"cuEventRecordWithFlags", reinterpret_cast<void*>(&jitc_symbol_cuEventRecordWithFlags)},
    {"cuEventSynchronize", reinterpret_cast<void*>(&jitc_symbol_cuEventSynchronize)},
    {"cuFuncGetAttribute", reinterpret_cast<void*>(&jitc_symbol_cuFuncGetAttribute)},
    {"cuFuncGetModule", reinterpret_cast<void*>(&jitc_symbol_cuFuncGetModule)},
    {"cuFuncGetName", reinterpret_cast<void*>(&jitc_symbol_cuFuncGetName)},
    {"cuFuncGetParamInfo", reinterpret_cast<void*>(&jitc_symbol_cuFuncGetParamInfo)},
    {"cuFuncSetAttribute", reinterpret_cast<void*>(&jitc_symbol_cuFuncSetAttribute)},
    {"cuFuncSetCacheConfig", reinterpret_cast<void*>(&jitc_symbol_cuFuncSetCacheConfig)},
    {"cuGetErrorName", reinterpret_cast<void*>(&jitc_symbol_cuGetErrorName)},
    {"cuGetErrorString", reinterpret_cast<void*>(&jitc_symbol_cuGetErrorString)},
    {"cuGetExportTable", reinterpret_cast<void*>(&jitc_symbol_cuGetExportTable)},
    {"cuGetProcAddress", reinterpret_cast<void*>(&jitc_symbol_cuGetProcAddress)},
    {"cuGetProcAddress_v2", reinterpret_cast<void*>(&jitc_symbol_cuGetProcAddress_v2)},
    {"cuGraphCreate", reinterpret_cast<void*>(&jitc_symbol_cuGraphCreate)},
    {"cuGraphDebugDotPrint", reinterpret_cast<void*>(&jitc_symbol_cuGraphDebugDotPrint)},
    {"cuGraphDestroy", reinterpret_cast<void*>(&jitc_symbol_cuGraphDestroy)},
    {"cuGraphExecDestroy", reinterpret_cast<void*>(&jitc_symbol_cuGraphExecDestroy)},
    {"cuGraphExecUpdate_v2", reinterpret_cast<void*>(&jitc_symbol_cuGraphExecUpdate_v2)},
    {"cuGraphGetNodes", reinterpret_cast<void*>(&jitc_symbol_cuGraphGetNodes)},
    {"cuGraphInstantiateWithFlags", reinterpret_cast<void*>(&jitc_symbol_cuGraphInstantiateWithFlags)},
    {"cuGraphLaunch", reinterpret_cast<void*>(&jitc_symbol_cuGraphLaunch)},
    {"cuGraphUpload", reinterpret_cast<void*>(&jitc_symbol_cuGraphUpload)},
    {"cuGreenCtxCreate", reinterpret_cast<void*>(&jitc_symbol_cuGreenCtxCreate)},
    {"cuGreenCtxDestroy", reinterpret_cast<void*>(&jitc_symbol_cuGreenCtxDestroy)},
    {"cuGreenCtxStreamCreate", reinterpret_cast<void*>(&jitc_symbol_cuGreenCtxStreamCreate)},
    {"cuInit", reinterpret_cast<void*>(&jitc_symbol_cuInit)},
    {"cuIpcCloseMemHandle", reinterpret_cast<void*>(&jitc_symbol_cuIpcCloseMemHandle)},
    {"cuIpcGetEventHandle", reinterpret_cast<void*>(&jitc_symbol_cuIpcGetEventHandle)},
    {"cuIpcGetMemHandle", reinterpret_cast<void*>(&jitc_symbol_cuIpcGetMemHandle)},
    {"cuIpcOpenEventHandle", reinterpret_cast<void*>(&jitc_symbol_cuIpcOpenEventHandle)},
    {"cuIpcOpenMemHandle_v2", reinterpret_cast<void*>(&jitc_symbol_cuIpcOpenMemHandle_v2)},
    {"cuKernelGetAttribute", reinterpret_cast<void*>(&jitc_symbol_cuKernelGetAttribute)},
    {"cuKernelGetFunction", reinterpret_cast<void*>(&jitc_symbol_cuKernelGetFunction)},
    {"cuKernelGetName", reinterpret_cast<void*>(&jitc_symbol_cuKernelGetName)},
    {"cuKernelGetParamInfo", reinterpret_cast<void*>(&jitc_symbol_cuKernelGetParamInfo)},
    {"cuKernelSetAttribute", reinterpret_cast<void*>(&jitc_symbol_cuKernelSetAttribute)},
    {"cuKernelSetCacheConfig", reinterpret_cast<void*>(&jitc_symbol_cuKernelSetCacheConfig)},
    {"cuLaunchCooperativeKernel", reinterpret_cast<void*>(&jitc_symbol_cuLaunchCooperativeKernel)},
    {"cuLaunchHostFunc", reinterpret_cast<void*>(&jitc_symbol_cuLaunchHostFunc)},
    {"cuLaunchKernel", reinterpret_cast<void*>(&jitc_symbol_cuLaunchKernel)},
    {"cuLaunchKernelEx", reinterpret_cast<void*>(&jitc_symbol_cuLaunchKernelEx)},
    {"cuLibraryGetGlobal", reinterpret_cast<void*>(&jitc_symbol_cuLibraryGetGlobal)},
    {"cuLibraryGetKernel", reinterpret_cast<void*>(&jitc_symbol_cuLibraryGetKernel)},
    {"cuLibraryGetModule", reinterpret_cast<void*>(&jitc_symbol_cuLibraryGetModule)},
    {"cuLibraryLoadData", reinterpret_cast<void*>(&jitc_symbol_cuLibraryLoadData)},
    {"cuLibraryLoadFromFile", reinterpret_cast<void*>(&jitc_symbol_cuLibraryLoadFromFile)},
    {"cuLibraryUnload", reinterpret_cast<void*>(&jitc_symbol_cuLibraryUnload)},
    {"cuLinkAddData_v2", reinterpret_cast<void*>(&jitc_symbol_cuLinkAddData_v2)},
    {"cuLinkAddFile_v2", reinterpret_cast<void*>(&jitc_symbol_cuLinkAddFile_v2)},
    {"cuLinkComplete", reinterpret_cast<void*>(&jitc_symbol_cuLinkComplete)},
    {"cuLinkCreate_v2", reinterpret_cast<void*>(&jitc_symbol_cuLinkCreate_v2)},
    {"cuLinkDestroy", reinterpret_cast<void*>(&jitc_symbol_cuLinkDestroy)},
    {"cuMemAddressFree", reinterpret_cast<void*>(&jitc_symbol_cuMemAddressFree)},
    {"cuMemAddressReserve", reinterpret_cast<void*>(&jitc_symbol_cuMemAddressReserve)},
    {"cuMemAdvise", reinterpret_cast<void*>(&jitc_symbol_cuMemAdvise)},
    {"cuMemAdvise_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemAdvise_v2)},
    {"cuMemAllocAsync", reinterpret_cast<void*>(&jitc_symbol_cuMemAllocAsync)},
    {"cuMemAllocHost_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemAllocHost_v2)},
    {"cuMemAllocManaged", reinterpret_cast<void*>(&jitc_symbol_cuMemAllocManaged)},
    {"cuMemAlloc_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemAlloc_v2)},
    {"cuMemCreate", reinterpret_cast<void*>(&jitc_symbol_cuMemCreate)},
    {"cuMemExportToShareableHandle", reinterpret_cast<void*>(&jitc_symbol_cuMemExportToShareableHandle)},
    {"cuMemFreeAsync", reinterpret_cast<void*>(&jitc_symbol_cuMemFreeAsync)},
    {"cuMemFreeHost", reinterpret_cast<void*>(&jitc_symbol_cuMemFreeHost)},
    {"cuMemFree_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemFree_v2)},
    {"cuMemGetAccess", reinterpret_cast<void*>(&jitc_symbol_cuMemGetAccess)},
    {"cuMemGetAddressRange_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemGetAddressRange_v2)},
    {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&jitc_symbol_cuMemGetAllocationGranularity)},
    {"cuMemGetAllocationPropertiesFromHandle", reinterpret_cast<void*>(&jitc_symbol_cuMemGetAllocationPropertiesFromHandle)},
    {"cuMemGetHandleForAddressRange", reinterpret_cast<void*>(&jitc_symbol_cuMemGetHandleForAddressRange)},
    {"cuMemGetInfo_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemGetInfo_v2)},
    {"cuMemHostAlloc", reinterpret_cast<void*>(&jitc_symbol_cuMemHostAlloc)},
    {"cuMemHostGetDevicePointer_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemHostGetDevicePointer_v2)},
    {"cuMemHostGetFlags", reinterpret_cast<void*>(&jitc_symbol_cuMemHostGetFlags)},
    {"cuMemHostRegister_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemHostRegister_v2)},
    {"cuMemHostUnregister", reinterpret_cast<void*>(&jitc_symbol_cuMemHostUnregister)},
    {"cuMemImportFromShareableHandle", reinterpret_cast<void*>(&jitc_symbol_cuMemImportFromShareableHandle)},
    {"cuMemMap", reinterpret_cast<void*>(&jitc_symbol_cuMemMap)},
    {"cuMemPrefetchAsync", reinterpret_cast<void*>(&jitc_symbol_cuMemPrefetchAsync)},
    {"cuMemPrefetchAsync_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemPrefetchAsync_v2)},
    {"cuMemRelease", reinterpret_cast<void*>(&jitc_symbol_cuMemRelease)},
    {"cuMemRetainAllocationHandle", reinterpret_cast<void*>(&jitc_symbol_cuMemRetainAllocationHandle)},
    {"cuMemSetAccess", reinterpret_cast<void*>(&jitc_symbol_cuMemSetAccess)},
    {"cuMemUnmap", reinterpret_cast<void*>(&jitc_symbol_cuMemUnmap)},
    {"cuMemcpy", reinterpret_cast<void*>(&jitc_symbol_cuMemcpy)},
    {"cuMemcpy2DAsync_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemcpy2DAsync_v2)},
    {"cuMemcpy2D_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemcpy2D_v2)},
    {"cuMemcpy3DAsync_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemcpy3DAsync_v2)},
    {"cuMemcpy3D_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemcpy3D_v2)},
    {"cuMemcpyAsync", reinterpret_cast<void*>(&jitc_symbol_cuMemcpyAsync)},
    {"cuMemcpyDtoDAsync_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemcpyDtoDAsync_v2)},
    {"cuMemcpyDtoD_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemcpyDtoD_v2)},
    {"cuMemcpyDtoHAsync_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemcpyDtoHAsync_v2)},
    {"cuMemcpyDtoH_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemcpyDtoH_v2)},
    {"cuMemcpyHtoDAsync_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemcpyHtoDAsync_v2)},
    {"cuMemcpyHtoD_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemcpyHtoD_v2)},
    {"cuMemcpyPeer", reinterpret_cast<void*>(&jitc_symbol_cuMemcpyPeer)},
    {"cuMemcpyPeerAsync", reinterpret_cast<void*>(&jitc_symbol_cuMemcpyPeerAsync)},
    {"cuMemsetD16Async", reinterpret_cast<void*>(&jitc_symbol_cuMemsetD16Async)},
    {"cuMemsetD16_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemsetD16_v2)},
    {"cuMemsetD32Async", reinterpret_cast<void*>(&jitc_symbol_cuMemsetD32Async)},
    {"cuMemsetD32_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemsetD32_v2)},
    {"cuMemsetD8Async", reinterpret_cast<void*>(&jitc_symbol_cuMemsetD8Async)},
    {"cuMemsetD8_v2", reinterpret_cast<void*>(&jitc_symbol_cuMemsetD8_v2)},
    {"cuModuleGetFunction", reinterpret_cast<void*>(&jitc_symbol_cuModuleGetFunction)},
    {"cuModuleGetGlobal_v2", reinterpret_cast<void*>(&jitc_symbol_cuModuleGetGlobal_v2)},
    {"cuModuleGetLoadingMode", reinterpret_cast<void*>(&jitc_symbol_cuModuleGetLoadingMode)},
    {"cuModuleLoad", reinterpret_cast<void*>(&jitc_symbol_cuModuleLoad)},
    {"cuModuleLoadData", reinterpret_cast<void*>(&jitc_symbol_cuModuleLoadData)},
    {"cuModuleLoadDataEx", reinterpret_cast<void*>(&jitc_symbol_cuModuleLoadDataEx)},
    {"cuModuleLoadFatBinary", reinterpret_cast<void*>(&jitc_symbol_cuModuleLoadFatBinary)},
    {"cuModuleUnload", reinterpret_cast<void*>(&jitc_symbol_cuModuleUnload)},
    {"cuMulticastAddDevice", reinterpret_cast<void*>(&jitc_symbol_cuMulticastAddDevice)},
    {"cuMulticastBindAddr", reinterpret_cast<void*>(&jitc_symbol_cuMulticastBindAddr)},
    {"cuMulticastBindMem", reinterpret_cast<void*>(&jitc_symbol_cuMulticastBindMem)},
    {"cuMulticastCreate", reinterpret_cast<void*>(&jitc_symbol_cuMulticastCreate)},
    {"cuMulticastGetGranularity", reinterpret_cast<void*>(&jitc_symbol_cuMulticastGetGranularity)},
    {"cuMulticastUnbind", reinterpret_cast<void*>(&jitc_symbol_cuMulticastUnbind)},
    {"cuOccupancyAvailableDynamicSMemPerBlock", reinterpret_cast<void*>(&jitc_symbol_cuOccupancyAvailableDynamicSMemPerBlock)},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", reinterpret_cast<void*>(&jitc_symbol_cuOccupancyMaxActiveBlocksPerMultiprocessor)},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", reinterpret_cast<void*>(&jitc_symbol_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)},
    {"cuOccupancyMaxActiveClusters", reinterpret_cast<void*>(&jitc_symbol_cuOccupancyMaxActiveClusters)},
    {"cuOccupancyMaxPotentialBlockSize", reinterpret_cast<void*>(&jitc_symbol_cuOccupancyMaxPotentialBlockSize)},
    {"cuOccupancyMaxPotentialClusterSize", reinterpret_cast<void*>(&jitc_symbol_cuOccupancyMaxPotentialClusterSize)},
    {"cuPointerGetAttribute", reinterpret_cast<void*>(&jitc_symbol_cuPointerGetAttribute)},
    {"cuPointerGetAttributes", reinterpret_cast<void*>(&jitc_symbol_cuPointerGetAttributes)},
    {"cuPointerSetAttribute", reinterpret_cast<void*>(&jitc_symbol_cuPointerSetAttribute)},
    {"cuProfilerStart", reinterpret_cast<void*>(&jitc_symbol_cuProfilerStart)},
    {"cuProfilerStop", reinterpret_cast<void*>(&jitc_symbol_cuProfilerStop)},
    {"cuStreamBatchMemOp_v2", reinterpret_cast<void*>(&jitc_symbol_cuStreamBatchMemOp_v2)},
    {"cuStreamBeginCaptureToGraph", reinterpret_cast<void*>(&jitc_symbol_cuStreamBeginCaptureToGraph)},
    {"cuStreamBeginCapture_v2", reinterpret_cast<void*>(&jitc_symbol_cuStreamBeginCapture_v2)},
    {"cuStreamCreate", reinterpret_cast<void*>(&jitc_symbol_cuStreamCreate)},
    {"cuStreamCreateWithPriority", reinterpret_cast<void*>(&jitc_symbol_cuStreamCreateWithPriority)},
    {"cuStreamDestroy_v2", reinterpret_cast<void*>(&jitc_symbol_cuStreamDestroy_v2)},
    {"cuStreamEndCapture", reinterpret_cast<void*>(&jitc_symbol_cuStreamEndCapture)},
    {"cuStreamGetCaptureInfo_v2", reinterpret_cast<void*>(&jitc_symbol_cuStreamGetCaptureInfo_v2)},
    {"cuStreamGetCaptureInfo_v3", reinterpret_cast<void*>(&jitc_symbol_cuStreamGetCaptureInfo_v3)},
    {"cuStreamGetCtx", reinterpret_cast<void*>(&jitc_symbol_cuStreamGetCtx)},
    {"cuStreamGetDevice", reinterpret_cast<void*>(&jitc_symbol_cuStreamGetDevice)},
    {"cuStreamGetFlags", reinterpret_cast<void*>(&jitc_symbol_cuStreamGetFlags)},
    {"cuStreamGetId", reinterpret_cast<void*>(&jitc_symbol_cuStreamGetId)},
    {"cuStreamGetPriority", reinterpret_cast<void*>(&jitc_symbol_cuStreamGetPriority)},
    {"cuStreamIsCapturing", reinterpret_cast<void*>(&jitc_symbol_cuStreamIsCapturing)},
    {"cuStreamQuery", reinterpret_cast<void*>(&jitc_symbol_cuStreamQuery)},
    {"cuStreamSynchronize", reinterpret_cast<void*>(&jitc_symbol_cuStreamSynchronize)},
    {"cuStreamUpdateCaptureDependencies", reinterpret_cast<void*>(&jitc_symbol_cuStreamUpdateCaptureDependencies)},
    {"cuStreamUpdateCaptureDependencies_v2", reinterpret_cast<void*>(&jitc_symbol_cuStreamUpdateCaptureDependencies_v2)},
    {"cuStreamWaitEvent", reinterpret_cast<void*>(&jitc_symbol_cuStreamWaitEvent)},
    {"cuStreamWaitValue32_v2", reinterpret_cast<void*>(&jitc_symbol_cuStreamWaitValue32_v2)},
    {"cuStreamWaitValue64_v2", reinterpret_cast<void*>(&jitc_symbol_cuStreamWaitValue64_v2)},
    {"cuStreamWriteValue32", reinterpret_cast<void*>(&jitc_symbol_cuStreamWriteValue32)},
    {"cuStreamWriteValue32_v2", reinterpret_cast<void*>(&jitc_symbol_cuStreamWriteValue32_v2)},
    {"cuStreamWriteValue64_v2", reinterpret_cast<void*>(&jitc_symbol_cuStreamWriteValue64_v2)},
    {"cuTensorMapEncodeIm2col", reinterpret_cast<void*>(&jitc_symbol_cuTensorMapEncodeIm2col)},
    {"cuTensorMapEncodeTiled", reinterpret_cast<void*>(&jitc_symbol_cuTensorMapEncodeTiled)},
    {"cuThreadExchangeStreamCaptureMode", reinterpret_cast<void*>(&jitc_symbol_cuThreadExchangeStreamCaptureMode)},
};
const unsigned kDriverSymbolCount = 200;

const char* const kServedLibraries[] = {
    "libcublas",
    "libcublasLt",
    "libcuda",
    "libcudart",
    "libcudnn",
    "libnccl",
};
const unsigned kServedLibraryCount = 6;

}  // namespace jitc::api
