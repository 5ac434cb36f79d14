"""The description of a device op: its operand types, its family, and what the core must know about it.

Called by: ``table.py`` (ops that every device has), ``kernels.py`` (ops of devices that run kernels), ``dnn.py``
(cuDNN) and the generator. Promise: plain data.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: Fixed-size operand types: name -> (C++ type, struct format, bytes).
TYPES: dict[str, tuple[str, str, int]] = {
    "u64": ("uint64_t", "Q", 8),
    "i64": ("int64_t", "q", 8),
    "u32": ("uint32_t", "I", 4),
    "i32": ("int32_t", "i", 4),
    "f64": ("double", "d", 8),
    "f32": ("float", "f", 4),
    "bytes16": ("std::array<uint8_t, 16>", "16s", 16),
    "bytes64": ("std::array<uint8_t, 64>", "64s", 64),
    "bytes128": ("std::array<uint8_t, 128>", "128s", 128),
}


@dataclass(frozen=True)
class Op:
    """One device op: a packed record of operands, then an optional payload.

    ``waits``: the client blocks (or registers a receiver) until the op's RESULT completion.
    ``payload``: name of the data after the operands up to the record's size, or "" for none. ``result``: what the
    RESULT payload holds, or "" for a bare status. ``compared``: the result must be the same when the op is replayed
    (times and free memory are not). ``resource``: the op changes the resource table (it is applied even if work is
    skipped).
    """

    family: int
    number: int
    name: str
    doc: str
    fields: tuple[tuple[str, str, str], ...] = field(default=())
    payload: str = ""
    waits: bool = False
    result: str = ""
    compared: bool = True
    resource: bool = False

    @property
    def id(self) -> int:
        return self.family << 8 | self.number


CONTROL, MEMORY, STREAM, LAUNCH, COLLECTIVE, BLAS, MODULE, GRAPH, DNN = range(1, 10)
