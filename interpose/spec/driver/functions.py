"""The CUDA driver API (libcuda.so.1), as far as PyTorch, Triton and NVIDIA's libraries use it. See ``api.py``.

The symbol set of libcuda is open-ended: programs ask for single functions by name and accept "not found" as an answer.
So only functions that are served, or must be refused with a reason, are listed.
"""

from __future__ import annotations

from jitc.interpose.spec.api import Api, Custom, Function, Local, Op, Sync, unsupported
from jitc.interpose.spec.driver.graphs import GRAPHS
from jitc.interpose.spec.driver.kernels import KERNELS
from jitc.interpose.spec.driver.mapping import MAPPING

_DEVICE: tuple[Function, ...] = (
    Local("cuInit", "flags: uint"),
    Local("cuDriverGetVersion", "out version: int", like="cudaDriverGetVersion"),
    Local("cuDeviceGet", "out device: device", "ordinal: int"),
    Local("cuDeviceGetCount", "out count: int"),
    Local("cuDeviceGetName", "out name: u8", "length: int", "device: device"),
    Local("cuDeviceGetUuid", "out uuid: uuid", "device: device"),
    Local("cuDeviceGetUuid_v2", "out uuid: uuid", "device: device", like="cuDeviceGetUuid"),
    Local("cuDeviceTotalMem_v2", "out bytes: size", "device: device"),
    Local("cuDeviceGetAttribute", "out value: int", "attribute: enum", "device: device", like="cudaDeviceGetAttribute"),
    Local("cuDeviceComputeCapability", "out major: int", "out minor: int", "device: device"),
    Local("cuDeviceGetPCIBusId", "out text: u8", "length: int", "device: device", like="cudaDeviceGetPCIBusId"),
    Local("cuDeviceGetByPCIBusId", "out device: device", "text: string", like="cudaDeviceGetByPCIBusId"),
    Local("cuDeviceCanAccessPeer", "out answer: int", "device: device", "peer: device", like="cudaDeviceCanAccessPeer"),
    Local(
        "cuDeviceGetP2PAttribute",
        "out value: int",
        "attribute: enum",
        "source: device",
        "destination: device",
        like="cudaDeviceGetP2PAttribute",
    ),
    Local("cuGetErrorString", "error: enum", "out text: string"),
    Local("cuGetErrorName", "error: enum", "out text: string"),
    Local(
        "cuGetProcAddress_v2",
        "symbol: string",
        "out function: function",
        "version: int",
        "flags: u64",
        "out status: enum",
    ),
    Local("cuGetProcAddress", "symbol: string", "out function: function", "version: int", "flags: u64"),
    Local("cuProfilerStart", like="cudaProfilerStart"),
    Local("cuProfilerStop", like="cudaProfilerStop"),
)

_CONTEXT: tuple[Function, ...] = (
    Local("cuDevicePrimaryCtxRetain", "out context: context", "device: device"),
    Local("cuDevicePrimaryCtxRelease_v2", "device: device"),
    Local("cuDevicePrimaryCtxSetFlags_v2", "device: device", "flags: uint"),
    Local("cuDevicePrimaryCtxGetState", "device: device", "out flags: uint", "out active: int"),
    Local("cuCtxGetCurrent", "out context: context"),
    Local("cuCtxSetCurrent", "context: context"),
    Local("cuCtxPushCurrent_v2", "context: context"),
    Local("cuCtxPopCurrent_v2", "out context: context"),
    Local("cuCtxGetDevice", "out device: device"),
    Local("cuCtxGetFlags", "out flags: uint", like="cudaGetDeviceFlags"),
    Local("cuCtxGetApiVersion", "context: context", "out version: uint"),
    Local("cuCtxGetLimit", "out value: size", "limit: enum", like="cudaDeviceGetLimit"),
    Custom("cuCtxSetLimit", "limit: enum", "value: size", ops="limit_set", like="cudaDeviceSetLimit"),
    Local(
        "cuCtxGetStreamPriorityRange", "out least: int", "out greatest: int", like="cudaDeviceGetStreamPriorityRange"
    ),
    Local("cuCtxEnablePeerAccess", "peer: context", "flags: uint"),
    Local("cuCtxDisablePeerAccess", "peer: context"),
    Sync("cuCtxSynchronize", ops="device_synchronize", like="cudaDeviceSynchronize"),
)

