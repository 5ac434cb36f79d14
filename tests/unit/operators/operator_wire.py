"""Operator calls as bytes, written in Python after jitc/operator_call.h, and the library behind ctypes."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

LIBRARY = Path(__file__).resolve().parents[3] / "proxy" / "lib" / "libjitc_operators.so"
VERSION = 1
DTYPES = {
    torch.uint8: 0,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.complex64: 9,
    torch.bool: 11,
    torch.bfloat16: 15,
}
TRANSLATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)


class Host(ctypes.Structure):
    _fields_ = (("context", ctypes.c_void_p), ("translate", TRANSLATE), ("memory_limit", ctypes.c_uint64))


class Reply(ctypes.Structure):
    _fields_ = (("data", ctypes.POINTER(ctypes.c_uint8)), ("size", ctypes.c_size_t))


FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Host), ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(Reply))


class Table(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32), ("set_threads", ctypes.CFUNCTYPE(None, ctypes.c_int)),
        ("call", FUNCTION), ("query", FUNCTION), ("matmul", FUNCTION),
    )  # fmt: skip


class Library:
    """The library with a host that knows the memory of the tensors given to it, and nothing else."""

    def __init__(self, memory_limit: int = 1 << 30) -> None:
        loaded = ctypes.CDLL(str(LIBRARY))
        loaded.jitc_operators_get.restype = ctypes.POINTER(Table)
        self.table = loaded.jitc_operators_get().contents
        self.known: list[torch.Tensor] = []
        self.inside: Callable[[int, int], bool] = self._inside
        self._host = Host(None, TRANSLATE(self._translate), memory_limit)

    def own(self, *tensors: torch.Tensor) -> None:
        self.known = list(tensors)

    def _translate(self, _context: Any, address: int, size: int) -> int | None:
        return address if self.inside(address, size) else None

    def _inside(self, address: int, size: int) -> bool:
        storages = [tensor.untyped_storage() for tensor in self.known]
        return any(s.data_ptr() <= address and address + size <= s.data_ptr() + s.nbytes() for s in storages)

    def _run(self, function: Any, payload: bytes) -> tuple[int, bytes]:
        reply = Reply()
        status = function(ctypes.byref(self._host), payload, len(payload), ctypes.byref(reply))
        return status, ctypes.string_at(reply.data, reply.size) if reply.size else b""

    def call(self, payload: bytes) -> tuple[int, bytes]:
        return self._run(self.table.call, payload)

    def query(self, payload: bytes) -> tuple[int, bytes]:
        return self._run(self.table.query, payload)

    def matmul(self, payload: bytes) -> tuple[int, bytes]:
        return self._run(self.table.matmul, payload)


def numbers(values: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def tensor(given: torch.Tensor) -> bytes:
    head = struct.pack("<BbBBQ", 1, DTYPES[given.dtype], given.dim(), 0, given.data_ptr())
    return head + numbers(given.shape) + numbers(given.stride())


def real(value: float) -> bytes:
    return struct.pack("<Bd", 7, value)


def integer(value: int) -> bytes:
    return struct.pack("<Bq", 6, value)


def call(name: str, arguments: Sequence[bytes], outputs: Sequence[bytes] | None, version: int = VERSION) -> bytes:
    """outputs None: a query."""
    head = struct.pack("<BBbBHHQQ", version, 0, 6, 0, len(name), len(arguments), 0, 0)
    tail = b"" if outputs is None else struct.pack("<H", len(outputs)) + b"".join(outputs)
    return head + name.encode() + b"".join(arguments) + tail
