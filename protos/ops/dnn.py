"""Device ops of cuDNN: unchanged calls, with the descriptors that they need.

Part of ``table.py``; the same promise. The software device refuses all of them by name.

A descriptor is sent as the calls that created it (``calls.py``), in each op that uses it; the worker caches descriptors
by content. So the journal's resources have none of them, and a captured call is self-contained. Only execution plans
are large and used repeatedly: the node keeps their descriptions, like module images, and ``dnn_plan_load`` names one.
"""

from __future__ import annotations

from jitc.ops.calls import CALL_FIELDS, CALL_PAYLOAD
from jitc.ops.op import DNN, Op

_STATUS = "i32 status (cudnnStatus_t), u32 0, then"
_EXECUTE = (
    ("plan", "u64", "as given to dnn_plan_load"),
    ("workspace", "u64", "device address"),
    ("count", "u64", "tensors"),
)

DNN_OPS: tuple[Op, ...] = (
    Op(
        DNN,
        1,
        "dnn_ask",
        "Ask cuDNN for something, or whether descriptors can be made.",
        CALL_FIELDS,
        payload=CALL_PAYLOAD,
        waits=True,
        result=f"{_STATUS} what the result slots of the call ask for, or the library's words on a failure",
        compared=False,
    ),
    Op(DNN, 2, "dnn_call", "Call a cuDNN function on the header's stream.", CALL_FIELDS, payload=CALL_PAYLOAD),
    Op(
        DNN,
        3,
        "dnn_try",
        "The same, for a call that cuDNN may refuse.",
        CALL_FIELDS,
        payload=CALL_PAYLOAD,
        waits=True,
        result=f"{_STATUS} the library's words on a failure",
    ),
    Op(
        DNN,
        4,
        "dnn_plan_load",
        "Name an execution plan whose description the node has.",
        (
            ("plan", "u64", "virtual plan"),
            ("hash", "bytes16", "XXH3 128 bit of the description, canonical form"),
            ("bytes", "u64", "of it: u64 objects, ObjectHead[objects]; the last one is the plan"),
        ),
        resource=True,
    ),
    Op(DNN, 5, "dnn_plan_drop", "Give up a plan.", (("plan", "u64", ""),), resource=True),
    Op(DNN, 6, "dnn_execute", "Execute a plan on the header's stream.", _EXECUTE, payload="DnnTensor[count]"),
    Op(
        DNN,
        7,
        "dnn_execute_try",
        "The same, for a plan that cuDNN may refuse.",
        _EXECUTE,
        payload="DnnTensor[count]",
        waits=True,
        result=f"{_STATUS} the library's words on a failure",
    ),
)

DNN_RECORDS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "DnnTensor": (
        ("uid", "i64", "unique identifier of the tensor"),
        ("value", "bytes16", "device address, or the value of a tensor by value"),
        ("kind", "u32", "SlotKind: address or scalar"),
        ("bytes", "u32", "used of value"),
    ),
    "DnnPart": (
        ("offset", "u64", "of a matrix or bias in the weight space"),
        ("found", "u32", "0: there is none"),
        ("type", "i32", "cudnnDataType_t"),
        ("dimensions", "i32", "at most 8"),
        ("reserved", "u32", ""),
        ("shape", "bytes64", "i32 sizes[8], i32 strides[8]"),
    ),
}
