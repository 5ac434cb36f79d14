"""Arguments of operators as values that can be changed and written down, and their packed form (wire.h).

Used by the fuzz of operators (operator_fuzz.py) and by record_operator_samples.py. None, bool, int, float, complex and
str stand for themselves. Promise: the same values and turn give the same bytes, but for addresses.
"""

from __future__ import annotations

import ctypes
import math
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

FENCE = Path(__file__).resolve().parents[3] / "build" / "lib" / "libjitc_fence.so"
PAGE = 4096
PLACES, PLACE_BYTES = 64, 8 * PAGE
#: c10::ScalarType to (bytes of an element, dtype).
DTYPES = {
    0: (1, torch.uint8), 1: (1, torch.int8), 2: (2, torch.int16), 3: (4, torch.int32), 4: (8, torch.int64),
    5: (2, torch.float16), 6: (4, torch.float32), 7: (8, torch.float64), 9: (8, torch.complex64),
    10: (16, torch.complex128), 11: (1, torch.bool), 15: (2, torch.bfloat16),
}  # fmt: skip
INTEGERS = (0, 1, 2, 3, 4)
#: Small numbers; those with some that are outside of everything; from 0 to 1.
CONTENTS = ("near", "far", "unit")
FAR = (-1, -2, 7, 100, 65536, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**31), -(2**63))


@dataclass
class Tensor:
    dtype: int
    sizes: list[int]
    strides: list[int]
    content: str | list[int] = "near"  # integers, or which of CONTENTS
    inline: bool = False  # of the CPU, inside the call
    flags: int = 0

    @property
    def bytes(self) -> int:
        return extent(self.sizes, self.strides) * DTYPES[self.dtype][0]


@dataclass
class Same:
    """The same object as the tensor with that number."""

    number: int


@dataclass
class Items:
    """A list: I integers, R reals, B booleans, S numbers, T tensors, O tensors or None."""

    kind: str
    values: list[Any] = field(default_factory=list)


@dataclass
class Word:
    """device, generator or undefined (a tensor)."""

    word: str


TAGS = {"I": 10, "R": 11, "B": 12, "T": 13, "O": 14, "S": 15}
WORDS = {"undefined": 4, "device": 16, "generator": 17}


def extent(sizes: list[int], strides: list[int]) -> int:
    """Elements from the first to the last one."""
    return 0 if 0 in sizes else 1 + sum((size - 1) * step for size, step in zip(sizes, strides, strict=True))


def contiguous(sizes: list[int]) -> list[int]:
    strides = [1] * len(sizes)
    for i in range(len(sizes) - 1, 0, -1):
        strides[i - 1] = strides[i] * max(sizes[i], 1)
    return strides


