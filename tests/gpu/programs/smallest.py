"""The smallest CUDA programs, without PyTorch: memory through the runtime's and the driver's functions.

Run with the interposer preloaded; prints a JSON line per part. The libraries are whatever the process has: the
interposer's functions stand in for both.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from typing import Any

from . import answers

BYTES = 1 << 20
H2D, D2H = 1, 2


class Failed(Exception):
    pass


def call(function: Any, *arguments: Any) -> None:
    code = function(*arguments)
    if code:
        raise Failed(f"{function.__name__} gave {code}")


def runtime(cuda: Any) -> dict[str, Any]:
    """malloc, memset, copies both ways."""
    address, count = ctypes.c_void_p(), ctypes.c_int()
    call(cuda.cudaGetDeviceCount, ctypes.byref(count))
    call(cuda.cudaMalloc, ctypes.byref(address), ctypes.c_size_t(BYTES))
    call(cuda.cudaMemset, address, 0x5A, ctypes.c_size_t(BYTES))
    back = ctypes.create_string_buffer(BYTES)
    call(cuda.cudaMemcpy, back, address, ctypes.c_size_t(BYTES), D2H)
    if back.raw != b"\x5a" * BYTES:
        raise Failed("memset and copy back gave other bytes")
    sent = bytes(range(256)) * (BYTES // 256)
    call(cuda.cudaMemcpy, address, sent, ctypes.c_size_t(BYTES), H2D)
    call(cuda.cudaMemcpy, back, address, ctypes.c_size_t(BYTES), D2H)
    if back.raw != sent:
        raise Failed("what was copied there did not come back")
    call(cuda.cudaFree, address)
    return {"gpus": count.value}


def driver(cuda: Any) -> dict[str, Any]:
    """Name, context, allocation, fill."""
    device, context, address = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    call(cuda.cuInit, 0)
    call(cuda.cuDeviceGet, ctypes.byref(device), 0)
    name = ctypes.create_string_buffer(256)
    call(cuda.cuDeviceGetName, name, 256, device)
    call(cuda.cuDevicePrimaryCtxRetain, ctypes.byref(context), device)
    call(cuda.cuCtxSetCurrent, context)
    call(cuda.cuMemAlloc_v2, ctypes.byref(address), ctypes.c_size_t(BYTES))
    call(cuda.cuMemsetD8_v2, address, ctypes.c_ubyte(7), ctypes.c_size_t(BYTES))
    back = ctypes.create_string_buffer(BYTES)
    call(cuda.cuMemcpyDtoH_v2, back, address, ctypes.c_size_t(BYTES))
    if back.raw != b"\x07" * BYTES:
        raise Failed("fill and copy back gave other bytes")
    call(cuda.cuMemFree_v2, address)
    return {"name": name.value.decode()}


def streams(cuda: Any) -> dict[str, Any]:
    """An event behind a fill on a stream of its own."""
    stream, event, address = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call(cuda.cudaMalloc, ctypes.byref(address), ctypes.c_size_t(BYTES))
    call(cuda.cudaStreamCreate, ctypes.byref(stream))
    call(cuda.cudaEventCreate, ctypes.byref(event))
    call(cuda.cudaMemsetAsync, address, 1, ctypes.c_size_t(BYTES), stream)
    call(cuda.cudaEventRecord, event, stream)
    call(cuda.cudaEventSynchronize, event)
    call(cuda.cudaEventDestroy, event)
    call(cuda.cudaStreamDestroy, stream)
    call(cuda.cudaFree, address)
    return {}


def main() -> int:
    out, cuda = answers(), ctypes.CDLL(None)
    parts: tuple[Callable[[Any], dict[str, Any]], ...] = (runtime, driver, streams)
    failed = 0
    for part in parts:
        try:
            document = {"name": part.__name__, "ok": True} | part(cuda)
        except (Failed, AttributeError) as error:
            failed += 1
            document = {"name": part.__name__, "ok": False, "error": str(error)}
        print(json.dumps(document), file=out)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
