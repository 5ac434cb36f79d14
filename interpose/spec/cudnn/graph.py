"""cuDNN's graph API: its functions, the bytes of an attribute's element, and its statuses. See ``functions.py``.

Descriptors of this API hold typed attributes, which are sent unchanged: a new attribute or kind of descriptor of a
later cuDNN needs nothing here, a new type of element needs its size. Called by ``functions.py`` and ``dnn_visitor.py``.
"""

from __future__ import annotations

from jitc.interpose.spec.api import Custom, Function, Local
from jitc.interpose.spec.cudnn.shapes import ADVICE

#: cudnnBackendAttributeType_t -> name in the header, bytes of an element. All others are enumerations of 4 bytes.
ATTRIBUTE_TYPES: dict[int, tuple[str, int]] = {
    0: ("HANDLE", 8),
    2: ("BOOLEAN", 1),
    3: ("INT64", 8),
    4: ("FLOAT", 4),
    5: ("DOUBLE", 8),
    6: ("VOID_PTR", 8),
    15: ("BACKEND_DESCRIPTOR", 8),
    23: ("INT32", 4),
    24: ("CHAR", 1),
    26: ("FRACTION", 16),
}
#: The last known type; later ones are refused.
LAST_TYPE = ("MOE_GROUPED_MATMUL_MODE", 30)

#: Attributes that the client or the worker looks at: name in the header -> number.
ATTRIBUTES: dict[str, int] = {
    "TENSOR_DATA_TYPE": 901,
    "TENSOR_DIMENSIONS": 902,
    "TENSOR_UNIQUE_ID": 906,
    "TENSOR_IS_BY_VALUE": 908,
    "VARIANT_PACK_UNIQUE_IDS": 1000,
    "VARIANT_PACK_DATA_POINTERS": 1001,
    "VARIANT_PACK_WORKSPACE": 1003,
}
#: Kinds of descriptors that the client or the worker looks at: name in the header -> number.
DESCRIPTORS: dict[str, int] = {"EXECUTION_PLAN": 5, "VARIANT_PACK": 16, "TENSOR": 17}

#: cudnnStatus_t -> name
STATUSES: dict[int, str] = {
    0: "SUCCESS",
    1001: "NOT_INITIALIZED",
    1002: "SUBLIBRARY_VERSION_MISMATCH",
    1003: "SERIALIZATION_VERSION_MISMATCH",
    1004: "DEPRECATED",
    1005: "LICENSE_ERROR",
    1006: "RUNTIME_IN_PROGRESS",
    1007: "RUNTIME_FP_OVERFLOW",
    1008: "SUBLIBRARY_LOADING_FAILED",
    2000: "BAD_PARAM",
    2001: "INVALID_VALUE",
    2002: "BAD_PARAM_NULL_POINTER",
    2003: "BAD_PARAM_MISALIGNED_POINTER",
    2004: "BAD_PARAM_NOT_FINALIZED",
    2005: "BAD_PARAM_OUT_OF_BOUND",
    2006: "BAD_PARAM_SIZE_INSUFFICIENT",
    2007: "BAD_PARAM_STREAM_MISMATCH",
    2008: "BAD_PARAM_SHAPE_MISMATCH",
    2009: "BAD_PARAM_DUPLICATED_ENTRIES",
    2010: "BAD_PARAM_ATTRIBUTE_TYPE",
    2011: "BAD_PARAM_CUDA_GRAPH_MISMATCH",
    2012: "BAD_PARAM_DESCRIPTOR_TYPE",
    3000: "NOT_SUPPORTED",
    3001: "NOT_SUPPORTED_GRAPH_PATTERN",
    3002: "NOT_SUPPORTED_SHAPE",
    3003: "NOT_SUPPORTED_DATA_TYPE",
    3004: "NOT_SUPPORTED_LAYOUT",
    3005: "NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER",
    3006: "NOT_SUPPORTED_INCOMPATIBLE_CUDART",
    3007: "NOT_SUPPORTED_ARCH_MISMATCH",
    3008: "NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING",
    3009: "NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE",
    3010: "NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
    3011: "NOT_SUPPORTED_PADDING",
    3012: "NOT_SUPPORTED_BAD_LAUNCH_PARAM",
    3013: "NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API",
    3014: "NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE",
    4000: "INTERNAL_ERROR",
    4001: "INTERNAL_ERROR_COMPILATION_FAILED",
    4002: "INTERNAL_ERROR_UNEXPECTED_VALUE",
    4003: "INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
    4004: "INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
    4005: "INTERNAL_ERROR_BAD_LAUNCH_PARAM",
    4006: "INTERNAL_ERROR_TEXTURE_CREATION_FAILED",
    5000: "EXECUTION_FAILED",
    5001: "EXECUTION_FAILED_CUDA_DRIVER",
    5002: "EXECUTION_FAILED_CUBLAS",
    5003: "EXECUTION_FAILED_CUDART",
    5004: "EXECUTION_FAILED_CURAND",
}

_ATTRIBUTE = ("attribute: enum", "type: enum")

GRAPH: tuple[Function, ...] = (
    Local("cudnnBackendCreateDescriptor", "kind: enum", "out made: descriptor[backend]", kernels=ADVICE),
    Local("cudnnBackendDestroyDescriptor", "gone: descriptor[backend]", kernels=ADVICE),
    Local(
        "cudnnBackendSetAttribute",
        "changed: descriptor[backend]",
        *_ATTRIBUTE,
        "count: i64",
        "in elements: opaque",
        kernels=ADVICE,
        note="what is wrong with an attribute is told when the descriptor is finalized",
    ),
    Custom(
        "cudnnBackendGetAttribute",
        "asked: descriptor[backend]",
        *_ATTRIBUTE,
        "requested: i64",
        "out count: i64",
        "out elements: opaque",
        ops="dnn_ask",
        kernels=ADVICE,
        note="answers are kept; descriptors that it fills are made again by asking again",
    ),
    Custom("cudnnBackendFinalize", "changed: descriptor[backend]", ops="dnn_ask", kernels=ADVICE),
    Custom(
        "cudnnBackendExecute",
        "handle: dnn",
        "plan: descriptor[backend]",
        "pack: descriptor[backend]",
        ops="dnn_plan_load dnn_plan_drop dnn_execute dnn_execute_try",
        kernels=ADVICE,
        note="waits for the library's status the first time that a plan is executed",
    ),
)
