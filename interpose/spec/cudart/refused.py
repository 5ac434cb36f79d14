"""The functions of the CUDA runtime API that are refused, by topic. Part of ``functions.py``."""

from __future__ import annotations

from jitc.interpose.spec.api import Function, unsupported

REFUSED: tuple[Function, ...] = (
    *unsupported(
        "a CUDA graph can only be made by capturing a stream (torch.cuda.graph, torch.compile)",
        """
    cudaDeviceGetGraphMemAttribute cudaDeviceGraphMemTrim cudaDeviceSetGraphMemAttribute cudaGraphAddChildGraphNode
    cudaGraphAddDependencies cudaGraphAddEmptyNode cudaGraphAddEventRecordNode cudaGraphAddEventWaitNode
    cudaGraphAddExternalSemaphoresSignalNode cudaGraphAddExternalSemaphoresWaitNode cudaGraphAddHostNode
    cudaGraphAddKernelNode cudaGraphAddMemAllocNode cudaGraphAddMemFreeNode cudaGraphAddMemcpyNode
    cudaGraphAddMemcpyNode1D cudaGraphAddMemcpyNodeFromSymbol cudaGraphAddMemcpyNodeToSymbol cudaGraphAddMemsetNode
    cudaGraphAddNode cudaGraphChildGraphNodeGetGraph cudaGraphClone cudaGraphConditionalHandleCreate
    cudaGraphCreate cudaGraphDebugDotPrint cudaGraphDestroyNode cudaGraphEventRecordNodeGetEvent
    cudaGraphEventRecordNodeSetEvent cudaGraphEventWaitNodeGetEvent cudaGraphEventWaitNodeSetEvent
    cudaGraphExecChildGraphNodeSetParams cudaGraphExecEventRecordNodeSetEvent cudaGraphExecEventWaitNodeSetEvent
    cudaGraphExecExternalSemaphoresSignalNodeSetParams cudaGraphExecExternalSemaphoresWaitNodeSetParams
    cudaGraphExecGetFlags cudaGraphExecHostNodeSetParams cudaGraphExecKernelNodeSetParams
    cudaGraphExecMemcpyNodeSetParams cudaGraphExecMemcpyNodeSetParams1D cudaGraphExecMemcpyNodeSetParamsFromSymbol
    cudaGraphExecMemcpyNodeSetParamsToSymbol cudaGraphExecMemsetNodeSetParams cudaGraphExecNodeSetParams
    cudaGraphExternalSemaphoresSignalNodeGetParams
    cudaGraphExternalSemaphoresSignalNodeSetParams cudaGraphExternalSemaphoresWaitNodeGetParams
    cudaGraphExternalSemaphoresWaitNodeSetParams cudaGraphGetEdges cudaGraphGetRootNodes cudaGraphHostNodeGetParams
    cudaGraphHostNodeSetParams cudaGraphInstantiateWithParams cudaGraphKernelNodeCopyAttributes
    cudaGraphKernelNodeGetAttribute cudaGraphKernelNodeGetParams cudaGraphKernelNodeSetAttribute
    cudaGraphKernelNodeSetParams cudaGraphMemAllocNodeGetParams cudaGraphMemFreeNodeGetParams
    cudaGraphMemcpyNodeGetParams cudaGraphMemcpyNodeSetParams cudaGraphMemcpyNodeSetParams1D
    cudaGraphMemcpyNodeSetParamsFromSymbol cudaGraphMemcpyNodeSetParamsToSymbol cudaGraphMemsetNodeGetParams
    cudaGraphMemsetNodeSetParams cudaGraphNodeFindInClone cudaGraphNodeGetDependencies
    cudaGraphNodeGetDependentNodes cudaGraphNodeGetEnabled cudaGraphNodeGetType cudaGraphNodeSetEnabled
    cudaGraphNodeSetParams cudaGraphReleaseUserObject cudaGraphRemoveDependencies cudaGraphRetainUserObject
    cudaStreamBeginCaptureToGraph cudaStreamUpdateCaptureDependencies cudaUserObjectCreate cudaUserObjectRelease
    cudaUserObjectRetain""",
    ),
    *unsupported(
        "device memory cannot be shared between processes: use another sharing strategy (CPU tensors)",
        """
    cudaIpcCloseMemHandle cudaIpcGetEventHandle cudaIpcGetMemHandle cudaIpcOpenEventHandle cudaIpcOpenMemHandle
    cudaDestroyExternalMemory cudaDestroyExternalSemaphore cudaExternalMemoryGetMappedBuffer
    cudaExternalMemoryGetMappedMipmappedArray cudaImportExternalMemory cudaImportExternalSemaphore
    cudaSignalExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync cudaDeviceGetNvSciSyncAttributes
    cudaGraphicsMapResources cudaGraphicsResourceGetMappedMipmappedArray cudaGraphicsResourceGetMappedPointer
    cudaGraphicsResourceSetMapFlags cudaGraphicsSubResourceGetMappedArray cudaGraphicsUnmapResources
    cudaGraphicsUnregisterResource""",
    ),
    *unsupported(
        "managed memory is not supported: use cudaMalloc or pinned memory",
        """
    cudaMallocManaged cudaMemAdvise cudaMemPrefetchAsync cudaMemPrefetchBatchAsync cudaMemDiscardBatchAsync
    cudaMemDiscardAndPrefetchBatchAsync cudaMemRangeGetAttribute cudaMemRangeGetAttributes cudaStreamAttachMemAsync""",
    ),
    *unsupported(
        "memory pools of your own are not supported: use the default pool",
        """
    cudaMallocFromPoolAsync cudaMemGetDefaultMemPool cudaMemGetMemPool cudaMemPoolCreate cudaMemPoolDestroy
    cudaMemPoolExportPointer cudaMemPoolExportToShareableHandle cudaMemPoolGetAccess
    cudaMemPoolImportFromShareableHandle cudaMemPoolImportPointer cudaMemSetMemPool""",
    ),
    *unsupported(
        "arrays, textures and surfaces are not supported: use linear memory",
        """
    cudaArrayGetInfo cudaArrayGetMemoryRequirements cudaArrayGetPlane cudaArrayGetSparseProperties
    cudaCreateSurfaceObject cudaCreateTextureObject cudaDestroySurfaceObject cudaDestroyTextureObject cudaFreeArray
    cudaFreeMipmappedArray cudaGetChannelDesc cudaGetMipmappedArrayLevel cudaGetSurfaceObjectResourceDesc
    cudaGetTextureObjectResourceDesc cudaGetTextureObjectResourceViewDesc cudaGetTextureObjectTextureDesc
    cudaMalloc3DArray cudaMallocArray cudaMallocMipmappedArray cudaMemcpy2DArrayToArray cudaMemcpy2DFromArray
    cudaMemcpy2DFromArrayAsync cudaMemcpy2DToArray cudaMemcpy2DToArrayAsync cudaMemcpyArrayToArray
    cudaMemcpyFromArray cudaMemcpyFromArrayAsync cudaMemcpyToArray cudaMemcpyToArrayAsync
    cudaMipmappedArrayGetMemoryRequirements cudaMipmappedArrayGetSparseProperties
    cudaDeviceGetTexture1DLinearMaxWidth""",
    ),
    *unsupported(
        "batched copies, and 3D ones between two GPUs, are not supported: copy with cudaMemcpy3DAsync",
        """
    cudaMalloc3D cudaMemcpy3DBatchAsync cudaMemcpy3DPeer cudaMemcpy3DPeerAsync
    cudaMemcpyBatchAsync cudaMemset3D cudaMemset3DAsync""",
    ),
    *unsupported(
        "kernels and variables of a library are found by their names: cudaLibraryGetKernel, cudaLibraryGetGlobal",
        """
    cudaLibraryEnumerateKernels cudaLibraryGetKernelCount cudaLibraryGetManaged cudaLibraryGetUnifiedFunction""",
    ),
    *unsupported(
        "not served through the proxy",
        """
    cudaDeviceFlushGPUDirectRDMAWrites cudaDeviceGetHostAtomicCapabilities cudaDeviceGetP2PAtomicCapabilities
    cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification cudaGetExportTable cudaLogsCurrent
    cudaLogsDumpToFile cudaLogsDumpToMemory cudaLogsRegisterCallback cudaLogsUnregisterCallback
    cudaStreamGetAttribute""",
    ),
)
