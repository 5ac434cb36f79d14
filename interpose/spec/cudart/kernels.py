"""Kernels, device variables, occupancy and libraries of the CUDA runtime API. Part of ``functions.py``.

The first use of a kernel on a device loads its module there: ``LOAD`` lists the ops of that.
"""

from __future__ import annotations

from jitc.interpose.spec.api import Custom, Function, Local

LOAD = "image_query image_part module_load function_get"
NO_KERNELS = (
    "the software device runs no GPU kernels; PyTorch's operators are redirected by jitc's client_shim. Use a GPU "
    "(jitc-proxyd --device cuda), or do without them (docs/guarantees.md)"
)
NO_VARIABLES = "device variables live in kernels, which the software device does not run"
_BY_NAME = "refused on the software device, naming the kernel"
_ACCEPTED = "accepted on the software device, no effect"
_LIMITS = "software device: from the device's limits"

_REGISTER: tuple[Function, ...] = (
    Local("__cudaRegisterFatBinary", "inout image: opaque", returns="fatbin"),
    Local("__cudaRegisterFatBinaryEnd", "inout fatbin: host", returns="none"),
    Custom(
        "__cudaUnregisterFatBinary",
        "inout fatbin: host",
        ops="module_unload",
        returns="none",
    ),
    Local(
        "__cudaRegisterFunction",
        "inout fatbin: host",
        "in host_function: u8",
        "device_function: text",
        "name: string",
        "thread_limit: int",
        "inout thread_id: opaque",
        "inout block_id: opaque",
        "inout block_dim: dim3",
        "inout grid_dim: dim3",
        "inout warp_size: int",
        returns="none",
    ),
    Local(
        "__cudaRegisterVar",
        "inout fatbin: host",
        "host_variable: text",
        "device_address: text",
        "name: string",
        "external: int",
        "bytes: size",
        "constant: int",
        "global: int",
        returns="none",
    ),
    Local(
        "__cudaRegisterManagedVar",
        "inout fatbin: host",
        "inout host_variable: host",
        "device_address: text",
        "name: string",
        "external: int",
        "bytes: size",
        "constant: int",
        "global: int",
        returns="none",
        note="managed variables are not served: using one is an error",
    ),
    Local("__cudaInitModule", "inout fatbin: host", returns="uint"),
)

_LAUNCH: tuple[Function, ...] = (
    Local("__cudaPushCallConfiguration", "grid: dim3", "block: dim3", "shared: size", "stream: stream", returns="uint"),
    Local("__cudaPopCallConfiguration", "out grid: dim3", "out block: dim3", "out shared: size", "out stream: stream"),
    Local("__cudaGetKernel", "out kernel: kernel", "in host_function: opaque"),
    Local("cudaGetKernel", "out kernel: kernel", "in host_function: opaque", like="__cudaGetKernel"),
    Local("cudaGetFuncBySymbol", "out function: kernel", "in host_function: opaque", like="__cudaGetKernel"),
    *(
        Custom(
            name,
            "kernel: kernel",
            "grid: dim3",
            "block: dim3",
            "inout arguments: host",
            "shared: size",
            "stream: stream",
            ops=f"kernel_launch {asks}{LOAD}",
            like=like,
            note=_BY_NAME,
        )
        for name, like, asks in (
            ("__cudaLaunchKernel", "", ""),
            ("cudaLaunchKernel", "__cudaLaunchKernel", ""),
            ("cudaLaunchCooperativeKernel", "", "function_query "),
        )
    ),
    Custom(
        "cudaLaunchKernelExC",
        "in config: launch_config",
        "function: kernel",
        "inout arguments: host",
        ops=f"kernel_launch function_query {LOAD}",
        note=_BY_NAME,
    ),
)

_FUNCTION: tuple[Function, ...] = (
    Custom(
        "cudaFuncGetAttributes",
        "out attributes: func_attributes",
        "in function: opaque",
        ops=LOAD,
        note="software device: limits of the device",
    ),
    Custom(
        "cudaFuncSetAttribute",
        "in function: opaque",
        "attribute: enum",
        "value: int",
        ops=f"function_set {LOAD}",
        note=_ACCEPTED,
    ),
    Local("cudaFuncSetCacheConfig", "in function: opaque", "config: enum", note="accepted, no effect"),
    Local("cudaFuncGetName", "out name: string", "in function: opaque"),
    Custom(
        "cudaFuncGetParamInfo",
        "in function: opaque",
        "index: size",
        "out offset: size",
        "out bytes: size",
        ops=LOAD,
        kernels=NO_KERNELS,
    ),
    Custom(
        "cudaKernelSetAttributeForDevice",
        "kernel: kernel",
        "attribute: enum",
        "value: int",
        "device: device",
        ops=f"function_set {LOAD}",
        kernels=NO_KERNELS,
    ),
)

