"""Copies between host and device as a program makes them, for the tests of host memory."""

from __future__ import annotations

import os
from ctypes import c_int, c_size_t, c_uint64, c_void_p

from api_rig import PINNED_BYTES, Cuda

DEFAULT = c_int(4)  # cudaMemcpyDefault
BASE = 7 << 36 if "JITC_TEST_BASE" in os.environ else 0x3800_0000_0000  # as standin_session.cpp
STREAM = c_uint64(0)
KIB, MIB, PAGE = 1 << 10, 1 << 20, 4096
#: What the ring for pageable memory takes of the shared memory here, an eighth of it: one slot.
RING = MIB


def host_alloc(cuda: Cuda, size: int) -> int:
    return cuda.make("cudaHostAlloc", c_size_t(size), c_int(0))


def free(cuda: Cuda, *hosts: int) -> None:
    for one in hosts:
        cuda.ok("cudaFreeHost", c_void_p(one))


def copy(cuda: Cuda, to: int, source: int, size: int, wait: bool = False) -> None:
    arguments = (c_void_p(to), c_void_p(source), c_size_t(size), DEFAULT)
    if wait:
        cuda.ok("cudaMemcpy", *arguments)
    else:
        cuda.ok("cudaMemcpyAsync", *arguments, STREAM)


def names(cuda: Cuda) -> list[str]:
    return [op.name for op in cuda.take()]


def is_shared(address: int) -> bool:
    return BASE <= address < BASE + 2 * PINNED_BYTES
