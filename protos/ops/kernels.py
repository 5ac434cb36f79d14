"""Device ops made for a device with kernels: modules, launches, graphs, unchanged cuBLAS calls, cuDNN.

Part of ``table.py``; the same promise. The software device has graphs, of its own ops, and refuses all others by name.
"""

from __future__ import annotations

from jitc.ops.calls import CALL_ENUMS, CALL_PAYLOAD, CALL_RECORDS
from jitc.ops.dnn import DNN_OPS, DNN_RECORDS
from jitc.ops.modules import MODULES
from jitc.ops.op import BLAS, GRAPH, LAUNCH, Op

_LAUNCHES: tuple[Op, ...] = (
    Op(
        LAUNCH,
        3,
        "kernel_launch",
        "Launch a kernel on the header's stream.",
        (
            ("function", "u64", "virtual function"),
            ("grid_x", "u32", ""),
            ("grid_y", "u32", ""),
            ("grid_z", "u32", ""),
            ("block_x", "u32", ""),
            ("block_y", "u32", ""),
            ("block_z", "u32", ""),
            ("shared", "u32", "dynamic shared memory in bytes"),
            ("attributes", "u32", "launch attributes that follow"),
            ("parameters", "u64", "bytes of the parameter buffer that follows them"),
        ),
        payload="LaunchAttribute[attributes], parameter buffer",
    ),
)

_GRAPHS: tuple[Op, ...] = (
    Op(GRAPH, 1, "capture_begin", "Begin to capture the header's stream.", (("mode", "u32", "CUstreamCaptureMode"),)),
    Op(
        GRAPH,
        2,
        "capture_end",
        "End it; the ops since capture_begin are the graph.",
        (("graph", "u64", "virtual graph"),),
        waits=True,
        result="u64 nodes",
        resource=True,
    ),
    Op(GRAPH, 3, "graph_destroy", "Destroy a graph.", (("graph", "u64", ""),), resource=True),
    Op(
        GRAPH,
        4,
        "graph_instantiate",
        "Make a graph executable.",
        (("graph", "u64", ""), ("executable", "u64", "virtual executable graph"), ("flags", "u64", "")),
        waits=True,
        resource=True,
    ),
    Op(GRAPH, 5, "graph_launch", "Launch it on the header's stream.", (("executable", "u64", ""),)),
    Op(GRAPH, 6, "executable_destroy", "Destroy an executable graph.", (("executable", "u64", ""),), resource=True),
)

_LIBRARY_CALL = (
    ("handle", "u64", "virtual cuBLAS handle; 0: of cuBLASLt"),
    ("objects", "u32", "of cuBLASLt that come before the call"),
    ("described", "u32", "bytes of the objects"),
    ("bytes", "u64", "of the objects and the call"),
)

