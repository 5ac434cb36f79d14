"""The device ops: the narrow waist between API layer, journal and back ends.

Every API function is lowered to these ops, every back end executes these ops, and the journal is a sequence of them.
This table is the only description of their packed form; the C++ structs (``generated_ops.h``) and the Python names
(``generated_names.py``) are generated from it by ``python -m jitc.interpose.generator``.

Called by: the generator, the spec of API functions, tests. Promise: an op id is family + number and is never reused or
altered; a changed layout is a new op with a new number.
"""

from __future__ import annotations

from jitc.ops.control import CONTROL_OPS
from jitc.ops.kernels import KERNEL_ENUMS, KERNEL_OPS, KERNEL_RECORDS
from jitc.ops.memory import MEMORY_OPS
from jitc.ops.op import BLAS, COLLECTIVE, LAUNCH, STREAM, TYPES, Op
from jitc.ops.order import ORDER_OPS

__all__ = ["BY_NAME", "ENUMS", "FORMAT_VERSION", "OPS", "RECORDS", "TYPES", "Op"]

FORMAT_VERSION = 1

#: Records that repeat inside a payload, packed like ops but without a header.
RECORDS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "LiveBlock": (
        ("address", "u64", "device address"),
        ("bytes", "u64", "size in bytes"),
        ("ordinal", "u64", "allocation order in the program: equal on equal ranks; bit 61: a whole allocation"),
    ),
    "CollectiveItem": (
        ("comm", "u64", "virtual communicator"),
        ("kind", "u32", "CollectiveKind"),
        ("dtype", "u32", "ncclDataType_t value"),
        ("reduction", "u32", "Reduction"),
        ("peer", "i32", "root of broadcast and reduce, peer of send and receive; else -1"),
        ("count", "u64", "elements, as the NCCL call of that kind counts them"),
        ("send", "u64", "device address read, or 0"),
        ("receive", "u64", "device address written, or 0"),
        ("scale", "f64", "factor of a pre-multiplied sum"),
        ("scale_address", "u64", "device address of that factor (of dtype), or 0: use scale"),
    ),
    **KERNEL_RECORDS,
}

ENUMS: dict[str, tuple[str, ...]] = {
    # value = position
    "CollectiveKind": (
        "all_reduce",
        "broadcast",
        "reduce",
        "all_gather",
        "reduce_scatter",
        "all_to_all",
        "send",
        "receive",
    ),
    "Reduction": ("sum", "prod", "max", "min", "avg", "premul_sum"),  # first five = ncclRedOp_t
    "Phase": ("forward", "backward", "optimizer"),
    **KERNEL_ENUMS,
}

