"""Probe of NCCL between two processes on one GPU, as jitc's two workers on a GPU need it: they pass for two hosts."""

from __future__ import annotations

import ctypes
import json
import sys
import time
from ctypes import c_int, c_size_t, c_uint64
from typing import Any

from . import ptx
from .driver import MIB, NON_BLOCKING, Driver, Refused
from .parts import Part

_BYTES, _ROUNDS = 16 * MIB, 5
_FLOAT, _SUM = 7, 0


class UniqueId(ctypes.Structure):
    """ncclUniqueId."""

    _fields_ = (("bytes", ctypes.c_uint8 * 128),)


class Nccl:
    """Calls of the library at the path, or of the interposer in the process."""

    def __init__(self, path: str | None) -> None:
        self.library = ctypes.CDLL(path)

    def __call__(self, name: str, *arguments: Any) -> None:
        code = getattr(self.library, name)(*arguments)
        if code:
            self.library.ncclGetErrorString.restype = ctypes.c_char_p
            raise Refused(name, code, (self.library.ncclGetErrorString(code) or b"").decode())

    def unique_id(self) -> str:
        identity = UniqueId()
        self("ncclGetUniqueId", ctypes.byref(identity))
        return bytes(identity.bytes).hex()

    def join(self, identity: str, ranks: int, rank: int) -> c_uint64:
        words, comm = UniqueId((ctypes.c_uint8 * 128)(*bytes.fromhex(identity))), c_uint64()
        self("ncclCommInitRank", ctypes.byref(comm), c_int(ranks), words, c_int(rank))
        return comm

    def all_reduce(self, address: c_uint64, count: int, comm: c_uint64, stream: c_uint64) -> None:
        """In place, the sum of float32."""
        self("ncclAllReduce", address, address, c_size_t(count), _FLOAT, _SUM, comm, stream)


def two_processes(request: dict[str, Any]) -> dict[str, Any]:
    """Seconds until both have joined, and of an all-reduce."""
    requests = [request | {"rank": rank} for rank in range(2)]
    with (
        Part("rank", requests[0], NCCL_HOSTID="gpu-check-0") as one,
        Part("rank", requests[1], NCCL_HOSTID="gpu-check-1") as other,
    ):
        identity = one.result(10.0)["id"]
        for part in (one, other):
            part.tell({"id": identity})
        answers = [part.result(20.0) for part in (one, other)]
    return {"mib": _BYTES // MIB, "version": answers[0]["version"], "ranks": answers}


def rank(request: dict[str, Any]) -> dict[str, Any]:
    """A part."""
    nccl, driver = Nccl(request["nccl"]), Driver(request["driver"])
    driver.context()
    if request["rank"] == 0:
        print(json.dumps({"ok": True, "data": {"id": nccl.unique_id()}}), file=request["answers"], flush=True)
    identity, version = json.loads(sys.stdin.readline())["id"], c_int()
    nccl("ncclGetVersion", ctypes.byref(version))
    begin = time.perf_counter()
    comm = nccl.join(identity, 2, request["rank"])
    joined = time.perf_counter() - begin
    stream, memory, count = driver.handle("cuStreamCreate", NON_BLOCKING), driver.allocate(_BYTES), _BYTES // 4
    fill = driver.function(driver.module(ptx.ARITHMETIC), "fill_f32")
    value = ctypes.c_float(request["rank"] + 1.0)
    driver.launch(fill, stream, memory, value, c_uint64(count), blocks=(count + 255) // 256)
    took = []
    for _ in range(_ROUNDS):
        driver("cuStreamSynchronize", stream)
        begin = time.perf_counter()
        nccl.all_reduce(memory, count, comm, stream)
        driver("cuStreamSynchronize", stream)
        took.append(time.perf_counter() - begin)
    back = (ctypes.c_float * 1)()
    driver("cuMemcpyDtoH_v2", back, memory, c_size_t(4))
    wanted = 3.0 * 2 ** (_ROUNDS - 1)
    if back[0] != wanted:
        raise ValueError(f"the sum is {back[0]} instead of {wanted}")
    nccl("ncclCommDestroy", comm)
    return {"join_seconds": joined, "all_reduce_seconds": took, "version": version.value}