_MEMORY: tuple[Function, ...] = (
    Sync("cuMemAlloc_v2", "out address: address", "bytes: size", ops="allocate", like="cudaMalloc"),
    Sync(
        "cuMemAllocAsync",
        "out address: address",
        "bytes: size",
        "stream: stream",
        ops="allocate",
        like="cudaMallocAsync",
    ),
    Sync("cuMemFree_v2", "address: address", ops="device_synchronize free", like="cudaFree"),
    Op("cuMemFreeAsync", "address: address", "stream: stream", ops="free", like="cudaFreeAsync"),
    Custom("cuMemAllocHost_v2", "out pointer: host", "bytes: size", ops="host_register", like="cudaMallocHost"),
    Custom(
        "cuMemHostAlloc", "out pointer: host", "bytes: size", "flags: uint", ops="host_register", like="cudaHostAlloc"
    ),
    Custom("cuMemFreeHost", "pointer: host", ops="stream_synchronize host_unregister", like="cudaFreeHost"),
    Local("cuMemHostRegister_v2", "pointer: host", "bytes: size", "flags: uint", like="cudaHostRegister"),
    Custom("cuMemHostUnregister", "pointer: host", ops="device_synchronize", like="cudaHostUnregister"),
    Local(
        "cuMemHostGetDevicePointer_v2",
        "out device_pointer: address",
        "pointer: host",
        "flags: uint",
        like="cudaHostGetDevicePointer",
    ),
    Local("cuMemHostGetFlags", "out flags: uint", "pointer: host", like="cudaHostGetFlags"),
    Sync("cuMemGetInfo_v2", "out free: size", "out total: size", ops="memory_info", like="cudaMemGetInfo"),
    Local("cuMemGetAddressRange_v2", "out base: address", "out bytes: size", "address: address"),
    Custom(
        "cuMemcpy",
        "dst: address",
        "src: address",
        "count: size",
        ops="copy_h2d copy_d2h copy_d2d copy_h2d_pinned copy_d2h_pinned",
    ),
    Custom(
        "cuMemcpyAsync",
        "dst: address",
        "src: address",
        "count: size",
        "stream: stream",
        ops="copy_h2d copy_d2h copy_d2d copy_h2d_pinned copy_d2h_pinned",
    ),
    Op(
        "cuMemcpyHtoD_v2",
        "dst: address",
        "src: address",
        "count: size",
        ops="copy_h2d copy_h2d_pinned",
        like="cuMemcpy",
    ),
    Op(
        "cuMemcpyHtoDAsync_v2",
        "dst: address",
        "src: address",
        "count: size",
        "stream: stream",
        ops="copy_h2d copy_h2d_pinned",
        like="cuMemcpyAsync",
    ),
    Sync(
        "cuMemcpyDtoH_v2",
        "dst: address",
        "src: address",
        "count: size",
        ops="copy_d2h copy_d2h_pinned",
        like="cuMemcpy",
    ),
    Custom(
        "cuMemcpyDtoHAsync_v2",
        "dst: address",
        "src: address",
        "count: size",
        "stream: stream",
        ops="copy_d2h copy_d2h_pinned",
        like="cuMemcpyAsync",
    ),
    Op("cuMemcpyDtoD_v2", "dst: address", "src: address", "count: size", ops="copy_d2d", like="cuMemcpy"),
    Op(
        "cuMemcpyDtoDAsync_v2",
        "dst: address",
        "src: address",
        "count: size",
        "stream: stream",
        ops="copy_d2d",
        like="cuMemcpyAsync",
    ),
    Custom(
        "cuMemcpyPeer",
        "dst: address",
        "dst_context: context",
        "src: address",
        "src_context: context",
        "count: size",
        ops="copy_d2h copy_h2d",
    ),
    Custom(
        "cuMemcpyPeerAsync",
        "dst: address",
        "dst_context: context",
        "src: address",
        "src_context: context",
        "count: size",
        "stream: stream",
        ops="copy_d2h copy_h2d",
    ),
    Op("cuMemsetD8_v2", "address: address", "value: u8", "count: size", ops="fill"),
    Op("cuMemsetD16_v2", "address: address", "value: u16", "count: size", ops="fill"),
    Op("cuMemsetD32_v2", "address: address", "value: uint", "count: size", ops="fill"),
    Op("cuMemsetD8Async", "address: address", "value: u8", "count: size", "stream: stream", ops="fill"),
    Op("cuMemsetD16Async", "address: address", "value: u16", "count: size", "stream: stream", ops="fill"),
    Op("cuMemsetD32Async", "address: address", "value: uint", "count: size", "stream: stream", ops="fill"),
    Local("cuPointerGetAttribute", "out data: opaque", "attribute: enum", "address: address"),
    Local("cuPointerGetAttributes", "count: uint", "in attributes: enum", "out data: host", "address: address"),
)

