"""A plan of cuDNN's as a program describes it: x times a number that comes with each execution.

``description`` is what the node keeps of it, in the form of ``protos/ops/calls.py``; ``execute`` has a worker run it on
the fake cuDNN. Used by the tests of what becomes of a description that has changed where it is kept.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from executor_rig import BASE, Client, Completion, hash_of

from jitc.interpose.generator.call_visitor import identifier
from jitc.ops.calls import CALL_ENUMS

PLAN = 71
#: Where x lies, and where the result goes.
X, Y = BASE, BASE + 1024
_X, _BY, _Y = 1, 2, 3
_SLOT, _TENSOR = struct.Struct("<QII"), struct.Struct("<q16sII")
_KINDS = {name: number for number, name in enumerate(CALL_ENUMS["SlotKind"])}
#: cudnnBackendAttributeType_t, and what each element of it is.
_HANDLE, _TYPE, _FLAG, _INTEGER, _HEURISTICS, _POINTWISE, _PART = 0, 1, 2, 3, 8, 14, 15
_FORMS = {_TYPE: "i", _FLAG: "?", _INTEGER: "q", _HEURISTICS: "i", _POINTWISE: "i"}
Attribute = tuple[int, int, Sequence[int]]


def _slot(kind: str, value: int = 0, size: int = 8, content: bytes = b"") -> bytes:
    return _SLOT.pack(value, _KINDS[kind], size) + content + bytes(-len(content) % 8)


def _call(function: str, *slots: bytes) -> bytes:
    return struct.pack("<II", identifier(function), len(slots)) + b"".join(slots)


def _numbers(*values: int) -> list[bytes]:
    return [_slot("number", value) for value in values]


def _set(name: int, kind: int, values: Sequence[int]) -> bytes:
    if kind == _HANDLE:
        last = _slot("handle")
    elif kind == _PART:
        last = _slot("objects", 0, 8 * len(values), struct.pack(f"<{len(values)}Q", *values))
    else:
        content = struct.pack(f"<{len(values)}{_FORMS[kind]}", *values)
        last = _slot("array", 0, len(content), content)
    return _call("cudnnBackendSetAttribute", *_numbers(name, kind, max(len(values), 1)), last)


def _part(kind: int, *attributes: Attribute) -> bytes:
    """A descriptor of the graph API, finalized."""
    calls = [_call("cudnnBackendCreateDescriptor", *_numbers(kind)), *(_set(*one) for one in attributes)]
    calls.append(_call("cudnnBackendFinalize"))
    return struct.pack("<II", CALL_ENUMS["ObjectKind"].index("backend"), len(calls)) + b"".join(calls)


def _tensor(uid: int, count: int) -> bytes:
    shape = (902, _INTEGER, (1, count, 1, 1)), (903, _INTEGER, (count, 1, 1, 1))
    by_value = ((908, _FLAG, (1,)),) if uid == _BY else ()
    return _part(17, (901, _TYPE, (0,)), *shape, (906, _INTEGER, (uid,)), (900, _INTEGER, (16,)), *by_value)


def description(count: int) -> bytes:
    """Of y = x * b, x and y being so many floats, with the last configuration that the fake's heuristics give."""
    answer = _call("cudnnBackendGetAttribute", _slot("object", 6), *_numbers(202, _PART, 4, 3, 3))
    parts = [
        _tensor(_X, count),
        _tensor(_BY, 1),
        _tensor(_Y, count),
        _part(0, (0, _POINTWISE, (1,)), (1, _TYPE, (0,))),
        _part(13, (750, _PART, (3,)), (751, _PART, (0,)), (752, _PART, (1,)), (753, _PART, (2,))),
        _part(15, (801, _PART, (4,)), (800, _HANDLE, ())),
        _part(4, (201, _PART, (5,)), (200, _HEURISTICS, (0,))),
        struct.pack("<II", CALL_ENUMS["ObjectKind"].index("backend"), 1) + answer,
        _part(5, (401, _PART, (7,))),
    ]
    return struct.pack("<Q", len(parts)) + b"".join(parts)


def load(client: Client, content: bytes) -> None:
    client.op("image_part", hash_of(content), len(content), 0, len(content), payload=content)
    client.op("dnn_plan_load", PLAN, hash_of(content), len(content))


def execute(client: Client, by: float, stream: int) -> Completion:
    """As at a plan's first execution: the library's status is the answer."""
    payload = b"".join(
        _TENSOR.pack(uid, value.ljust(16, b"\0"), _KINDS[kind], len(value))
        for uid, kind, value in (
            (_X, "address", struct.pack("<Q", X)),
            (_BY, "scalar", struct.pack("<f", by)),
            (_Y, "address", struct.pack("<Q", Y)),
        )
    )
    return client.call("dnn_execute_try", PLAN, 0, 3, payload=payload, stream=stream)
