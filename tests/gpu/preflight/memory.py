"""Probes of memory: addresses that the driver gives, mappings, host memory that the GPU reads, killed processes."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import select
import statistics
import sys
import time
from ctypes import byref, c_size_t, c_uint64
from itertools import pairwise
from pathlib import Path
from typing import Any

from . import ptx
from .driver import GIB, HOST_MAPPED, HOST_PORTABLE, MIB, Access, Driver, Place, Properties, Refused
from .parts import Part

BASES = (0x2000_0000_0000, 0x1000_0000_0000, 0x4000_0000_0000, 0x6000_0000_0000)
#: Of one mapping; a size that the GPU has no room for is left out.
SIZES = (2 * MIB, 32 * MIB, 512 * MIB, 4 * GIB)
_RANGE, _SMALL_RANGE = 2 << 40, 256 * GIB
_HOST_BYTES = 64 * MIB
#: What a killed process holds: at most a quarter of what is free.
_HELD_BYTES = 16 * GIB
#: Memory counts as free again when so much less than before is missing.
_SLACK = 64 * MIB
_WAIT_SECONDS = 10.0
#: Of the host's memory that the killed process has told the GPU of: at most a quarter of what there is room for.
_HOST_HELD_BYTES, _REGISTER_SECONDS = 16 * GIB, 30.0
_CONTROL_GROUP = Path("/sys/fs/cgroup")
_VALUES = tuple(at / 4 for at in range(64))


class Physical:
    """Memory of the GPU without an address yet."""

    def __init__(self, driver: Driver, device: int, size: int) -> None:
        self.driver, self.size, self.access = driver, size, Access(Place(1, device), 3)
        properties = Properties(1, 0, Place(1, device))
        self.handle = driver.handle("cuMemCreate", c_size_t(size), byref(properties), c_uint64(0))

    def map(self, address: int) -> None:
        at, size, zero = c_uint64(address), c_size_t(self.size), c_uint64(0)
        self.driver("cuMemMap", at, size, c_size_t(0), self.handle, zero)

    def allow(self, address: int) -> None:
        at, size = c_uint64(address), c_size_t(self.size)
        self.driver("cuMemSetAccess", at, size, byref(self.access), c_size_t(1))

    def unmap(self, address: int) -> None:
        self.driver("cuMemUnmap", c_uint64(address), c_size_t(self.size))

    def release(self) -> None:
        self.driver("cuMemRelease", self.handle)


def addresses(request: dict[str, Any]) -> dict[str, Any]:
    """Which wanted addresses come, with and without a context, and whether memory mapped there can be used."""
    driver = Driver(request["driver"])
    driver("cuInit", 0)
    bare = [_wanted(driver, _RANGE, base) for base in BASES]
    device = driver.context()
    _, total = driver.memory()
    found, seen = [], set[tuple[int, int]]()
    for size in (_RANGE, _SMALL_RANGE, 2 * total // (2 * MIB) * (2 * MIB)):
        for base in BASES:
            one = _wanted(driver, size, base)
            if one["honoured"] and (size, base) not in seen:
                one["usable"] = _usable(driver, device, size, base)
            seen.add((size, base))
            found.append(one)
    return {"without_context": bare, "with_context": found, "honoured": sum(one["honoured"] for one in found)}


def _wanted(driver: Driver, size: int, base: int) -> dict[str, Any]:
    one: dict[str, Any] = {"gib": size // GIB, "base": hex(base), "honoured": False}
    begin = time.perf_counter()
    try:
        got = driver.reserve(size, base)
    except Refused as error:
        return one | {"error": str(error)}
    one |= {"seconds": time.perf_counter() - begin, "got": hex(got), "honoured": got == base}
    driver("cuMemAddressFree", c_uint64(got), c_size_t(size))
    return one


def _usable(driver: Driver, device: int, size: int, base: int) -> str:
    """Maps a little at both ends, writes it and reads it back."""
    try:
        at = driver.reserve(size, base)
        for address in (at, at + size - 2 * MIB):
            memory = Physical(driver, device, 2 * MIB)
            memory.map(address)
            memory.allow(address)
            driver("cuMemsetD8_v2", c_uint64(address), 7, c_size_t(2 * MIB))
            back = ctypes.create_string_buffer(64)
            driver("cuMemcpyDtoH_v2", back, c_uint64(address), c_size_t(64))
            if back.raw != b"\7" * 64:
                return "other bytes came back"
            memory.unmap(address)
            memory.release()
        driver("cuMemAddressFree", c_uint64(at), c_size_t(size))
    except Refused as error:
        return str(error)
    return "yes"


def mapping(request: dict[str, Any]) -> dict[str, Any]:
    """Milliseconds of each call, by size."""
    driver = Driver(request["driver"])
    device = driver.context()
    free, _ = driver.memory()
    found = {}
    for size in (one for one in SIZES if one < free // 2):
        at, marks = driver.reserve(size, 0), [time.perf_counter()]
        memory = Physical(driver, device, size)
        for act in (None, memory.map, memory.allow, memory.unmap):
            if act is not None:
                act(at)
            marks.append(time.perf_counter())
        memory.release()
        marks.append(time.perf_counter())
        names = ("create", "map", "set_access", "unmap", "release")
        took = (1000 * (end - begin) for begin, end in pairwise(marks))
        found[f"{size // MIB} MiB"] = dict(zip(names, took, strict=True))
        driver("cuMemAddressFree", c_uint64(at), c_size_t(size))
    return found


class HostMemory:
    """A sealed memfd's mapping, as jitc shares pinned memory."""

    def __init__(self, size: int) -> None:
        self.descriptor = os.memfd_create("gpu-check", os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, size)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self.map = mmap.mmap(self.descriptor, size)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.size = size

    def register(self, driver: Driver) -> int:
        """What the GPU knows it by."""
        at = ctypes.c_void_p(self.address)
        driver("cuMemHostRegister_v2", at, c_size_t(self.size), HOST_PORTABLE | HOST_MAPPED)
        return driver.handle("cuMemHostGetDevicePointer_v2", at, 0).value