_STREAM: tuple[Function, ...] = (
    Op("cuStreamCreate", "out stream: stream", "flags: uint", ops="stream_create", like="cudaStreamCreateWithFlags"),
    Op(
        "cuStreamCreateWithPriority",
        "out stream: stream",
        "flags: uint",
        "priority: int",
        ops="stream_create",
        like="cudaStreamCreateWithPriority",
    ),
    Op("cuStreamDestroy_v2", "stream: stream", ops="stream_destroy", like="cudaStreamDestroy"),
    Local("cuStreamGetPriority", "stream: stream", "out priority: int", like="cudaStreamGetPriority"),
    Local("cuStreamGetFlags", "stream: stream", "out flags: uint", like="cudaStreamGetFlags"),
    Local("cuStreamGetId", "stream: stream", "out id: u64", like="cudaStreamGetId"),
    Local("cuStreamGetCtx", "stream: stream", "out context: context"),
    Local("cuStreamGetDevice", "stream: stream", "out device: device", like="cudaStreamGetDevice"),
    Op(
        "cuStreamWaitEvent",
        "stream: stream",
        "event: event",
        "flags: uint",
        ops="event_wait event_synchronize",
        like="cudaStreamWaitEvent",
    ),
    Local("cuStreamQuery", "stream: stream", like="cudaStreamQuery"),
    Sync("cuStreamSynchronize", "stream: stream", ops="stream_synchronize", like="cudaStreamSynchronize"),
    Sync(
        "cuLaunchHostFunc",
        "stream: stream",
        "function: callback",
        "data: host",
        ops="stream_synchronize",
        like="cudaLaunchHostFunc",
    ),
    Op("cuEventCreate", "out event: event", "flags: uint", ops="event_create", like="cudaEventCreateWithFlags"),
    Op("cuEventDestroy_v2", "event: event", ops="event_destroy", like="cudaEventDestroy"),
    Op("cuEventRecord", "event: event", "stream: stream", ops="event_record", like="cudaEventRecord"),
    Op(
        "cuEventRecordWithFlags",
        "event: event",
        "stream: stream",
        "flags: uint",
        ops="event_record",
        like="cudaEventRecordWithFlags",
    ),
    Local("cuEventQuery", "event: event", like="cudaEventQuery"),
    Sync("cuEventSynchronize", "event: event", ops="event_synchronize", like="cudaEventSynchronize"),
    Sync(
        "cuEventElapsedTime_v2",
        "out milliseconds: float",
        "start: event",
        "end: event",
        ops="event_elapsed",
        like="cudaEventElapsedTime",
    ),
    Sync(
        "cuEventElapsedTime",
        "out milliseconds: float",
        "start: event",
        "end: event",
        ops="event_elapsed",
        like="cudaEventElapsedTime",
    ),
)

_REFUSED = (
    *unsupported(
        "managed memory is not supported: use cuMemAlloc or pinned memory",
        "cuMemAllocManaged cuMemAdvise cuMemAdvise_v2 cuMemPrefetchAsync cuMemPrefetchAsync_v2",
    ),
    *unsupported(
        "device memory cannot be shared between processes: use another sharing strategy (CPU tensors)",
        """
    cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcGetMemHandle cuIpcOpenEventHandle cuIpcOpenMemHandle_v2""",
    ),
    *unsupported(
        "contexts of your own are not supported: use the primary context",
        """
    cuCtxCreate_v4 cuCtxDestroy_v2 cuCtxFromGreenCtx cuDevicePrimaryCtxReset_v2 cuDevResourceGenerateDesc
    cuDevSmResourceSplitByCount cuDeviceGetDevResource cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxStreamCreate""",
    ),
    *unsupported(
        "link it with -cudart shared",
        "cuGetExportTable",
    ),
    *unsupported(
        "not served through the proxy",
        """
    cuMemcpy2DAsync_v2 cuMemcpy2D_v2 cuMemcpy3DAsync_v2 cuMemcpy3D_v2 cuPointerSetAttribute
    cuStreamBatchMemOp_v2 cuStreamWaitValue32_v2 cuStreamWaitValue64_v2 cuStreamWriteValue32 cuStreamWriteValue32_v2
    cuStreamWriteValue64_v2""",
    ),
)

DRIVER = Api(
    "CUDA driver",
    "driver",
    "libcuda.so.1",
    "cuda.h",
    801,
    (*_DEVICE, *_CONTEXT, *_MEMORY, *MAPPING, *_STREAM, *KERNELS, *GRAPHS, *_REFUSED),
)
