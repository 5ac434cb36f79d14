"""The CUDA runtime API (libcudart.so.13): see ``api.py`` for how to read it."""

from __future__ import annotations

from jitc.interpose.spec.api import Api, Custom, Function, Local, Op, Sync, unsupported

_DEVICE: tuple[Function, ...] = (
    Local("cudaGetDeviceCount", "out count: int"),
    Local("cudaSetDevice", "device: device"),
    Local("cudaInitDevice", "device: device", "device_flags: uint", "flags: uint"),
    Local("cudaGetDevice", "out device: device"),
    Local("cudaChooseDevice", "out device: device", "in prop: device_prop", note="always device 0"),
    Local("cudaSetValidDevices", "inout devices: device", "count: int", note="accepted, no effect"),
    Local("cudaSetDeviceFlags", "flags: uint", note="accepted, no effect"),
    Local("cudaGetDeviceFlags", "out flags: uint"),
    Local("cudaGetDeviceProperties", "out prop: device_prop", "device: device"),
    Local("cudaDeviceGetAttribute", "out value: int", "attribute: enum", "device: device"),
    Local("cudaDeviceGetPCIBusId", "out text: u8", "length: int", "device: device"),
    Local("cudaDeviceGetByPCIBusId", "out device: device", "text: string"),
    Local("cudaDeviceGetLimit", "out value: size", "limit: enum"),
    Local("cudaDeviceSetLimit", "limit: enum", "value: size", note="accepted, no effect"),
    Local("cudaDeviceGetCacheConfig", "out config: enum"),
    Local("cudaDeviceSetCacheConfig", "config: enum", note="accepted, no effect"),
    Local("cudaDeviceGetStreamPriorityRange", "out least: int", "out greatest: int"),
    Local("cudaDeviceCanAccessPeer", "out answer: int", "device: device", "peer: device"),
    Local("cudaDeviceEnablePeerAccess", "peer: device", "flags: uint"),
    Local("cudaDeviceDisablePeerAccess", "peer: device"),
    Local("cudaDeviceGetP2PAttribute", "out value: int", "attribute: enum", "source: device", "destination: device"),
    Sync("cudaDeviceSynchronize", ops="device_synchronize"),
    Sync("cudaDeviceReset", ops="device_synchronize", note="waits only: memory and handles stay valid"),
    Local("cudaCtxResetPersistingL2Cache"),
    Local("cudaGetLastError", returns="error"),
    Local("cudaPeekAtLastError", returns="error"),
    Local("cudaGetErrorName", "error: enum", returns="text"),
    Local("cudaGetErrorString", "error: enum", returns="text"),
    Local("cudaDriverGetVersion", "out version: int"),
    Local("cudaRuntimeGetVersion", "out version: int"),
    Local("cudaProfilerStart"),
    Local("cudaProfilerStop"),
)

