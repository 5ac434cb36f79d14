"""The fake driver in this process, through ctypes. Every test loads a copy of its own, which has its own state."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import struct
import threading
from pathlib import Path
from typing import Any

from toolkit.fakes import fake_library

MIB = 1 << 20
GRANULE = 2 * MIB
SECONDS = 20.0
HostFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_copies = itertools.count()


class Property(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("location", ctypes.c_int * 2),
        ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", ctypes.c_int * 2), ("flags", ctypes.c_int))


def copied(name: str, folder: Path) -> Path:
    """A copy of a fake: another file is another library to the loader."""
    target = folder / f"{next(_copies)}-libfake_{name}.so"
    shutil.copy(fake_library(name), target)
    return target


class Gate:
    """Holds a stream until it is opened; proves that what follows it waits."""

    def __init__(self, driver: Driver, stream: int) -> None:
        self.entered, self._opened = threading.Event(), threading.Event()
        self._function = HostFunction(self._wait)
        driver.ok("cuLaunchHostFunc", ctypes.c_void_p(stream), self._function, None)

    def _wait(self, _: int | None) -> None:
        self.entered.set()
        assert self._opened.wait(SECONDS)

    def open(self) -> None:
        self._opened.set()


class Driver:
    """cuXxx functions as attributes; ``ok`` calls one that must succeed, ``make`` one that gives a handle."""

    def __init__(self, folder: Path) -> None:
        self.path = copied("cuda", folder)
        self.library = ctypes.CDLL(str(self.path))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)

    def ok(self, name: str, *args: Any) -> None:
        result = getattr(self.library, name)(*args)
        assert result == 0, f"{name} gave {result}"

    def make(self, name: str, *args: Any) -> int:
        out = ctypes.c_uint64()
        self.ok(name, ctypes.byref(out), *args)
        return out.value

    def start(self) -> int:
        self.ok("cuInit", 0)
        context = self.make("cuDevicePrimaryCtxRetain", 0)
        self.ok("cuCtxSetCurrent", ctypes.c_void_p(context))
        return context

    def end(self) -> None:
        self.cuDevicePrimaryCtxReset_v2(0)
        self.cuCtxSetCurrent(None)

    def stream(self, flags: int = 1) -> int:
        return self.make("cuStreamCreate", flags)

    def event(self) -> int:
        return self.make("cuEventCreate", 0)

    def record(self, event: int, stream: int) -> None:
        self.ok("cuEventRecord", ctypes.c_void_p(event), ctypes.c_void_p(stream))

    def wait(self, stream: int, event: int) -> None:
        self.ok("cuStreamWaitEvent", ctypes.c_void_p(stream), ctypes.c_void_p(event), 0)

    def gate(self, stream: int) -> Gate:
        return Gate(self, stream)

    def synchronize(self, stream: int) -> None:
        self.ok("cuStreamSynchronize", ctypes.c_void_p(stream))

    def query(self, stream: int) -> int:
        return int(self.cuStreamQuery(ctypes.c_void_p(stream)))

    def allocate(self, size: int) -> int:
        return self.make("cuMemAlloc_v2", ctypes.c_size_t(size))

    def reserve(self, size: int, wanted: int = 0) -> int:
        return self.make("cuMemAddressReserve", ctypes.c_size_t(size), ctypes.c_size_t(0), ctypes.c_uint64(wanted), 0)

    def create(self, size: int) -> int:
        return self.make("cuMemCreate", ctypes.c_size_t(size), ctypes.byref(gpu_memory()), 0)

    def map(self, address: int, size: int, handle: int) -> None:
        where, length = ctypes.c_uint64(address), ctypes.c_size_t(size)
        self.ok("cuMemMap", where, length, ctypes.c_size_t(0), ctypes.c_uint64(handle), 0)
        access = Access((1, 0), 3)
        self.ok("cuMemSetAccess", where, length, ctypes.byref(access), ctypes.c_size_t(1))

    def unmap(self, address: int, size: int) -> None:
        self.ok("cuMemUnmap", ctypes.c_uint64(address), ctypes.c_size_t(size))

    def write(self, address: int, content: bytes) -> None:
        self.ok("cuMemcpyHtoD_v2", ctypes.c_uint64(address), content, ctypes.c_size_t(len(content)))

    def read(self, address: int, size: int) -> bytes:
        out = ctypes.create_string_buffer(size)
        self.ok("cuMemcpyDtoH_v2", out, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return out.raw

    def fill(self, address: int, value: int, size: int, stream: int) -> None:
        where = ctypes.c_uint64(address)
        self.ok("cuMemsetD8Async", where, value, ctypes.c_size_t(size), ctypes.c_void_p(stream))

    def copy(self, to: int, source: int, size: int, stream: int) -> None:
        length = ctypes.c_size_t(size)
        self.ok("cuMemcpyDtoDAsync_v2", ctypes.c_uint64(to), ctypes.c_uint64(source), length, ctypes.c_void_p(stream))

    def load(self, *lines: str) -> int:
        return self.make("cuModuleLoadData", image(*lines))

    def function(self, module: int, name: str) -> int:
        return self.make("cuModuleGetFunction", ctypes.c_void_p(module), name.encode())

    def kernel(self, name: str) -> int:
        return self.function(self.load(f"kernel {name}"), name)

    def launch(self, function: int, stream: int, parameters: bytes = b"", shape: Shape = (1, 1, 1, 1, 1, 1, 0)) -> int:
        """Launches with one parameter buffer; gives the result."""
        size, buffer = ctypes.c_size_t(len(parameters)), ctypes.create_string_buffer(parameters)
        extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), None)
        place = (*shape, ctypes.c_void_p(stream))
        return int(self.cuLaunchKernel(ctypes.c_void_p(function), *place, None, extra))


Shape = tuple[int, int, int, int, int, int, int]


def image(*lines: str) -> bytes:
    """A fake module image (see tests/fakes/cuda/modules.cpp)."""
    return "\n".join(("JITCFAKE 1", *lines, "")).encode()


def fat(content: bytes) -> bytes:
    """A fat binary around it."""
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(content)) + content


def gpu_memory(device: int = 0) -> Property:
    return Property(1, 0, (1, device), None)
