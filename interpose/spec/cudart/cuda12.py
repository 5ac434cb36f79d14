"""Functions that only the runtime API of CUDA 12 has, not that of CUDA 13, and variants for per-thread default streams.

Part of ``functions.py``. Wheels of CUDA 12 link ``libcudart.so.12``; jitc's unversioned symbols serve them as well. A
name that both versions have is the same function; a function whose structure or arguments changed has a name of its own
(``_v2``, ``_v3``).
"""

from __future__ import annotations

from jitc.interpose.spec.api import Function, Local, unsupported

#: name -> the function that has this other name
_SAME = {
    "cudaEventElapsedTime_v2": "cudaEventElapsedTime",
    "cudaStreamGetCaptureInfo_v3": "cudaStreamGetCaptureInfo",
    "cudaThreadExit": "cudaDeviceReset",
    "cudaThreadGetCacheConfig": "cudaDeviceGetCacheConfig",
    "cudaThreadGetLimit": "cudaDeviceGetLimit",
    "cudaThreadSetCacheConfig": "cudaDeviceSetCacheConfig",
    "cudaThreadSetLimit": "cudaDeviceSetLimit",
    "cudaThreadSynchronize": "cudaDeviceSynchronize",
    "cudaGraphAddDependencies_v2": "cudaGraphAddDependencies",
    "cudaGraphAddNode_v2": "cudaGraphAddNode",
    "cudaGraphGetEdges_v2": "cudaGraphGetEdges",
    "cudaGraphNodeGetDependencies_v2": "cudaGraphNodeGetDependencies",
    "cudaGraphNodeGetDependentNodes_v2": "cudaGraphNodeGetDependentNodes",
    "cudaGraphRemoveDependencies_v2": "cudaGraphRemoveDependencies",
    "cudaMemAdvise_v2": "cudaMemAdvise",
    "cudaMemPrefetchAsync_v2": "cudaMemPrefetchAsync",
    "cudaSignalExternalSemaphoresAsync_v2": "cudaSignalExternalSemaphoresAsync",
    "cudaStreamUpdateCaptureDependencies_v2": "cudaStreamUpdateCaptureDependencies",
    "cudaWaitExternalSemaphoresAsync_v2": "cudaWaitExternalSemaphoresAsync",
}

_OWN: tuple[Function, ...] = (
    Local("cudaGetDeviceProperties_v2", "out prop: device_prop", "device: device", note="CUDA 12's structure"),
    Local(
        "cudaStreamGetCaptureInfo_v2",
        "stream: stream",
        "out status: enum",
        "out id: u64",
        "out graph: graph",
        "out dependencies: handle",
        "out count: size",
    ),
    Local("cudaDeviceGetSharedMemConfig", "out config: enum", like="cudaDeviceGetCacheConfig"),
    Local("cudaDeviceSetSharedMemConfig", "config: enum", like="cudaDeviceSetCacheConfig", note="accepted, no effect"),
    Local(
        "cudaFuncSetSharedMemConfig",
        "in function: opaque",
        "config: enum",
        like="cudaFuncSetCacheConfig",
        note="accepted, no effect",
    ),
    Local("cudaCreateChannelDesc", "x: int", "y: int", "z: int", "w: int", "kind: enum", returns="channel"),
    *unsupported(
        "not served through the proxy",
        """
    __cudaGetProcAddress __cudaRegisterHostVar __cudaRegisterUnifiedTable cudaLaunchCooperativeKernelMultiDevice
    cudaSetDoubleForDevice cudaSetDoubleForHost""",
    ),
    *unsupported(
        "device memory cannot be shared with graphics: copy through the process",
        """
    cudaEGLStreamConsumerAcquireFrame cudaEGLStreamConsumerConnect cudaEGLStreamConsumerConnectWithFlags
    cudaEGLStreamConsumerDisconnect cudaEGLStreamConsumerReleaseFrame cudaEGLStreamProducerConnect
    cudaEGLStreamProducerDisconnect cudaEGLStreamProducerPresentFrame cudaEGLStreamProducerReturnFrame
    cudaEventCreateFromEGLSync cudaGLGetDevices cudaGLMapBufferObject cudaGLMapBufferObjectAsync
    cudaGLRegisterBufferObject cudaGLSetBufferObjectMapFlags cudaGLSetGLDevice cudaGLUnmapBufferObject
    cudaGLUnmapBufferObjectAsync cudaGLUnregisterBufferObject cudaGraphicsEGLRegisterImage
    cudaGraphicsGLRegisterBuffer cudaGraphicsGLRegisterImage cudaGraphicsResourceGetMappedEglFrame
    cudaGraphicsVDPAURegisterOutputSurface cudaGraphicsVDPAURegisterVideoSurface cudaVDPAUGetDevice
    cudaVDPAUSetVDPAUDevice""",
    ),
)

#: Names that the headers of CUDA 13 do not declare.
CUDA12 = frozenset({*_SAME, *(function.name for function in _OWN)})

