"""A program on the CUDA driver's API, run by test_cuda_service.py: steps with boundaries, each on demand.

`cuda_steps.py GPU [pinned] [mapped]`: does a step for every line on standard input and prints the step and a hash of
its memory; every step's result needs all earlier ones, so nothing may be lost, done twice or done on other memory.
mapped: its memory lies over the edge of two mappings, and some of it is other memory in every step.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
from typing import Any

BYTES = 1 << 20
WORD = 256
PAGE = 2 << 20

cuda = ctypes.CDLL(None)


def call(name: str, *arguments: Any) -> None:
    code = getattr(cuda, name)(*arguments)
    if code:
        sys.exit(f"{name} gave {code}")


def start(gpu: int) -> None:
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), gpu)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)


def allocate() -> int:
    address = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(BYTES))
    return address.value


class Place(ctypes.Structure):
    """CUmemLocation."""

    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class Properties(ctypes.Structure):
    """CUmemAllocationProp, with zeros at its end."""

    _fields_ = (("type", ctypes.c_int), ("handles", ctypes.c_int), ("place", Place), ("rest", ctypes.c_uint64 * 2))


class Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("place", Place), ("flags", ctypes.c_int))


class Mapped:
    """Two pages that are mapped by hand, and again and again."""

    def __init__(self, gpu: int) -> None:
        self.place = Place(1, gpu)
        self.start = ctypes.c_uint64()
        zero = ctypes.c_uint64(0)
        call("cuMemAddressReserve", ctypes.byref(self.start), ctypes.c_size_t(2 * PAGE), ctypes.c_size_t(0), zero, zero)

    def map(self) -> int:
        """Where the program's memory lies: one half in each page."""
        handle, properties, zero = ctypes.c_uint64(), Properties(1, 0, self.place), ctypes.c_uint64(0)
        size = ctypes.c_size_t(PAGE)
        for page in range(2):
            address = ctypes.c_uint64(self.start.value + page * PAGE)
            call("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(properties), zero)
            call("cuMemMap", address, size, ctypes.c_size_t(0), handle, zero)
            call("cuMemRelease", handle)
        access = Access(self.place, 3)
        call("cuMemSetAccess", self.start, ctypes.c_size_t(2 * PAGE), ctypes.byref(access), ctypes.c_size_t(1))
        return self.start.value + PAGE - BYTES // 2

    def unmap(self) -> None:
        call("cuCtxSynchronize")
        call("cuMemUnmap", self.start, ctypes.c_size_t(2 * PAGE))


def copy(to: int, source: int, size: int) -> None:
    call("cuMemcpyDtoDAsync_v2", ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(size), None)


def host_buffer(pinned: bool) -> ctypes.Array[ctypes.c_char]:
    if not pinned:
        return ctypes.create_string_buffer(BYTES)
    address = ctypes.c_void_p()
    call("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(BYTES), 0)
    return (ctypes.c_char * BYTES).from_address(address.value or 0)


def main(gpu: int, pinned: bool, mapped: bool) -> None:
    start(gpu)
    pages = Mapped(gpu) if mapped else None
    state, update = (Mapped(gpu).map(), pages.map()) if pages else (allocate(), allocate())
    sent, back = host_buffer(pinned), host_buffer(pinned)
    call("cuMemsetD8Async", ctypes.c_uint64(state), ctypes.c_ubyte(0), ctypes.c_size_t(BYTES), None)
    for step, _ in enumerate(sys.stdin):
        if pages:
            pages.unmap()
            update = pages.map()
        sent.raw = (f"step {step} " * BYTES).encode()[:BYTES]
        call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(update), sent, ctypes.c_size_t(BYTES), None)
        copy(update + WORD, state, BYTES // 2)  # what came so far moves up, the new words stand before it
        cuda.jitc_step_begin()
        copy(state, update, BYTES)
        cuda.jitc_step_end(None, ctypes.c_size_t(0))
        call("cuMemcpyDtoH_v2", back, ctypes.c_uint64(state), ctypes.c_size_t(BYTES))
        print(step, hashlib.sha256(back.raw).hexdigest(), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), "pinned" in sys.argv, "mapped" in sys.argv)
