"""What ops carry of libraries' calls, decoded by their records in ``protos/ops/calls.py``; for tests of the API layer.

Promise: what it takes is well formed, that is nothing is left over, padding is zero, and each object lies behind those
that it mentions and before something that mentions it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from api_rig import Cuda, Recorded

from jitc.interpose.generator.call_visitor import identifier
from jitc.interpose.spec.cublas.functions import CUBLAS
from jitc.interpose.spec.cublas.lt import CUBLASLT
from jitc.interpose.spec.cudnn.functions import CUDNN
from jitc.ops.calls import CALL_ENUMS

_OBJECT, _INVOCATION, _SLOT, _TENSOR = map(struct.Struct, ("<II", "<II", "<QII", "<q16sII"))
_FUNCTIONS = {identifier(one.name): one.name for api in (CUBLAS, CUBLASLT, CUDNN) for one in api.functions}

Slot = tuple[str, Any]


@dataclass(frozen=True)
class Call:
    function: str
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class Object:
    kind: str
    calls: tuple[Call, ...]

    def call(self, function: str) -> Call:
        (found,) = (call for call in self.calls if call.function == function)
        return found


@dataclass(frozen=True)
class Sent:
    name: str
    stream: int
    objects: tuple[Object, ...]
    call: Call | None

    @property
    def slots(self) -> tuple[Slot, ...]:
        assert self.call
        return self.call.slots


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.rest = data

    def take(self, size: int) -> bytes:
        assert size <= len(self.rest)
        out, self.rest = self.rest[:size], self.rest[size:]
        return out

    def padded(self, size: int) -> bytes:
        out = self.take(size)
        assert not any(self.take(-size % 8))
        return out

    def slot(self) -> Slot:
        value, kind, size = _SLOT.unpack(self.take(_SLOT.size))
        name = CALL_ENUMS["SlotKind"][kind]
        if name in ("array", "objects") or (name == "scalar" and size > 8):
            assert value == 0
            content = self.padded(size)
            return name, content if name != "objects" else struct.unpack(f"<{size // 8}Q", content)
        if name in ("scalar", "result"):
            return name, value.to_bytes(8, "little")[:size] if name == "scalar" else size
        assert size == 8 and (value == 0 or name not in ("null", "handle"))
        layouts = {"number": "<q", "real": "<d"}
        return name, struct.unpack(layouts.get(name, "<Q"), struct.pack("<Q", value))[0]

    def call(self) -> Call:
        function, slots = _INVOCATION.unpack(self.take(_INVOCATION.size))
        return Call(_FUNCTIONS[function], tuple(self.slot() for _ in range(slots)))

    def object(self) -> Object:
        kind, calls = _OBJECT.unpack(self.take(_OBJECT.size))
        return Object(CALL_ENUMS["ObjectKind"][kind], tuple(self.call() for _ in range(calls)))


def _mentioned(calls: Sequence[Call]) -> set[int]:
    out: set[int] = set()
    for name, value in (slot for call in calls for slot in call.slots):
        out |= {value} if name == "object" else set(value) if name == "objects" else set()
    return out


def _parse(data: bytes, objects: int, calls: int, *, alone: bool = True) -> tuple[tuple[Object, ...], Call | None]:
    reader = _Reader(data)
    made = tuple(reader.object() for _ in range(objects))
    call = reader.call() if calls else None
    assert not reader.rest
    used = _mentioned([call] if call else [])
    for place, one in enumerate(made):
        mentioned = _mentioned(one.calls)
        assert all(other < place for other in mentioned)
        used |= mentioned
    assert not alone or used == set(range(objects if calls else objects - 1))
    return made, call


def sent(op: Recorded) -> Sent:
    """Of dnn_ask, dnn_try and dnn_call; of library_call and library_ask."""
    fields = op.fields
    assert fields["bytes"] == len(op.payload)
    found = Sent(op.name, op.stream, *_parse(op.payload, fields["objects"], fields.get("calls", 1)))
    if "described" in fields:  # the objects' part
        assert (found.objects, None) == _parse(op.payload[: fields["described"]], fields["objects"], 0, alone=False)
    return found


def only(gpu: Cuda) -> Sent:
    """The one op that was submitted."""
    (op,) = gpu.take()
    return sent(op)


def plan_of(part: Recorded) -> tuple[Object, ...]:
    """What the node is given of a plan, the plan last."""
    content = part.payload[: part.fields["bytes"]]
    (objects,) = struct.unpack_from("<Q", content)
    return _parse(content[8:], objects, 0)[0]


def tensors_of(op: Recorded) -> dict[int, tuple[str, bytes]]:
    """Unique identifier -> kind, value."""
    out = {}
    for uid, value, kind, size in _TENSOR.iter_unpack(op.payload):
        assert not any(value[size:])
        out[uid] = CALL_ENUMS["SlotKind"][kind], value[:size]
    assert len(out) == op.fields["count"]
    return out