class Places:
    """The memory of the fuzz's device: places of the fence (native/fence.cpp). A tensor ends where its place ends."""

    def __init__(self) -> None:
        fence = ctypes.CDLL(str(FENCE))
        fence.fence_install()
        fence.fence_places.restype = ctypes.c_void_p
        first = fence.fence_places(ctypes.c_size_t(PLACES), ctypes.c_size_t(PLACE_BYTES))
        assert first, "no memory for the fuzz"
        self._first = int(first)
        self._next = 0
        self._contents = {(dtype, kind): _content(dtype, kind) for dtype in DTYPES for kind in CONTENTS}

    def rewind(self) -> None:
        self._next = 0

    def put(self, content: bytes) -> int:
        """Its address."""
        end = self._first + self._next % PLACES * (PLACE_BYTES + PAGE) + PLACE_BYTES
        self._next += 1
        ctypes.memmove(end - len(content), content, len(content))
        return end - len(content)

    def content(self, tensor: Tensor, turn: int) -> bytes:
        """turn: from which element on of those that there are."""
        item, size = DTYPES[tensor.dtype][0], tensor.bytes
        if isinstance(tensor.content, list):
            values = torch.tensor(tensor.content or [0]).to(DTYPES[tensor.dtype][1]).view(torch.uint8)
            content = bytes(values.numpy()) * (size // (item * len(tensor.content or [0])) + 1)
            return content[:size]
        start = turn * item % (PLACE_BYTES - size + 1) // item * item
        return self._contents[tensor.dtype, tensor.content][start : start + size]

    def inside(self, address: int, size: int) -> bool:
        place, offset = divmod(address - self._first, PLACE_BYTES + PAGE)
        return 0 <= place < PLACES and offset + size <= PLACE_BYTES


def _content(dtype: int, kind: str) -> bytes:
    """A place full of elements."""
    item, made = DTYPES[dtype]
    count, generator = PLACE_BYTES // item, torch.Generator().manual_seed(dtype)
    if dtype in (*INTEGERS, 11):
        values = torch.randint(0, 3, (count,), generator=generator)
        far = torch.tensor([one for one in FAR if abs(one) < 2**62] + [4, 5, 9, -3])
    else:
        values = torch.randn(count, generator=generator, dtype=torch.float64)
        values = values.abs() % 1 if kind == "unit" else values
        far = torch.tensor([math.inf, -math.inf, math.nan, 0.0, 1e30, -1e30, 2.0**31], dtype=torch.float64)
    if kind == "far":
        chosen = torch.rand(count, generator=generator) < 0.3
        values[chosen] = far[torch.randint(0, len(far), (int(chosen.sum()),), generator=generator)].to(values.dtype)
    return bytes(values.to(made).view(torch.uint8).numpy())


def numbers(values: list[int]) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def pack(value: Any, places: Places, turn: int = 0) -> bytes:
    if isinstance(value, Tensor):
        head = struct.pack("<bBB", value.dtype, len(value.sizes), value.flags)
        content = places.content(value, turn)
        if value.inline:
            return b"\x02" + head + struct.pack("<Q", len(content)) + numbers(value.sizes) + content
        address = struct.pack("<Q", places.put(content))
        return b"\x01" + head + address + numbers(value.sizes) + numbers(value.strides)
    if isinstance(value, Same):
        return struct.pack("<BH", 3, value.number)
    if isinstance(value, Word):
        return bytes((WORDS[value.word],))
    if isinstance(value, Items):
        return struct.pack("<BI", TAGS[value.kind], len(value.values)) + _pack_items(value, places, turn)
    return pack_plain(value)


def _pack_items(items: Items, places: Places, turn: int) -> bytes:
    count, values = len(items.values), items.values
    if items.kind in "IRB":
        return struct.pack(f"<{count}{dict(I='q', R='d', B='B')[items.kind]}", *values)
    return b"".join(pack(one, places, turn + i) for i, one in enumerate(values))


def pack_plain(value: Any) -> bytes:
    if value is None:
        return b"\0"
    if isinstance(value, bool):
        return bytes((5, value))
    if isinstance(value, int):
        return struct.pack("<Bq", 6, value)
    if isinstance(value, float):
        return struct.pack("<Bd", 7, value)
    if isinstance(value, complex):
        return struct.pack("<Bdd", 8, value.real, value.imag)
    assert isinstance(value, str), value
    return struct.pack("<BI", 9, len(value)) + value.encode()


def to_json(value: Any) -> Any:
    if isinstance(value, Tensor):
        parts: dict[str, Any] = {"t": value.dtype, "s": value.sizes}
        if value.strides != contiguous(value.sizes):
            parts["d"] = value.strides
        if value.content != "near":
            parts["v"] = value.content
        return parts | ({"inline": True} if value.inline else {}) | ({"f": value.flags} if value.flags else {})
    if isinstance(value, Items):
        return {value.kind: [to_json(one) for one in value.values]}
    if isinstance(value, Same):
        return {"same": value.number}
    if isinstance(value, Word):
        return {"word": value.word}
    return {"c": [value.real, value.imag]} if isinstance(value, complex) else value


def from_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "t" in value:
        strides = value.get("d", contiguous(value["s"]))
        content = value.get("v", "near")
        return Tensor(value["t"], value["s"], strides, content, value.get("inline", False), value.get("f", 0))
    if "same" in value:
        return Same(value["same"])
    if "word" in value:
        return Word(value["word"])
    if "c" in value:
        return complex(*value["c"])
    ((kind, values),) = value.items()
    return Items(kind, [from_json(one) for one in values])
