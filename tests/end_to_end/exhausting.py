"""A program that takes very much of one kind, run by test_exhaustion.py; it does what the lines on its input say.

`exhausting.py KIND COUNT`: `make` takes it, writing to each; `read` prints a hash of what was written; `over` asks
for more than there may be and prints the error; `free` gives all of it back; `used` says how much memory of the
device is not free, of all programs. Prints a line for each.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

from cuda_api import call, cuda, made

MIB = 1 << 20
PAGE = 4096
WORD = 4
STREAMS_AT_MOST = 16 << 10


def download(address: int, size: int) -> bytes:
    out = ctypes.create_string_buffer(size)
    call("cudaMemcpy", out, c_void_p(address), c_size_t(size), c_int(4))
    return out.raw


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def fill(address: int, number: int, stream: int = 0) -> None:
    """One word: the number."""
    call("cuMemsetD32Async", c_uint64(address), ctypes.c_uint32(number), c_size_t(1), c_uint64(stream))


class Allocations:
    """Of 4 KiB each."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.result = 0
        self.blocks: list[int] = []

    def make(self) -> str:
        self.result = made("cudaMalloc", c_size_t(self.count * WORD))
        self.blocks = [made("cudaMalloc", c_size_t(PAGE)) for _ in range(self.count)]
        for number, block in enumerate(self.blocks):
            fill(block, number)
        return str(len(set(self.blocks)))

    def read(self) -> str:
        for number, block in enumerate(self.blocks):
            to, size = c_void_p(self.result + number * WORD), c_size_t(WORD)
            call("cudaMemcpyAsync", to, c_void_p(block), size, c_int(3), c_uint64(0))
        return digest(download(self.result, self.count * WORD))

    def over(self) -> str:
        return str(cuda.cudaMalloc(byref(c_uint64()), c_size_t(1 << 40)))

    def free(self) -> str:
        for block in (self.result, *self.blocks):
            call("cudaFree", c_uint64(block))
        return self.used()

    def used(self) -> str:
        free, total = c_size_t(), c_size_t()
        call("cudaMemGetInfo", byref(free), byref(total))
        return f"{total.value - free.value} bytes used"


class Streams:
    """Each waits for one event, and then writes its number."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.streams: list[int] = []
        self.result = 0

    def make(self) -> str:
        self.result = made("cudaMalloc", c_size_t(self.count * WORD))
        self.streams = [made("cudaStreamCreateWithFlags", c_int(1)) for _ in range(self.count)]
        self._write(0)
        return str(len(set(self.streams)))

    def _write(self, first: int) -> None:
        start = made("cudaEventCreate")
        call("cudaMemsetAsync", c_void_p(self.result), c_int(0), c_size_t(self.count * WORD), c_uint64(0))
        call("cudaEventRecord", c_uint64(start), c_uint64(0))
        for number, stream in enumerate(self.streams):
            call("cudaStreamWaitEvent", c_uint64(stream), c_uint64(start), c_int(0))
            fill(self.result + number * WORD, first + number, stream)
        call("cudaDeviceSynchronize")
        call("cudaEventDestroy", c_uint64(start))

    def read(self) -> str:
        before = download(self.result, self.count * WORD)
        self._write(1)
        return digest(before + download(self.result, self.count * WORD))

    def over(self) -> str:
        more = STREAMS_AT_MOST - self.count
        extra = [made("cudaStreamCreateWithFlags", c_int(1)) for _ in range(more)]
        error = cuda.cudaStreamCreate(byref(c_uint64()))
        for stream in extra:
            call("cudaStreamDestroy", c_uint64(stream))
        return str(error)

    def free(self) -> str:
        for stream in self.streams:
            call("cudaStreamDestroy", c_uint64(stream))
        call("cudaFree", c_uint64(self.result))
        return "0 bytes used"


class Copies:
    """To memory of the program, of one MiB each, all of them asked for before the first one is looked at."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.target = ctypes.create_string_buffer(count * MIB)
        self.source = 0

    def make(self) -> str:
        call("cudaHostRegister", self.target, c_size_t(len(self.target)), c_int(0))
        self.source = made("cudaMalloc", c_size_t(MIB))
        for number in range(self.count):
            fill(self.source, number)
            to = c_void_p(ctypes.addressof(self.target) + number * MIB)
            call("cudaMemcpyAsync", to, c_void_p(self.source), c_size_t(MIB), c_int(4), c_uint64(0))
        return str(self.count)

    def read(self) -> str:
        call("cudaDeviceSynchronize")
        return digest(b"".join(self.target[at : at + WORD] for at in range(0, len(self.target), MIB)))

    def over(self) -> str:
        return str(cuda.cudaMalloc(byref(c_uint64()), c_size_t(1 << 40)))

    def free(self) -> str:
        call("cudaFree", c_uint64(self.source))
        return "0 bytes used"


def main(kind: str, count: int) -> None:
    what = {"allocations": Allocations, "streams": Streams, "copies": Copies}[kind](count)
    for line in sys.stdin:
        print(getattr(what, line.strip())(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