_MEMORY: tuple[Function, ...] = (
    Sync("cudaMalloc", "out address: address", "bytes: size", ops="allocate"),
    Sync("cudaMallocAsync", "out address: address", "bytes: size", "stream: stream", ops="allocate"),
    Sync("cudaMallocPitch", "out address: address", "out pitch: size", "width: size", "height: size", ops="allocate"),
    Op("cudaFree", "address: address", ops="free"),
    Op("cudaFreeAsync", "address: address", "stream: stream", ops="free"),
    Local("cudaMallocHost", "out pointer: host", "bytes: size"),
    Local("cudaHostAlloc", "out pointer: host", "bytes: size", "flags: uint"),
    Custom("cudaFreeHost", "pointer: host", ops="device_synchronize", note="waits while copies to pinned memory are on their way"),
    Local("cudaHostRegister", "pointer: host", "bytes: size", "flags: uint"),
    Custom("cudaHostUnregister", "pointer: host", ops="device_synchronize"),
    Local("cudaHostGetDevicePointer", "out device_pointer: address", "pointer: host", "flags: uint"),
    Local("cudaHostGetFlags", "out flags: uint", "pointer: host"),
    Sync("cudaMemGetInfo", "out free: size", "out total: size", ops="memory_info"),
    Custom("cudaMemcpy", "out dst: memory[count]", "in src: memory[count]", "count: size", "kind: enum",
           ops="copy_h2d copy_d2h copy_d2d"),
    Custom("cudaMemcpyAsync", "out dst: memory[count]", "in src: memory[count]", "count: size", "kind: enum",
           "stream: stream", ops="copy_h2d copy_d2h copy_d2d"),
    Custom("cudaMemcpyPeer", "out dst: memory[count]", "dst_device: device", "in src: memory[count]",
           "src_device: device", "count: size", ops="copy_d2h copy_h2d", note="staged through the process; waits"),
    Custom("cudaMemcpyPeerAsync", "out dst: memory[count]", "dst_device: device", "in src: memory[count]",
           "src_device: device", "count: size", "stream: stream", ops="copy_d2h copy_h2d",
           note="between two GPUs: staged through the process; waits"),
    Custom("cudaMemcpy2D", "out dst: memory[dst_pitch * height]", "dst_pitch: size", "in src: memory[src_pitch * height]",
           "src_pitch: size", "width: size", "height: size", "kind: enum", ops="copy_2d copy_h2d copy_d2h"),
    Custom("cudaMemcpy2DAsync", "out dst: memory[dst_pitch * height]", "dst_pitch: size",
           "in src: memory[src_pitch * height]", "src_pitch: size", "width: size", "height: size", "kind: enum",
           "stream: stream", ops="copy_2d copy_h2d copy_d2h"),
    Op("cudaMemset", "address: address", "value: int", "count: size", ops="fill"),
    Op("cudaMemsetAsync", "address: address", "value: int", "count: size", "stream: stream", ops="fill"),
    Op("cudaMemset2D", "address: address", "pitch: size", "value: int", "width: size", "height: size", ops="fill"),
    Op("cudaMemset2DAsync", "address: address", "pitch: size", "value: int", "width: size", "height: size",
       "stream: stream", ops="fill"),
    Local("cudaPointerGetAttributes", "out attributes: pointer_attributes", "pointer: address"),
    Local("cudaDeviceGetDefaultMemPool", "out pool: pool", "device: device"),
    Local("cudaDeviceGetMemPool", "out pool: pool", "device: device"),
    Local("cudaDeviceSetMemPool", "device: device", "pool: pool"),
    Local("cudaMemPoolTrimTo", "pool: pool", "keep: size"),
    Local("cudaMemPoolGetAttribute", "pool: pool", "attribute: enum", "out value: u64"),
    Local("cudaMemPoolSetAttribute", "pool: pool", "attribute: enum", "in value: u64"),
    Local("cudaMemPoolSetAccess", "pool: pool", "in access: opaque", "count: size"),
)

_STREAM: tuple[Function, ...] = (
    Op("cudaStreamCreate", "out stream: stream", ops="stream_create"),
    Op("cudaStreamCreateWithFlags", "out stream: stream", "flags: uint", ops="stream_create"),
    Op("cudaStreamCreateWithPriority", "out stream: stream", "flags: uint", "priority: int", ops="stream_create"),
    Op("cudaStreamDestroy", "stream: stream", ops="stream_destroy"),
    Local("cudaStreamGetPriority", "stream: stream", "out priority: int"),
    Local("cudaStreamGetFlags", "stream: stream", "out flags: uint"),
    Local("cudaStreamGetId", "stream: stream", "out id: u64"),
    Local("cudaStreamGetDevice", "stream: stream", "out device: device"),
    Local("cudaStreamCopyAttributes", "dst: stream", "src: stream", note="accepted, no effect"),
    Local("cudaStreamSetAttribute", "stream: stream", "attribute: enum", "in value: opaque", note="accepted, no effect"),
    Op("cudaStreamWaitEvent", "stream: stream", "event: event", "flags: uint", ops="event_wait event_synchronize",
       note="across GPUs the calling thread waits"),
    Local("cudaStreamQuery", "stream: stream"),
    Sync("cudaStreamSynchronize", "stream: stream", ops="stream_synchronize"),
    Sync("cudaStreamAddCallback", "stream: stream", "callback: callback", "data: host", "flags: uint",
         ops="stream_synchronize", note="the callback runs in the calling thread, once the stream is done"),
    Sync("cudaLaunchHostFunc", "stream: stream", "function: callback", "data: host", ops="stream_synchronize",
         note="the function runs in the calling thread, once the stream is done"),
    Local("cudaThreadExchangeStreamCaptureMode", "inout mode: enum"),
    Local("cudaStreamIsCapturing", "stream: stream", "out status: enum"),
    Local("cudaStreamGetCaptureInfo", "stream: stream", "out status: enum", "out id: u64", "out graph: handle",
          "out dependencies: handle", "out edges: handle", "out count: size"),
)