_OPS: tuple[Op, ...] = (
    Op(
        STREAM,
        1,
        "stream_create",
        "Create a stream.",
        (("handle", "u64", "virtual stream"), ("flags", "u32", "cudaStreamCreateWithFlags"), ("priority", "i32", "")),
        resource=True,
    ),
    Op(STREAM, 2, "stream_destroy", "Destroy a stream once its work is done.", (("handle", "u64", ""),), resource=True),
    Op(STREAM, 3, "stream_synchronize", "Completes when the header's stream has done all before.", (), waits=True),
    Op(STREAM, 4, "device_synchronize", "Completes when every stream has done all before.", (), waits=True),
    Op(
        STREAM,
        5,
        "event_create",
        "Create an event.",
        (("handle", "u64", "virtual event"), ("flags", "u64", "")),
        resource=True,
    ),
    Op(STREAM, 6, "event_destroy", "Destroy an event.", (("handle", "u64", ""),), resource=True),
    Op(STREAM, 7, "event_record", "Record an event on the header's stream.", (("event", "u64", ""),)),
    Op(STREAM, 8, "event_wait", "The header's stream waits for the event's latest record.", (("event", "u64", ""),)),
    Op(
        STREAM,
        9,
        "event_synchronize",
        "Completes when the event's latest record is done.",
        (("event", "u64", ""),),
        waits=True,
    ),
    Op(
        STREAM,
        10,
        "event_elapsed",
        "Milliseconds between two recorded events.",
        (("start", "u64", ""), ("end", "u64", "")),
        waits=True,
        result="f32 milliseconds",
        compared=False,
    ),
    Op(
        LAUNCH,
        1,
        "operator_call",
        "Run an ATen operator into given outputs (software device).",
        (),
        payload="operator call",
    ),
    Op(
        LAUNCH,
        2,
        "operator_query",
        "Output metadata, or values, of an ATen operator; changes nothing.",
        (),
        payload="operator call",
        waits=True,
        result="operator reply",
    ),
    Op(
        COLLECTIVE,
        1,
        "communicator_create",
        "Join a communicator.",
        (
            ("handle", "u64", "virtual communicator"),
            ("ranks", "i32", ""),
            ("rank", "i32", ""),
            ("unique_id", "bytes128", "ncclUniqueId"),
        ),
        waits=True,
        resource=True,
    ),
    Op(
        COLLECTIVE,
        2,
        "communicator_split",
        "Split a communicator.",
        (
            ("parent", "u64", ""),
            ("handle", "u64", "new communicator"),
            ("color", "i32", "negative: no part"),
            ("key", "i32", ""),
        ),
        waits=True,
        result="i32 ranks, i32 rank",
        resource=True,
    ),
    Op(COLLECTIVE, 3, "communicator_destroy", "Leave a communicator.", (("handle", "u64", ""),), resource=True),
    Op(
        COLLECTIVE,
        4,
        "collective",
        "A group of collectives on the header's stream, done together.",
        (("count", "u64", "items"),),
        payload="CollectiveItem[count]",
    ),
    Op(
        COLLECTIVE,
        5,
        "communicator_abort",
        "Leave a communicator at once: its collectives that wait for other ranks end, whatever they have done.",
        (("handle", "u64", ""),),
        waits=True,
        result="how far they have come, in the device's own form",
        resource=True,
    ),
    Op(
        BLAS,
        1,
        "matmul",
        "D = alpha * op(A) @ op(B) + beta * C (+ bias), column major, batched (cublasGemm*, cublasLtMatmul).",
        (
            ("m", "i64", ""),
            ("n", "i64", ""),
            ("k", "i64", ""),
            ("batch", "i64", "1 or more"),
            ("a", "u64", ""),
            ("lda", "i64", ""),
            ("stride_a", "i64", "elements"),
            ("b", "u64", ""),
            ("ldb", "i64", ""),
            ("stride_b", "i64", ""),
            ("c", "u64", ""),
            ("ldc", "i64", ""),
            ("stride_c", "i64", ""),
            ("d", "u64", ""),
            ("ldd", "i64", ""),
            ("stride_d", "i64", ""),
            ("alpha", "f64", ""),
            ("beta", "f64", ""),
            ("alpha_address", "u64", "device scalar of the scale type, or 0"),
            ("beta_address", "u64", ""),
            ("bias", "u64", "m elements added to every column, or 0"),
            ("auxiliary", "u64", "epilogue's extra buffer, or 0"),
            ("auxiliary_ld", "i64", ""),
            ("epilogue", "u32", "cublasLtEpilogue_t"),
            ("transpose_a", "u32", "cublasOperation_t"),
            ("transpose_b", "u32", ""),
            ("type_a", "u32", "cudaDataType_t"),
            ("type_b", "u32", ""),
            ("type_c", "u32", ""),
            ("type_d", "u32", ""),
            ("type_bias", "u32", ""),
            ("compute", "u32", "cublasComputeType_t"),
            ("scale_type", "u32", "cudaDataType_t"),
        ),
    ),
)


#: By id, so that the generated tables are sorted.
OPS: tuple[Op, ...] = tuple(sorted((*_OPS, *MEMORY_OPS, *CONTROL_OPS, *KERNEL_OPS, *ORDER_OPS), key=lambda op: op.id))
BY_NAME: dict[str, Op] = {op.name: op for op in OPS}
