"""What single calls cost, without PyTorch: `costs DRIVER` (a path; none: what is preloaded); a line of JSON per part.

The loops are native (gpu/native/loops.cpp). Called by: steps/driver.py, with and without the proxy.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import statistics
import sys
import time
from collections.abc import Callable
from ctypes import byref, c_double, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from ..places import ROOT
from ..preflight import ptx
from ..preflight.driver import GIB, MIB, NON_BLOCKING, Driver, Refused
from . import answers

LAUNCHES, ROUND_TRIPS, READS, QUERIES = 10_000, 300, 300, 2_000
#: Of one copy, and how many; less on a GPU that is none.
COPY_BYTES, COPIES = 128 * MIB, 4
LIVE_BYTES, LIVE_BLOCKS, BOUNDARIES = GIB, 16, 8


class LiveBlock(ctypes.Structure):
    """Of jitc's own interface (jitc/client_api.h)."""

    _fields_ = (("address", c_uint64), ("bytes", c_uint64), ("ordinal", c_uint64))


class Costs:
    """A stream of its own, and the empty kernel."""

    def __init__(self, driver: Driver) -> None:
        driver.context()
        self.driver, self.loops = driver, ctypes.CDLL(str(loops_library()))
        self.stream = driver.handle("cuStreamCreate", NON_BLOCKING)
        self.empty = driver.function(driver.module(ptx.EMPTY), "empty")
        self.scale = 1 if driver.memory()[1] > 8 * GIB else 16

    def launches(self) -> dict[str, Any]:
        self._launched(100)
        issued, done = self._launched(LAUNCHES)
        return {"count": LAUNCHES, "client_us": 1e6 * issued / LAUNCHES, "until_done_us": 1e6 * done / LAUNCHES}

    def _launched(self, count: int) -> tuple[float, float]:
        issued, done = c_double(), c_double()
        self._loop("launches", *self._launch(), count, byref(issued), byref(done))
        return issued.value, done.value

    def round_trips(self) -> dict[str, Any]:
        each = (c_double * ROUND_TRIPS)()
        self._loop("round_trips", *self._launch(), ROUND_TRIPS, each)
        return _median_us(each)

    def reads(self) -> dict[str, Any]:
        each, memory = (c_double * READS)(), self.driver.allocate(2 * MIB)
        self.driver("cuMemsetD8_v2", memory, 0, c_size_t(64))
        self._loop("reads", self._address("cuMemcpyDtoH_v2"), memory, READS, each)
        return _median_us(each)

    def event_queries(self) -> dict[str, Any]:
        event, seconds = self.driver.handle("cuEventCreate", 2), c_double()
        self.driver("cuEventRecord", event, self.stream)
        self.driver("cuEventSynchronize", event)
        self._loop("queries", self._address("cuEventQuery"), event, QUERIES, byref(seconds))
        return {"us": 1e6 * seconds.value / QUERIES}

    def copies(self) -> dict[str, Any]:
        """GB/s, the fastest of each kind: the first one touches fresh memory."""
        size, driver = COPY_BYTES // self.scale, self.driver
        device, pinned = driver.allocate(size), c_void_p()
        driver("cuMemHostAlloc", byref(pinned), c_size_t(size), 0)
        pageable = mmap.mmap(-1, size)
        places = {"pinned": pinned, "pageable": c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(pageable)))}
        found: dict[str, Any] = {"mib": size // MIB}
        for name, host in places.items():
            ctypes.memset(host, 1, size)
            found[f"h2d_{name}"] = self._rate(size, "cuMemcpyHtoDAsync_v2", device, host)
            found[f"d2h_{name}"] = self._rate(size, "cuMemcpyDtoHAsync_v2", host, device)
        return found

    def _rate(self, size: int, name: str, to: Any, source: Any) -> float:
        took = []
        for _ in range(COPIES):
            begin = time.perf_counter()
            self.driver(name, to, source, c_size_t(size), self.stream)
            self.driver("cuStreamSynchronize", self.stream)
            took.append(time.perf_counter() - begin)
        return size / min(took) / 1e9

    def boundaries(self) -> dict[str, Any]:
        """Optimizer steps that change all of so much live memory; the worker tells where the time goes."""
        size, count = LIVE_BYTES // self.scale // LIVE_BLOCKS, LIVE_BLOCKS
        interposer = ctypes.CDLL(None)
        memory = [self.driver.allocate(size) for _ in range(count)]
        blocks = (LiveBlock * count)(*(LiveBlock(one.value, size, at) for at, one in enumerate(memory, 1)))
        for one in memory:
            interposer.jitc_follow_memory(one, c_size_t(size), 1)
        took = []
        for number in range(BOUNDARIES):
            begin = time.perf_counter()
            interposer.jitc_step_begin_live(blocks, c_size_t(count))
            for one in memory:
                self.driver("cuMemsetD8Async", one, number, c_size_t(size), None)
            interposer.jitc_step_end(blocks, c_size_t(count))
            self.driver("cuCtxSynchronize")
            took.append(time.perf_counter() - begin)
        return {"live_mib": size * count // MIB, "seconds": took}

    def _launch(self) -> tuple[Any, ...]:
        return self._address("cuLaunchKernel"), self._address("cuStreamSynchronize"), self.empty, self.stream

    def _address(self, name: str) -> c_void_p:
        return ctypes.cast(getattr(self.driver.library, name), c_void_p)

    def _loop(self, name: str, *arguments: Any) -> None:
        code = getattr(self.loops, f"gpu_loop_{name}")(*arguments)
        if code:
            raise Refused(f"a call in the loop of {name}", code, "an error of the driver")


def loops_library() -> Path:
    """Beside the carried package, or where the build puts it."""
    carried = Path(__file__).resolve().parent.parent / "native" / "libgpu_loops.so"
    built = sorted(ROOT.glob("build/*/tests/libgpu_loops.so"), key=lambda path: path.stat().st_mtime)
    return built[-1] if not carried.exists() and built else carried


def _median_us(seconds: Any) -> dict[str, float]:
    ordered = sorted(seconds)
    return {"median_us": 1e6 * statistics.median(ordered), "high_us": 1e6 * ordered[len(ordered) * 9 // 10]}


def main(path: str) -> int:
    out = answers()
    costs = Costs(Driver(path or None))
    parts: list[Callable[[], dict[str, Any]]] = [
        costs.launches, costs.round_trips, costs.reads, costs.event_queries, costs.copies
    ]  # fmt: skip
    if not path:
        parts.append(costs.boundaries)
    for part in parts:
        try:
            answer = {"name": part.__name__, "ok": True, "data": part()}
        except (Refused, OSError, AttributeError) as error:
            answer = {"name": part.__name__, "ok": False, "error": str(error)}
        print(json.dumps(answer), file=out)
    sys.stdin.readline()  # the worker is asked about this session before it ends
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
