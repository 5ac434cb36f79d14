"""The fake driver's memory: addresses, physical memory, limits, copies, and what it refuses."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fake_driver import GRANULE, MIB, Access, Driver, gpu_memory
from toolkit.fakes import fake_calls, fake_environment, fake_library

INVALID, OUT_OF_MEMORY, ILLEGAL_ADDRESS = 1, 2, 700
WANTED = 0x3_0000_0000_00


def test_reserves_the_wanted_address(driver: Driver) -> None:
    assert driver.reserve(1 << 36, WANTED) == WANTED
    assert driver.reserve(1 << 36, WANTED) != WANTED  # a hint only


def test_physical_memory_keeps_its_content_across_mappings(driver: Driver) -> None:
    start, handle = driver.reserve(4 * GRANULE), driver.create(GRANULE)
    driver.map(start, GRANULE, handle)
    driver.write(start, b"kept")
    driver.unmap(start, GRANULE)
    assert driver.cuMemcpyDtoH_v2(ctypes.create_string_buffer(4), ctypes.c_uint64(start), ctypes.c_size_t(4)) == INVALID
    driver.map(start + GRANULE, GRANULE, handle)
    assert driver.read(start + GRANULE, 4) == b"kept"


def test_copies_span_mappings_but_not_gaps(driver: Driver) -> None:
    start = driver.reserve(4 * GRANULE)
    for place in (0, 1, 3):
        driver.map(start + place * GRANULE, GRANULE, driver.create(GRANULE))
    driver.write(start + GRANULE - 2, b"span")
    assert driver.read(start + GRANULE - 2, 4) == b"span"
    gap = ctypes.c_uint64(start + 2 * GRANULE - 2)
    assert driver.cuMemcpyHtoD_v2(gap, b"gap.", ctypes.c_size_t(4)) == INVALID


def test_mapped_memory_needs_access(driver: Driver) -> None:
    start, handle = driver.reserve(GRANULE), driver.create(GRANULE)
    where, size = ctypes.c_uint64(start), ctypes.c_size_t(GRANULE)
    driver.ok("cuMemMap", where, size, ctypes.c_size_t(0), ctypes.c_uint64(handle), 0)
    assert driver.cuMemcpyHtoD_v2(where, b"x", ctypes.c_size_t(1)) == INVALID
    access = Access((1, 0), 3)
    driver.ok("cuMemSetAccess", where, size, ctypes.byref(access), ctypes.c_size_t(1))
    driver.write(start, b"x")


def test_memory_is_limited_and_comes_back(driver: Driver) -> None:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    handle = driver.create(60 * MIB)
    out, size = ctypes.c_uint64(), ctypes.c_size_t(6 * MIB)
    assert driver.cuMemCreate(ctypes.byref(out), size, ctypes.byref(gpu_memory()), 0) == OUT_OF_MEMORY
    assert driver.cuMemAlloc_v2(ctypes.byref(out), size) == OUT_OF_MEMORY
    driver.ok("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    assert (free.value, total.value) == (4 * MIB, 64 * MIB)
    start = driver.reserve(60 * MIB)
    driver.map(start, 60 * MIB, handle)
    driver.ok("cuMemRelease", ctypes.c_uint64(handle))
    assert driver.cuMemAlloc_v2(ctypes.byref(out), size) == OUT_OF_MEMORY  # still mapped
    driver.unmap(start, 60 * MIB)
    driver.allocate(6 * MIB)


def test_retained_memory_stays_and_only_what_was_made_for_it_is_exported(driver: Driver) -> None:
    file, other = ctypes.c_int(-1), ctypes.c_int(-1)
    start, plain = driver.reserve(2 * GRANULE), driver.create(GRANULE)
    asked = gpu_memory()
    asked.handles = 1
    exported = driver.make("cuMemCreate", ctypes.c_size_t(GRANULE), ctypes.byref(asked), 0)
    for place, handle in ((start, plain), (start + GRANULE, exported)):
        driver.map(place, GRANULE, handle)
        assert driver.make("cuMemRetainAllocationHandle", ctypes.c_void_p(place + 8)) == handle
        driver.ok("cuMemRelease", ctypes.c_uint64(handle))
        driver.unmap(place, GRANULE)
    assert driver.cuMemExportToShareableHandle(ctypes.byref(other), ctypes.c_uint64(plain), 1, 0) == INVALID
    driver.ok("cuMemExportToShareableHandle", ctypes.byref(file), ctypes.c_uint64(exported), 1, 0)
    os.close(file.value)
    for handle in (plain, exported):
        driver.ok("cuMemRelease", ctypes.c_uint64(handle))
        assert driver.cuMemRelease(ctypes.c_uint64(handle)) == INVALID


@pytest.mark.parametrize("size", [0, 4096, GRANULE + 1])
def test_sizes_must_be_granular(driver: Driver, size: int) -> None:
    out = ctypes.c_uint64()
    assert driver.cuMemAddressReserve(ctypes.byref(out), ctypes.c_size_t(size), ctypes.c_size_t(0), None, 0) == INVALID
    assert driver.cuMemCreate(ctypes.byref(out), ctypes.c_size_t(size), ctypes.byref(gpu_memory()), 0) == INVALID


def test_unmapping_takes_whole_mappings(driver: Driver) -> None:
    start = driver.reserve(2 * GRANULE)
    driver.map(start, 2 * GRANULE, driver.create(2 * GRANULE))
    assert driver.cuMemUnmap(ctypes.c_uint64(start), ctypes.c_size_t(GRANULE)) == INVALID
    assert driver.cuMemAddressFree(ctypes.c_uint64(start), ctypes.c_size_t(2 * GRANULE)) == INVALID
    driver.unmap(start, 2 * GRANULE)
    driver.ok("cuMemAddressFree", ctypes.c_uint64(start), ctypes.c_size_t(2 * GRANULE))


def test_work_on_memory_unmapped_meanwhile_is_a_sticky_fault(driver: Driver) -> None:
    start, stream = driver.reserve(GRANULE), driver.stream()
    driver.map(start, GRANULE, driver.create(GRANULE))
    gate = driver.gate(stream)
    driver.fill(start, 1, 16, stream)
    driver.unmap(start, GRANULE)
    gate.open()
    assert driver.cuStreamSynchronize(ctypes.c_void_p(stream)) == ILLEGAL_ADDRESS
    out = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(out), ctypes.c_size_t(16)) == ILLEGAL_ADDRESS
    assert driver.query(stream) == ILLEGAL_ADDRESS


def test_pageable_memory_is_read_by_the_call_pinned_memory_by_the_work(driver: Driver) -> None:
    stream, target = driver.stream(), driver.allocate(16)
    pinned = driver.make("cuMemHostAlloc", ctypes.c_size_t(8), 2)
    pageable = ctypes.create_string_buffer(b"old page", 8)
    ctypes.memmove(pinned, b"old pin.", 8)
    gate = driver.gate(stream)
    for place, source in ((0, ctypes.addressof(pageable)), (8, pinned)):
        where, size = ctypes.c_uint64(target + place), ctypes.c_size_t(8)
        driver.ok("cuMemcpyHtoDAsync_v2", where, ctypes.c_void_p(source), size, ctypes.c_void_p(stream))
    ctypes.memmove(pageable, b"new page", 8)
    ctypes.memmove(pinned, b"new pin.", 8)
    gate.open()
    driver.synchronize(stream)
    assert driver.read(target, 16) == b"old pagenew pin."


def test_registered_host_memory(driver: Driver) -> None:
    host = ctypes.create_string_buffer(8192)
    address, size = ctypes.c_void_p(ctypes.addressof(host)), ctypes.c_size_t(8192)
    assert driver.cuMemHostUnregister(address) == 713
    driver.ok("cuMemHostRegister_v2", address, size, 0)
    assert driver.cuMemHostRegister_v2(address, size, 0) == 712
    assert driver.make("cuMemHostGetDevicePointer_v2", address, 0) == address.value
    driver.ok("cuMemHostUnregister", address)


def test_rectangles(driver: Driver) -> None:
    stream, start = driver.stream(), driver.allocate(64)
    driver.fill(start, 0, 64, stream)
    wide = (ctypes.c_size_t(16), 0xBEEF, ctypes.c_size_t(2), ctypes.c_size_t(3), ctypes.c_void_p(stream))
    driver.ok("cuMemsetD2D16Async", ctypes.c_uint64(start + 4), *wide)
    driver.synchronize(stream)
    content = driver.read(start, 64)
    assert [content[row * 16 + 4 : row * 16 + 8] for row in range(4)] == [b"\xef\xbe\xef\xbe"] * 3 + [bytes(4)]
    assert content.count(b"\xef") == 6


def test_the_log_has_arguments_bytes_and_results(driver: Driver, fake_log: Path) -> None:
    start = driver.allocate(8)
    driver.write(start, b"\x01\xfe")
    driver.cuMemFree_v2(ctypes.c_uint64(5))
    calls = {each.name: each for each in fake_calls(fake_log) if not each.runs}
    assert calls["cuMemAlloc_v2"].args == {"size": 8, "out": hex(start)}
    assert calls["cuMemcpyHtoD_v2"].args["bytes"] == "01fe"
    assert calls["cuMemcpyHtoD_v2"].args["to"] == hex(start)
    assert calls["cuMemFree_v2"].result == INVALID
    assert [each.id for each in fake_calls(fake_log) if each.runs] == [calls["cuMemcpyHtoD_v2"].id]


def test_the_host_cannot_touch_device_memory() -> None:
    program = (
        "import ctypes,sys; d=ctypes.CDLL(sys.argv[1]); d.cuInit(0); c=ctypes.c_void_p();"
        "d.cuDevicePrimaryCtxRetain(ctypes.byref(c),0); d.cuCtxSetCurrent(c); a=ctypes.c_uint64();"
        "assert d.cuMemAlloc_v2(ctypes.byref(a),ctypes.c_size_t(64))==0; ctypes.string_at(a.value,1)"
    )
    command = [sys.executable, "-S", "-c", program, str(fake_library("cuda"))]
    done = subprocess.run(command, check=False, env=fake_environment(), stderr=subprocess.DEVNULL)
    assert done.returncode == -signal.SIGSEGV