_BLAS: tuple[Op, ...] = (
    Op(BLAS, 2, "blas_create", "Create a cuBLAS handle.", (("handle", "u64", "virtual handle"),), resource=True),
    Op(BLAS, 3, "blas_destroy", "Destroy a cuBLAS handle.", (("handle", "u64", ""),), resource=True),
    Op(
        BLAS,
        4,
        "blas_set",
        "Change the state of a cuBLAS handle.",
        (
            ("handle", "u64", ""),
            ("field", "u32", "BlasField"),
            ("mode", "i32", "of a mode field"),
            ("address", "u64", "of the workspace"),
            ("bytes", "u64", "of it; 0 without an address: the library's own; all ones: none at all"),
        ),
        resource=True,
    ),
    Op(
        BLAS,
        5,
        "blas_call",
        "A cuBLAS call as clients sent it before there was library_call; read as ever.",
        (
            ("handle", "u64", "virtual handle"),
            ("function", "u32", "FNV-1a, 32 bit, of its name"),
            ("slots", "u32", "arguments that follow: all but the handle and statuses on the host"),
        ),
        payload="BlasSlot[slots]",
    ),
    Op(
        BLAS,
        6,
        "lt_heuristic",
        "A cuBLASLt heuristic as clients asked for it before there was library_ask; read as ever.",
        (("bytes", "u64", "of the description"), ("requested", "u32", "algorithms wanted")),
        payload="description: LtObject and LtAttribute[attributes] of descriptor, A, B, C, D, preference",
        waits=True,
        result="i32 status, u32 count, cublasLtMatmulHeuristicResult_t[count]",
        compared=False,
    ),
    Op(
        BLAS,
        7,
        "lt_matmul",
        "cublasLtMatmul as clients sent it before there was library_call; read as ever.",
        (
            ("a", "u64", "device address"),
            ("b", "u64", ""),
            ("c", "u64", ""),
            ("d", "u64", ""),
            ("workspace", "u64", "device address"),
            ("workspace_bytes", "u64", ""),
            ("bytes", "u64", "of the description"),
            ("algorithm", "u32", "1: the algorithm is given; 0: it is left to the library"),
        ),
        payload="alpha and beta (BlasSlot each), cublasLtMatmulAlgo_t (64 bytes), description without preference",
    ),
    Op(
        BLAS,
        8,
        "library_call",
        "Call a function of cuBLAS or cuBLASLt on the header's stream. Scalars as values or as addresses: the pointer"
        " mode.",
        _LIBRARY_CALL,
        payload=CALL_PAYLOAD,
    ),
    Op(
        BLAS,
        9,
        "library_ask",
        "Ask cuBLASLt for something.",
        _LIBRARY_CALL,
        payload=CALL_PAYLOAD,
        waits=True,
        result="i32 status (cublasStatus_t), u32 0, then what the result slots of the call ask for",
        compared=False,
    ),
)

KERNEL_OPS: tuple[Op, ...] = (*MODULES, *_LAUNCHES, *_GRAPHS, *_BLAS, *DNN_OPS)

#: Records inside the payloads and results above.
KERNEL_RECORDS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "FunctionInfo": (
        ("max_threads", "i32", "CUfunction_attribute 0"),
        ("static_shared", "i32", "1"),
        ("constant", "i32", "2"),
        ("local", "i32", "3"),
        ("registers", "i32", "4"),
        ("ptx_version", "i32", "5"),
        ("binary_version", "i32", "6"),
        ("cache_mode", "i32", "7"),
        ("max_dynamic_shared", "i32", "8"),
        ("carveout", "i32", "9"),
        ("cluster_size_set", "i32", "10"),
        ("cluster_width", "i32", "11"),
        ("cluster_height", "i32", "12"),
        ("cluster_depth", "i32", "13"),
        ("cluster_size_free", "i32", "14"),
        ("cluster_policy", "i32", "15"),
        ("parameters", "u64", "parameters that follow"),
    ),
    "FunctionParameter": (("offset", "u32", "in the parameter buffer"), ("bytes", "u32", "")),
    "LaunchAttribute": (
        ("id", "u32", "CUlaunchAttributeID"),
        ("reserved", "u32", ""),
        ("value", "bytes64", "CUlaunchAttributeValue"),
    ),
    "BlasSlot": (
        ("value", "bytes16", "number (i64), address, or the scalar itself, from its first byte"),
        ("kind", "u32", "BlasSlotKind"),
        ("bytes", "u32", "used of value"),
    ),
    "LtObject": (
        ("kind", "u32", "LtKind"),
        ("attributes", "u32", "that follow, by number"),
        ("create", "bytes64", "arguments of its ...Create function, as i64 each"),
    ),
    "LtAttribute": (("attribute", "u32", ""), ("bytes", "u32", "used of value"), ("value", "bytes64", "")),
    **CALL_RECORDS,
    **DNN_RECORDS,
}

KERNEL_ENUMS: dict[str, tuple[str, ...]] = {
    "OccupancyKind": ("active_blocks", "available_shared", "potential_cluster", "active_clusters"),
    "BlasField": ("math_mode", "pointer_mode", "atomics_mode", "workspace"),
    "BlasSlotKind": ("number", "address", "scalar"),
    "LtKind": ("descriptor", "layout", "preference"),
    **CALL_ENUMS,
}