#: Version of CUDA 12 (as CUDART_VERSION) -> names that its headers declare and older ones do not.
ADDED = {
    12050: frozenset({"cudaGetDriverEntryPointByVersion"}),
    12080: frozenset(
        [
            "cudaEventElapsedTime_v2",
            "cudaKernelSetAttributeForDevice",
            "cudaLibraryGetGlobal",
            "cudaLibraryGetKernel",
            "cudaLibraryLoadData",
            "cudaLibraryLoadFromFile",
            "cudaLibraryUnload",
            "cudaStreamGetDevice",
        ]
    ),
}

PER_THREAD_SUFFIXES = ("_ptsz", "_ptds")
#: Names for which stream 0 means the thread's own default stream, which the common one serves: more order, never less.
_PER_THREAD = """
    __cudaLaunchKernel_ptsz cudaEventRecordWithFlags_ptsz cudaEventRecord_ptsz cudaFreeAsync_ptsz
    cudaGetDriverEntryPointByVersion_ptsz cudaGetDriverEntryPoint_ptsz cudaGraphInstantiateWithParams_ptsz
    cudaGraphLaunch_ptsz cudaGraphUpload_ptsz cudaLaunchCooperativeKernel_ptsz cudaLaunchHostFunc_ptsz
    cudaLaunchKernelExC_ptsz cudaLaunchKernel_ptsz cudaMallocAsync_ptsz cudaMallocFromPoolAsync_ptsz
    cudaMemDiscardAndPrefetchBatchAsync_ptsz cudaMemDiscardBatchAsync_ptsz cudaMemPrefetchAsync_ptsz
    cudaMemPrefetchAsync_v2_ptsz cudaMemPrefetchBatchAsync_ptsz cudaMemcpy2DArrayToArray_ptds
    cudaMemcpy2DAsync_ptsz cudaMemcpy2DFromArrayAsync_ptsz cudaMemcpy2DFromArray_ptds
    cudaMemcpy2DToArrayAsync_ptsz cudaMemcpy2DToArray_ptds cudaMemcpy2D_ptds cudaMemcpy3DAsync_ptsz
    cudaMemcpy3DBatchAsync_ptsz cudaMemcpy3DPeerAsync_ptsz cudaMemcpy3DPeer_ptds cudaMemcpy3D_ptds
    cudaMemcpyArrayToArray_ptds cudaMemcpyAsync_ptsz cudaMemcpyBatchAsync_ptsz cudaMemcpyFromArrayAsync_ptsz
    cudaMemcpyFromArray_ptds cudaMemcpyFromSymbolAsync_ptsz cudaMemcpyFromSymbol_ptds cudaMemcpyToArrayAsync_ptsz
    cudaMemcpyToArray_ptds cudaMemcpyToSymbolAsync_ptsz cudaMemcpyToSymbol_ptds cudaMemcpy_ptds
    cudaMemset2DAsync_ptsz cudaMemset2D_ptds cudaMemset3DAsync_ptsz cudaMemset3D_ptds cudaMemsetAsync_ptsz
    cudaMemset_ptds cudaSignalExternalSemaphoresAsync_ptsz cudaSignalExternalSemaphoresAsync_v2_ptsz
    cudaStreamAddCallback_ptsz cudaStreamAttachMemAsync_ptsz cudaStreamBeginCaptureToGraph_ptsz
    cudaStreamBeginCapture_ptsz cudaStreamCopyAttributes_ptsz cudaStreamEndCapture_ptsz cudaStreamGetAttribute_ptsz
    cudaStreamGetCaptureInfo_ptsz cudaStreamGetCaptureInfo_v2_ptsz cudaStreamGetCaptureInfo_v3_ptsz
    cudaStreamGetDevice_ptsz cudaStreamGetFlags_ptsz cudaStreamGetId_ptsz cudaStreamGetPriority_ptsz
    cudaStreamIsCapturing_ptsz cudaStreamQuery_ptsz cudaStreamSetAttribute_ptsz cudaStreamSynchronize_ptsz
    cudaStreamUpdateCaptureDependencies_ptsz cudaStreamUpdateCaptureDependencies_v2_ptsz cudaStreamWaitEvent_ptsz
    cudaWaitExternalSemaphoresAsync_ptsz cudaWaitExternalSemaphoresAsync_v2_ptsz
"""


def cuda12(functions: tuple[Function, ...]) -> tuple[Function, ...]:
    """Returns the functions of CUDA 12 beside these of CUDA 13."""
    by_name = {function.name: function for function in functions}
    return (*(by_name[of].alias(name) for name, of in _SAME.items()), *_OWN)


def per_thread(functions: tuple[Function, ...]) -> tuple[Function, ...]:
    """Returns the variants of these for programs that are compiled for per-thread default streams."""
    by_name = {function.name: function for function in functions}
    return tuple(by_name[name.rpartition("_")[0]].alias(name) for name in _PER_THREAD.split())
