"""The API layer over a recording session layer (``standin_session.cpp``), called through ctypes."""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jitc.ops import generated_names as generated_ops
from jitc.ops import table as ops

ROOT = Path(__file__).resolve().parents[4]
HEADER = struct.Struct("<IHHQQ")


def fake_library() -> Path:
    """The newest build of the API layer with the recording session layer; JITC_TEST_INTERPOSE names another."""
    if named := os.environ.get("JITC_TEST_INTERPOSE"):
        return Path(named)
    built = sorted(ROOT.glob("build/*/tests/libjitc_interpose_fake.so"), key=lambda path: path.stat().st_mtime)
    assert built, "libjitc_interpose_fake.so is not built: run `make build`"
    return built[-1]


PINNED_BYTES = 8 << 20
TOKEN = b"f" * 32


def pinned_file(size: int = PINNED_BYTES, token: bytes = TOKEN, seals: int = fcntl.F_SEAL_SHRINK) -> int:
    """Memory to share, as the service makes it for standin_session.cpp; its descriptor."""
    fd = os.memfd_create("test-pinned", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    os.pwrite(fd, token, 0)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


@dataclass
class Recorded:
    """One op that the API layer submitted."""

    name: str
    stream: int
    fields: dict[str, Any]
    payload: bytes
    sequence: int
    flags: int


def _parse(data: bytes) -> Iterator[Recorded]:
    offset = 0
    while offset < len(data):
        size, op_id, flags, stream, sequence = HEADER.unpack_from(data, offset)
        name = generated_ops.NAMES[op_id]
        layout = struct.Struct(generated_ops.FORMATS[name])
        values = layout.unpack_from(data, offset + HEADER.size)
        names = [field for field, _, _ in ops.BY_NAME[name].fields]
        start = offset + HEADER.size + layout.size
        fields = dict(zip(names, values, strict=False))
        yield Recorded(name, stream, fields, data[start : offset + size], sequence, flags)
        offset += size


class Cuda:
    """The library's functions as attributes, and what they recorded."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        self.library.jitc_fake_take.restype = ctypes.c_size_t
        self._allocated: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)

    def take(self) -> list[Recorded]:
        size = self.library.jitc_fake_take(None, ctypes.c_size_t(0))
        data = ctypes.create_string_buffer(max(size, 1))
        size = self.library.jitc_fake_take(data, ctypes.c_size_t(size))
        return list(_parse(data.raw[:size]))

    def ok(self, name: str, *args: Any) -> None:
        assert getattr(self.library, name)(*args) == 0, name

    def make(self, name: str, *args: Any) -> int:
        """Calls a function whose first argument receives a handle or an address."""
        out = ctypes.c_uint64()
        self.ok(name, ctypes.byref(out), *args)
        return out.value

    def malloc(self, size: int) -> int:
        address = self.make("cudaMalloc", ctypes.c_size_t(size))
        self._allocated.append(address)
        return address

    def open_sessions(self) -> None:
        """On both GPUs."""
        for gpu in (1, 0):
            self.cudaSetDevice(gpu)
            self.cudaFree(ctypes.c_uint64(self.malloc(1)))

    def reset(self) -> None:
        """As a test finds it: nothing is allocated, held, broken or recorded."""
        self.library.jitc_fake_hold(0)
        self.library.jitc_fake_over(0)
        self.library.jitc_fake_forked(0)
        self.library.jitc_fake_dnn_forget()
        self.library.cudaSetDevice(0)
        for address in self._allocated:
            self.library.cudaFree(ctypes.c_uint64(address))  # an error where the test freed it
        self._allocated.clear()
        self.library.cudaGetLastError()
        self.take()