_OCCUPANCY: tuple[Function, ...] = (
    Custom(
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
        "out blocks: int",
        "in function: opaque",
        "block: int",
        "shared: size",
        ops=f"function_query {LOAD}",
        note=_LIMITS,
    ),
    Custom(
        "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        "out blocks: int",
        "in function: opaque",
        "block: int",
        "shared: size",
        "flags: uint",
        ops=f"function_query {LOAD}",
        note=_LIMITS,
    ),
    Custom(
        "cudaOccupancyAvailableDynamicSMemPerBlock",
        "out shared: size",
        "in function: opaque",
        "blocks: int",
        "block: int",
        ops=f"function_query {LOAD}",
        kernels=NO_KERNELS,
    ),
    *(
        Custom(
            name,
            "out answer: int",
            "in function: opaque",
            "in config: launch_config",
            ops=f"function_query {LOAD}",
            kernels=NO_KERNELS,
        )
        for name in ("cudaOccupancyMaxPotentialClusterSize", "cudaOccupancyMaxActiveClusters")
    ),
)

_VARIABLES: tuple[Function, ...] = (
    Custom(
        "cudaGetSymbolAddress",
        "out address: address",
        "in symbol: opaque",
        ops="variable_get module_load",
        kernels=NO_VARIABLES,
    ),
    Custom(
        "cudaGetSymbolSize",
        "out bytes: size",
        "in symbol: opaque",
        ops="variable_alias module_load",
        kernels=NO_VARIABLES,
    ),
    *(
        Custom(
            "cudaMemcpyToSymbol" + suffix,
            "in symbol: opaque",
            "in src: memory[count]",
            "count: size",
            "offset: size",
            "kind: enum",
            *stream,
            ops="copy_h2d copy_d2d variable_alias module_load",
            kernels=NO_VARIABLES,
        )
        for suffix, stream in (("", ()), ("Async", ("stream: stream",)))
    ),
    *(
        Custom(
            "cudaMemcpyFromSymbol" + suffix,
            "out dst: memory[count]",
            "in symbol: opaque",
            "count: size",
            "offset: size",
            "kind: enum",
            *stream,
            ops="copy_d2h copy_d2d variable_alias module_load",
            kernels=NO_VARIABLES,
        )
        for suffix, stream in (("", ()), ("Async", ("stream: stream",)))
    ),
)

_LIBRARIES: tuple[Function, ...] = (
    Local(
        "cudaLibraryLoadData",
        "out library: library",
        "in image: opaque",
        "inout jit_options: enum",
        "inout jit_values: host",
        "jit_count: uint",
        "inout options: enum",
        "inout values: host",
        "count: uint",
        like="cuLibraryLoadData",
        kernels=NO_KERNELS,
    ),
    Local(
        "cudaLibraryLoadFromFile",
        "out library: library",
        "path: string",
        "inout jit_options: enum",
        "inout jit_values: host",
        "jit_count: uint",
        "inout options: enum",
        "inout values: host",
        "count: uint",
        like="cuLibraryLoadFromFile",
        kernels=NO_KERNELS,
    ),
    Custom("cudaLibraryUnload", "library: library", ops="module_unload", like="cuLibraryUnload", kernels=NO_KERNELS),
    Custom(
        "cudaLibraryGetKernel",
        "out kernel: kernel",
        "library: library",
        "name: string",
        ops=LOAD,
        like="cuLibraryGetKernel",
        kernels=NO_KERNELS,
    ),
    Custom(
        "cudaLibraryGetGlobal",
        "out address: address",
        "out bytes: size",
        "library: library",
        "name: string",
        ops="variable_get module_load",
        like="cuLibraryGetGlobal",
        kernels=NO_KERNELS,
    ),
)

_ENTRY_POINTS: tuple[Function, ...] = (
    Local("cudaGetDriverEntryPoint", "symbol: string", "out function: function", "flags: u64", "out found: enum"),
    Local(
        "cudaGetDriverEntryPointByVersion",
        "symbol: string",
        "out function: function",
        "version: uint",
        "flags: u64",
        "out found: enum",
    ),
)

KERNELS: tuple[Function, ...] = (
    *_REGISTER,
    *_LAUNCH,
    *_FUNCTION,
    *_OCCUPANCY,
    *_VARIABLES,
    *_LIBRARIES,
    *_ENTRY_POINTS,
)