def host_memory(request: dict[str, Any]) -> dict[str, Any]:
    """Whether the GPU reads such memory at the host's own address, and how long registering takes."""
    driver = Driver(request["driver"])
    driver.context()
    memory = HostMemory(_HOST_BYTES)
    (ctypes.c_float * len(_VALUES)).from_address(memory.address)[:] = _VALUES
    begin = time.perf_counter()
    device = memory.register(driver)
    took = time.perf_counter() - begin
    seen = _added(driver, driver.allocate(2 * MIB), c_uint64(device))
    driver("cuMemHostUnregister", ctypes.c_void_p(memory.address))
    return {
        "device_pointer_is_host_pointer": device == memory.address, "mib": _HOST_BYTES // MIB,
        "register_seconds": took, "read_by_the_gpu": seen == _VALUES,
    }  # fmt: skip


def _added(driver: Driver, to: c_uint64, host: c_uint64) -> tuple[float, ...]:
    """What a kernel finds in the host's memory."""
    count = len(_VALUES)
    driver("cuMemsetD8_v2", to, 0, c_size_t(4 * count))
    kernel = driver.function(driver.module(ptx.ARITHMETIC), "axpy_f32")
    driver.launch(kernel, None, to, host, ctypes.c_float(1.0), c_uint64(count))
    back = (ctypes.c_float * count)()
    driver("cuMemcpyDtoH_v2", back, to, c_size_t(4 * count))
    return tuple(back)


def holder(request: dict[str, Any]) -> dict[str, Any]:
    """A part: holds memory of the GPU, and of the host that the GPU knows, until it is killed, busy or not."""
    driver = Driver(request["driver"])
    driver.context()
    driver("cuMemsetD8_v2", driver.allocate(request["bytes"]), 1, c_size_t(2 * MIB))
    driver("cuCtxSynchronize")
    begin, host = time.perf_counter(), None
    if request["host_bytes"]:
        host = HostMemory(request["host_bytes"])
        host.register(driver)
    took = time.perf_counter() - begin
    if request["busy"]:
        module = driver.module(ptx.ENDLESS)
        driver.launch(driver.function(module, "jitc_endless_kernel"), None)
    print(json.dumps({"ok": True, "data": {"register_seconds": took}}), file=request["answers"], flush=True)
    sys.stdin.readline()
    return {}


def killed_process(request: dict[str, Any]) -> dict[str, Any]:
    """How long after SIGKILL its process is gone, and its memory free."""
    return _killed(request)


def killed_with_host_memory(request: dict[str, Any]) -> dict[str, Any]:
    """The same where the GPU knows much of the host's memory, as it does a worker's boundaries: the kernel gives that
    back page by page before anybody hears of the end."""
    return _killed(request, host_bytes=min(_HOST_HELD_BYTES, host_room() // 4) // (2 * MIB) * (2 * MIB))


def killed_busy_process(request: dict[str, Any]) -> dict[str, Any]:
    """The same while a kernel of it does not end."""
    return _killed(request, busy=True)


def host_room() -> int:
    """Bytes of the host's memory that may still be used, also by this process's control group."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    room = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    with contextlib.suppress(OSError, ValueError):  # there is none, or no limit ("max")
        limit, used = (int((_CONTROL_GROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        room = min(room, max(0, limit - used))
    return room


def _killed(request: dict[str, Any], busy: bool = False, host_bytes: int = 0) -> dict[str, Any]:
    driver = Driver(request["driver"])
    driver.context()
    before, _ = driver.memory()
    size = min(_HELD_BYTES, before // 4) // (2 * MIB) * (2 * MIB)
    with Part("holder", request | {"bytes": size, "busy": busy, "host_bytes": host_bytes}) as part:
        registered = part.result(_REGISTER_SECONDS)["register_seconds"]
        held, _ = driver.memory()
        begin = time.perf_counter()
        heard = _heard_of_its_end(part)
        part.process.wait(_WAIT_SECONDS)
        ended = time.perf_counter() - begin
        while before - (now := driver.memory()[0]) > _SLACK and time.perf_counter() - begin < _WAIT_SECONDS:
            time.sleep(0.002)
        freed = time.perf_counter() - begin
    return {
        "held_bytes": size, "seen_missing": before - held, "process_gone_seconds": ended, "memory_free_seconds": freed,
        "still_missing": before - now, "host_bytes": host_bytes, "register_seconds": registered,
    } | heard  # fmt: skip


def _heard_of_its_end(part: Part) -> dict[str, float]:
    """Kills it; when its descriptor of a pipe is closed, and when its pidfd becomes readable, as jitc watches both."""
    assert part.process.stdout is not None
    process = os.pidfd_open(part.process.pid)
    awaited = {part.process.stdout.fileno(): "pipe_closed_seconds", process: "pidfd_readable_seconds"}
    heard: dict[str, float] = {}
    begin = time.perf_counter()
    part.process.kill()
    while awaited and time.perf_counter() - begin < _WAIT_SECONDS:
        for ready in select.select(list(awaited), (), (), _WAIT_SECONDS)[0]:
            heard[awaited.pop(ready)] = time.perf_counter() - begin
    os.close(process)
    return heard


def median_us(seconds: list[float]) -> dict[str, float]:
    return {"median_us": 1e6 * statistics.median(seconds), "most_us": 1e6 * max(seconds)}
