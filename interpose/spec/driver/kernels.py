"""Modules, libraries, kernels, launches and occupancy of the CUDA driver API. Part of ``functions.py``."""

from __future__ import annotations

from jitc.interpose.spec.api import Custom, Function, Local, Op, Sync, unsupported
from jitc.interpose.spec.cudart.kernels import LOAD, NO_KERNELS

_IMAGE = "image_query image_part module_load"
_JIT = "options of the compiler are ignored"
_LAUNCH = (
    "grid_x: uint",
    "grid_y: uint",
    "grid_z: uint",
    "block_x: uint",
    "block_y: uint",
    "block_z: uint",
    "shared: uint",
    "stream: stream",
    "inout arguments: host",
)

_MODULES: tuple[Function, ...] = (
    Local("cuModuleGetLoadingMode", "out mode: enum"),
    Sync("cuModuleLoad", "out module: module", "path: string", ops=_IMAGE, kernels=NO_KERNELS),
    Sync("cuModuleLoadData", "out module: module", "in image: opaque", ops=_IMAGE, kernels=NO_KERNELS),
    Sync(
        "cuModuleLoadDataEx",
        "out module: module",
        "in image: opaque",
        "count: uint",
        "inout options: enum",
        "inout values: host",
        ops=_IMAGE,
        note=_JIT,
        kernels=NO_KERNELS,
    ),
    Sync(
        "cuModuleLoadFatBinary",
        "out module: module",
        "in image: opaque",
        ops=_IMAGE,
        like="cuModuleLoadData",
        kernels=NO_KERNELS,
    ),
    Op("cuModuleUnload", "module: module", ops="module_unload", kernels=NO_KERNELS),
    Sync(
        "cuModuleGetFunction",
        "out kernel: kernel",
        "module: module",
        "name: string",
        ops="function_get",
        kernels=NO_KERNELS,
    ),
    Sync(
        "cuModuleGetGlobal_v2",
        "out address: address",
        "out bytes: size",
        "module: module",
        "name: string",
        ops="variable_get variable_alias",
        kernels=NO_KERNELS,
    ),
)

_OPTIONS = (
    "inout jit_options: enum",
    "inout jit_values: host",
    "jit_count: uint",
    "inout options: enum",
    "inout values: host",
    "count: uint",
)
_LIBRARIES: tuple[Function, ...] = (
    Local(
        "cuLibraryLoadData",
        "out library: library",
        "in image: opaque",
        *_OPTIONS,
        note=_JIT,
        kernels=NO_KERNELS,
    ),
    Local(
        "cuLibraryLoadFromFile",
        "out library: library",
        "path: string",
        *_OPTIONS,
        note=_JIT,
        kernels=NO_KERNELS,
    ),
    Custom("cuLibraryUnload", "library: library", ops="module_unload", kernels=NO_KERNELS),
    Custom(
        "cuLibraryGetKernel",
        "out kernel: kernel",
        "library: library",
        "name: string",
        ops=LOAD,
        kernels=NO_KERNELS,
    ),
    Custom(
        "cuLibraryGetModule",
        "out module: module",
        "library: library",
        ops=_IMAGE,
        kernels=NO_KERNELS,
    ),
    Custom(
        "cuLibraryGetGlobal",
        "out address: address",
        "out bytes: size",
        "library: library",
        "name: string",
        ops=f"variable_get variable_alias {_IMAGE}",
        kernels=NO_KERNELS,
    ),
)

_FUNCTIONS: tuple[Function, ...] = (
    Custom("cuKernelGetFunction", "out function: kernel", "kernel: kernel", ops=LOAD, kernels=NO_KERNELS),
    Custom(
        "cuKernelGetAttribute",
        "out value: int",
        "attribute: enum",
        "kernel: kernel",
        "device: device",
        ops=LOAD,
        kernels=NO_KERNELS,
    ),
    Custom(
        "cuKernelSetAttribute",
        "attribute: enum",
        "value: int",
        "kernel: kernel",
        "device: device",
        ops=f"function_set {LOAD}",
        kernels=NO_KERNELS,
    ),
    Local("cuKernelGetName", "out name: string", "kernel: kernel", like="cuFuncGetName", kernels=NO_KERNELS),
    Custom(
        "cuKernelGetParamInfo",
        "kernel: kernel",
        "index: size",
        "out offset: size",
        "out bytes: size",
        ops=LOAD,
        like="cuFuncGetParamInfo",
        kernels=NO_KERNELS,
    ),
    Local(
        "cuKernelSetCacheConfig",
        "kernel: kernel",
        "config: enum",
        "device: device",
        note="accepted, no effect",
        kernels=NO_KERNELS,
    ),
    Custom(
        "cuFuncGetAttribute",
        "out value: int",
        "attribute: enum",
        "kernel: kernel",
        ops=LOAD,
        kernels=NO_KERNELS,
    ),
    Custom(
        "cuFuncSetAttribute",
        "kernel: kernel",
        "attribute: enum",
        "value: int",
        ops=f"function_set {LOAD}",
        kernels=NO_KERNELS,
    ),
    Local("cuFuncSetCacheConfig", "kernel: kernel", "config: enum", note="accepted, no effect", kernels=NO_KERNELS),
    Local("cuFuncGetName", "out name: string", "kernel: kernel", kernels=NO_KERNELS),
    Custom(
        "cuFuncGetParamInfo",
        "kernel: kernel",
        "index: size",
        "out offset: size",
        "out bytes: size",
        ops=LOAD,
        kernels=NO_KERNELS,
    ),
)