_EVENT: tuple[Function, ...] = (
    Op("cudaEventCreate", "out event: event", ops="event_create"),
    Op("cudaEventCreateWithFlags", "out event: event", "flags: uint", ops="event_create"),
    Op("cudaEventDestroy", "event: event", ops="event_destroy"),
    Op("cudaEventRecord", "event: event", "stream: stream", ops="event_record"),
    Op("cudaEventRecordWithFlags", "event: event", "stream: stream", "flags: uint", ops="event_record"),
    Local("cudaEventQuery", "event: event"),
    Sync("cudaEventSynchronize", "event: event", ops="event_synchronize"),
    Sync("cudaEventElapsedTime", "out milliseconds: float", "start: event", "end: event", ops="event_elapsed"),
)

_MODULE: tuple[Function, ...] = (
    Local("__cudaRegisterFatBinary", "inout image: opaque", returns="fatbin"),
    Local("__cudaRegisterFatBinaryEnd", "inout fatbin: host", returns="none"),
    Local("__cudaUnregisterFatBinary", "inout fatbin: host", returns="none"),
    Local("__cudaRegisterFunction", "inout fatbin: host", "in host_function: u8", "device_function: text",
          "name: string", "thread_limit: int", "inout thread_id: opaque", "inout block_id: opaque",
          "inout block_dim: dim3", "inout grid_dim: dim3", "inout warp_size: int", returns="none"),
    Local("__cudaRegisterVar", "inout fatbin: host", "host_variable: text", "device_address: text", "name: string",
          "external: int", "bytes: size", "constant: int", "global: int", returns="none"),
    Local("__cudaRegisterManagedVar", "inout fatbin: host", "inout host_variable: host", "device_address: text",
          "name: string", "external: int", "bytes: size", "constant: int", "global: int", returns="none"),
    Local("__cudaInitModule", "inout fatbin: host", returns="uint"),
    Local("__cudaPushCallConfiguration", "grid: dim3", "block: dim3", "shared: size", "stream: stream", returns="uint"),
    Local("__cudaPopCallConfiguration", "out grid: dim3", "out block: dim3", "out shared: size", "out stream: stream"),
    Local("__cudaGetKernel", "out kernel: kernel", "in host_function: opaque"),
    Local("cudaGetKernel", "out kernel: kernel", "in host_function: opaque", like="__cudaGetKernel"),
    Local("cudaGetFuncBySymbol", "out function: kernel", "in host_function: opaque", like="__cudaGetKernel"),
    Custom("__cudaLaunchKernel", "kernel: kernel", "grid: dim3", "block: dim3", "inout arguments: host", "shared: size",
           "stream: stream", note="refused on the software device, naming the kernel"),
    Custom("cudaLaunchKernel", "function: kernel", "grid: dim3", "block: dim3", "inout arguments: host", "shared: size",
           "stream: stream", like="__cudaLaunchKernel", note="refused on the software device, naming the kernel"),
    Custom("cudaLaunchCooperativeKernel", "function: kernel", "grid: dim3", "block: dim3", "inout arguments: host",
           "shared: size", "stream: stream", like="__cudaLaunchKernel",
           note="refused on the software device, naming the kernel"),
    Custom("cudaLaunchKernelExC", "in config: launch_config", "function: kernel", "inout arguments: host",
           note="refused on the software device, naming the kernel"),
    Local("cudaFuncGetAttributes", "out attributes: func_attributes", "in function: opaque",
          note="limits of the device; the kernel's own figures are not known"),
    Local("cudaFuncSetAttribute", "in function: opaque", "attribute: enum", "value: int", note="accepted, no effect"),
    Local("cudaFuncSetCacheConfig", "in function: opaque", "config: enum", note="accepted, no effect"),
    Local("cudaFuncGetName", "out name: string", "in function: opaque"),
    Local("cudaOccupancyMaxActiveBlocksPerMultiprocessor", "out blocks: int", "in function: opaque", "block: int",
          "shared: size", note="from the device's limits"),
    Local("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "out blocks: int", "in function: opaque",
          "block: int", "shared: size", "flags: uint", note="from the device's limits"),
    Local("cudaGetDriverEntryPoint", "symbol: string", "out function: function", "flags: u64", "out found: enum"),
    Local("cudaGetDriverEntryPointByVersion", "symbol: string", "out function: function", "version: uint", "flags: u64",
          "out found: enum"),
)