_LAUNCHES: tuple[Function, ...] = (
    Custom(
        "cuLaunchKernel",
        "kernel: kernel",
        *_LAUNCH,
        "inout extra: host",
        ops=f"kernel_launch {LOAD}",
        kernels=NO_KERNELS,
    ),
    Custom(
        "cuLaunchCooperativeKernel",
        "kernel: kernel",
        *_LAUNCH,
        ops=f"kernel_launch function_query {LOAD}",
        kernels=NO_KERNELS,
    ),
    Custom(
        "cuLaunchKernelEx",
        "in config: launch_config",
        "kernel: kernel",
        "inout arguments: host",
        "inout extra: host",
        ops=f"kernel_launch function_query {LOAD}",
        kernels=NO_KERNELS,
    ),
)

_BLOCKS = ("out blocks: int", "kernel: kernel", "block: int", "shared: size")
_OCCUPANCY: tuple[Function, ...] = (
    Custom("cuOccupancyMaxActiveBlocksPerMultiprocessor", *_BLOCKS, ops=f"function_query {LOAD}", kernels=NO_KERNELS),
    Custom(
        "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        *_BLOCKS,
        "flags: uint",
        ops=f"function_query {LOAD}",
        kernels=NO_KERNELS,
    ),
    Custom(
        "cuOccupancyAvailableDynamicSMemPerBlock",
        "out shared: size",
        "kernel: kernel",
        "blocks: int",
        "block: int",
        ops=f"function_query {LOAD}",
        kernels=NO_KERNELS,
    ),
    *(
        Custom(
            name,
            "out answer: int",
            "kernel: kernel",
            "in config: launch_config",
            ops=f"function_query {LOAD}",
            kernels=NO_KERNELS,
        )
        for name in ("cuOccupancyMaxActiveClusters", "cuOccupancyMaxPotentialClusterSize")
    ),
)

_TENSOR = (
    "out map: opaque", "type: enum", "rank: uint", "address: address", "in dims: u64", "in strides: u64"
)  # fmt: skip
_FORM = ("interleave: enum", "swizzle: enum", "promotion: enum", "fill: enum")
_TENSOR_MAPS: tuple[Function, ...] = (
    Custom(
        "cuTensorMapEncodeTiled",
        *_TENSOR,
        "in box: uint",
        "in steps: uint",
        *_FORM,
        ops="tensor_map",
        note="asked of the device once for equal arguments",
        kernels=NO_KERNELS,
    ),
    Custom(
        "cuTensorMapEncodeIm2col",
        *_TENSOR,
        "in lower: int",
        "in upper: int",
        "channels: uint",
        "pixels: uint",
        "in steps: uint",
        *_FORM,
        ops="tensor_map",
        note="asked of the device once for equal arguments",
        kernels=NO_KERNELS,
    ),
)

_REFUSED: tuple[Function, ...] = (
    *unsupported(
        "linking is not served through the proxy: link with nvcc or nvJitLink and load the result",
        "cuLinkAddData_v2 cuLinkAddFile_v2 cuLinkComplete cuLinkCreate_v2 cuLinkDestroy",
    ),
    *unsupported(
        "not served through the proxy",
        "cuFuncGetModule cuOccupancyMaxPotentialBlockSize",
    ),
)

KERNELS: tuple[Function, ...] = (
    *_MODULES,
    *_LIBRARIES,
    *_FUNCTIONS,
    *_LAUNCHES,
    *_OCCUPANCY,
    *_TENSOR_MAPS,
    *_REFUSED,
)