_REFUSED = (
    *unsupported("CUDA graphs are not recorded yet: run without them (torch.compile: mode without cudagraphs)", """
    cudaDeviceGetGraphMemAttribute cudaDeviceGraphMemTrim cudaDeviceSetGraphMemAttribute cudaGraphAddChildGraphNode
    cudaGraphAddDependencies cudaGraphAddEmptyNode cudaGraphAddEventRecordNode cudaGraphAddEventWaitNode
    cudaGraphAddExternalSemaphoresSignalNode cudaGraphAddExternalSemaphoresWaitNode cudaGraphAddHostNode
    cudaGraphAddKernelNode cudaGraphAddMemAllocNode cudaGraphAddMemFreeNode cudaGraphAddMemcpyNode
    cudaGraphAddMemcpyNode1D cudaGraphAddMemcpyNodeFromSymbol cudaGraphAddMemcpyNodeToSymbol cudaGraphAddMemsetNode
    cudaGraphAddNode cudaGraphChildGraphNodeGetGraph cudaGraphClone cudaGraphConditionalHandleCreate cudaGraphCreate
    cudaGraphDebugDotPrint cudaGraphDestroy cudaGraphDestroyNode cudaGraphEventRecordNodeGetEvent
    cudaGraphEventRecordNodeSetEvent cudaGraphEventWaitNodeGetEvent cudaGraphEventWaitNodeSetEvent
    cudaGraphExecChildGraphNodeSetParams cudaGraphExecDestroy cudaGraphExecEventRecordNodeSetEvent
    cudaGraphExecEventWaitNodeSetEvent cudaGraphExecExternalSemaphoresSignalNodeSetParams
    cudaGraphExecExternalSemaphoresWaitNodeSetParams cudaGraphExecGetFlags cudaGraphExecHostNodeSetParams
    cudaGraphExecKernelNodeSetParams cudaGraphExecMemcpyNodeSetParams cudaGraphExecMemcpyNodeSetParams1D
    cudaGraphExecMemcpyNodeSetParamsFromSymbol cudaGraphExecMemcpyNodeSetParamsToSymbol
    cudaGraphExecMemsetNodeSetParams cudaGraphExecNodeSetParams cudaGraphExecUpdate
    cudaGraphExternalSemaphoresSignalNodeGetParams cudaGraphExternalSemaphoresSignalNodeSetParams
    cudaGraphExternalSemaphoresWaitNodeGetParams cudaGraphExternalSemaphoresWaitNodeSetParams cudaGraphGetEdges
    cudaGraphGetNodes cudaGraphGetRootNodes cudaGraphHostNodeGetParams cudaGraphHostNodeSetParams
    cudaGraphInstantiate cudaGraphInstantiateWithFlags cudaGraphInstantiateWithParams
    cudaGraphKernelNodeCopyAttributes cudaGraphKernelNodeGetAttribute cudaGraphKernelNodeGetParams
    cudaGraphKernelNodeSetAttribute cudaGraphKernelNodeSetParams cudaGraphLaunch cudaGraphMemAllocNodeGetParams
    cudaGraphMemFreeNodeGetParams cudaGraphMemcpyNodeGetParams cudaGraphMemcpyNodeSetParams
    cudaGraphMemcpyNodeSetParams1D cudaGraphMemcpyNodeSetParamsFromSymbol cudaGraphMemcpyNodeSetParamsToSymbol
    cudaGraphMemsetNodeGetParams cudaGraphMemsetNodeSetParams cudaGraphNodeFindInClone cudaGraphNodeGetDependencies
    cudaGraphNodeGetDependentNodes cudaGraphNodeGetEnabled cudaGraphNodeGetType cudaGraphNodeSetEnabled
    cudaGraphNodeSetParams cudaGraphReleaseUserObject cudaGraphRemoveDependencies cudaGraphRetainUserObject
    cudaGraphUpload cudaStreamBeginCapture cudaStreamBeginCaptureToGraph cudaStreamEndCapture
    cudaStreamUpdateCaptureDependencies cudaUserObjectCreate cudaUserObjectRelease cudaUserObjectRetain"""),
    *unsupported("device memory cannot be shared between processes: use another sharing strategy (CPU tensors)", """
    cudaIpcCloseMemHandle cudaIpcGetEventHandle cudaIpcGetMemHandle cudaIpcOpenEventHandle cudaIpcOpenMemHandle
    cudaDestroyExternalMemory cudaDestroyExternalSemaphore cudaExternalMemoryGetMappedBuffer
    cudaExternalMemoryGetMappedMipmappedArray cudaImportExternalMemory cudaImportExternalSemaphore
    cudaSignalExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync cudaDeviceGetNvSciSyncAttributes
    cudaGraphicsMapResources cudaGraphicsResourceGetMappedMipmappedArray cudaGraphicsResourceGetMappedPointer
    cudaGraphicsResourceSetMapFlags cudaGraphicsSubResourceGetMappedArray cudaGraphicsUnmapResources
    cudaGraphicsUnregisterResource"""),
    *unsupported("managed memory is not supported: use cudaMalloc or pinned memory", """
    cudaMallocManaged cudaMemAdvise cudaMemPrefetchAsync cudaMemPrefetchBatchAsync cudaMemDiscardBatchAsync
    cudaMemDiscardAndPrefetchBatchAsync cudaMemRangeGetAttribute cudaMemRangeGetAttributes cudaStreamAttachMemAsync"""),
    *unsupported("memory pools of your own are not supported: use the default pool", """
    cudaMallocFromPoolAsync cudaMemGetDefaultMemPool cudaMemGetMemPool cudaMemPoolCreate cudaMemPoolDestroy
    cudaMemPoolExportPointer cudaMemPoolExportToShareableHandle cudaMemPoolGetAccess
    cudaMemPoolImportFromShareableHandle cudaMemPoolImportPointer cudaMemSetMemPool"""),
    *unsupported("arrays, textures and surfaces are not supported: use linear memory", """
    cudaArrayGetInfo cudaArrayGetMemoryRequirements cudaArrayGetPlane cudaArrayGetSparseProperties
    cudaCreateSurfaceObject cudaCreateTextureObject cudaDestroySurfaceObject cudaDestroyTextureObject cudaFreeArray
    cudaFreeMipmappedArray cudaGetChannelDesc cudaGetMipmappedArrayLevel cudaGetSurfaceObjectResourceDesc
    cudaGetTextureObjectResourceDesc cudaGetTextureObjectResourceViewDesc cudaGetTextureObjectTextureDesc
    cudaMalloc3DArray cudaMallocArray cudaMallocMipmappedArray cudaMemcpy2DArrayToArray cudaMemcpy2DFromArray
    cudaMemcpy2DFromArrayAsync cudaMemcpy2DToArray cudaMemcpy2DToArrayAsync cudaMemcpyArrayToArray
    cudaMemcpyFromArray cudaMemcpyFromArrayAsync cudaMemcpyToArray cudaMemcpyToArrayAsync
    cudaMipmappedArrayGetMemoryRequirements cudaMipmappedArrayGetSparseProperties
    cudaDeviceGetTexture1DLinearMaxWidth"""),
    *unsupported("3D and batched copies are not supported: copy rows with cudaMemcpy2DAsync", """
    cudaMalloc3D cudaMemcpy3D cudaMemcpy3DAsync cudaMemcpy3DBatchAsync cudaMemcpy3DPeer cudaMemcpy3DPeerAsync
    cudaMemcpyBatchAsync cudaMemset3D cudaMemset3DAsync"""),
    *unsupported("device variables live in kernels, which the software device does not run", """
    cudaGetSymbolAddress cudaGetSymbolSize cudaMemcpyFromSymbol cudaMemcpyFromSymbolAsync cudaMemcpyToSymbol
    cudaMemcpyToSymbolAsync"""),
    *unsupported("kernels are not run on the software device; PyTorch operators are redirected by jitc's client_shim", """
    cudaFuncGetParamInfo cudaKernelSetAttributeForDevice cudaLibraryEnumerateKernels cudaLibraryGetGlobal
    cudaLibraryGetKernel cudaLibraryGetKernelCount cudaLibraryGetManaged cudaLibraryGetUnifiedFunction
    cudaLibraryLoadData cudaLibraryLoadFromFile cudaLibraryUnload cudaOccupancyAvailableDynamicSMemPerBlock
    cudaOccupancyMaxActiveClusters cudaOccupancyMaxPotentialClusterSize"""),
    *unsupported("not served through the proxy", """
    cudaDeviceFlushGPUDirectRDMAWrites cudaDeviceGetHostAtomicCapabilities cudaDeviceGetP2PAtomicCapabilities
    cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification cudaGetExportTable cudaLogsCurrent
    cudaLogsDumpToFile cudaLogsDumpToMemory cudaLogsRegisterCallback cudaLogsUnregisterCallback
    cudaStreamGetAttribute"""),
)

API = Api("CUDA runtime", "cudart", "libcudart.so.13", "cuda_runtime_api.h", 801,
          (*_DEVICE, *_MEMORY, *_STREAM, *_EVENT, *_MODULE, *_REFUSED))
