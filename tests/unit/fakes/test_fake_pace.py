"""The fake driver's clock: by the device's own time, what takes how long, what runs beside what, what comes after."""

from __future__ import annotations

import ctypes
import itertools
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_driver import MIB, Driver

#: 1 GB/s over the bus, 10 GB/s through memory: 1 MB takes 1000 us or 100 us. A kernel takes 5 us at least.
PACE = "bus=1,memory=10,launch=20,kernel=5,clock=device"
MB = 1_000_000
Paced = Callable[[str], Driver]


@pytest.fixture
def paced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paced:
    monkeypatch.setenv("JITC_FAKE_MEMORY", str(64 * MIB))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def start(pace: str) -> Driver:
        monkeypatch.setenv("JITC_FAKE_PACE", pace)
        return Driver(tmp_path)

    return start


@pytest.fixture
def device(paced: Paced) -> Driver:
    one = paced(PACE)
    one.start()
    return one


def marked(device: Driver, stream: int) -> int:
    event = device.event()
    device.record(event, stream)
    return event


def microseconds(device: Driver, first: int, last: int) -> float:
    device.ok("cuCtxSynchronize")
    out = ctypes.c_float()
    device.ok("cuEventElapsedTime", ctypes.byref(out), ctypes.c_void_p(first), ctypes.c_void_p(last))
    return round(out.value * 1000, 3)


def busy(device: Driver, stream: int, microseconds: int, kernel: str = "busy") -> None:
    assert device.launch(device.kernel(kernel), stream, struct.pack("<Q", microseconds * 1000)) == 0


def to_host(device: Driver, stream: int, size: int) -> None:
    """From new memory to new pinned memory."""
    host, source = device.make("cuMemHostAlloc", ctypes.c_size_t(size), 0), device.allocate(size)
    device.ok("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(host), ctypes.c_uint64(source), ctypes.c_size_t(size),
              ctypes.c_void_p(stream))  # fmt: skip


def test_kernels_and_copies_take_their_time(device: Driver) -> None:
    stream, memory = device.stream(), device.allocate(2 * MB)
    events = [marked(device, stream)]
    for work in (
        lambda: busy(device, stream, 70),
        lambda: device.launch(device.kernel("empty"), stream),
        lambda: to_host(device, stream, MB),
        lambda: device.fill(memory, 1, MB, stream),
        lambda: device.copy(memory, memory + MB, MB, stream),
        lambda: device.launch(device.kernel("fill_f32"), stream, struct.pack("<QffQ", memory, 1, 0, MB // 4)),
    ):
        work()
        events.append(marked(device, stream))
    taken = [microseconds(device, first, last) for first, last in itertools.pairwise(events)]
    assert taken == [70, 5, 1000, 100, 200, 100]


def test_a_copy_runs_beside_kernels_and_kernels_one_by_one(device: Driver) -> None:
    one, other, third = (device.stream() for _ in range(3))
    begin = marked(device, one)
    busy(device, one, 300)
    to_host(device, other, MB)
    copied = marked(device, other)
    computed = marked(device, one)
    assert microseconds(device, begin, copied) == 1000
    assert microseconds(device, begin, computed) == 300
    for stream in (one, other, third):  # a device has one compute engine; which comes first is not said
        device.wait(stream, copied)
        busy(device, stream, 100)
    ends = sorted(microseconds(device, copied, marked(device, stream)) for stream in (one, other, third))
    assert ends == [100, 200, 300]


def test_links_run_beside_kernels(device: Driver) -> None:
    one, other = device.stream(), device.stream()
    begin = marked(device, one)
    busy(device, one, 300)
    busy(device, other, 400, "link_busy")
    assert microseconds(device, begin, marked(device, other)) == 400


def test_work_begins_after_what_it_waits_for(device: Driver) -> None:
    one, other = device.stream(), device.stream()
    begin = marked(device, one)
    busy(device, one, 300)
    device.wait(other, marked(device, one))
    to_host(device, other, MB)
    assert microseconds(device, begin, marked(device, other)) == 1300


def test_by_the_hosts_clock_work_takes_at_least_its_time(paced: Paced) -> None:
    device = paced("kernel=20000")
    device.start()
    stream = device.stream()
    first, began = marked(device, stream), time.monotonic()
    device.launch(device.kernel("empty"), stream)
    device.synchronize(stream)
    assert time.monotonic() - began > 0.0199  # it may be told a little before the model's time
    assert microseconds(device, first, marked(device, stream)) >= 20000


def test_hashing_costs_the_bytes_of_its_ranges(device: Driver) -> None:
    stream, memory = device.stream(), device.allocate(2 * MB)
    table, sums = device.allocate(64), device.allocate(64)
    device.write(table, struct.pack("<6Q", memory, MB // 2, 0, memory + MB, MB // 2, 100))
    device.write(sums, bytes(32))
    begin = marked(device, stream)
    hashing = device.kernel("jitc_hash")
    assert device.launch(hashing, stream, struct.pack("<QIIQQ", table, 2, 0, 200, sums), (2, 1, 1, 64, 1, 1, 0)) == 0
    assert microseconds(device, begin, marked(device, stream)) == 100


def test_hashes_are_those_of_a_device_without_a_pace(paced: Paced, device: Driver, driver: Driver) -> None:
    content = bytes(range(251)) * 4000
    assert hashed(device, content) == hashed(driver, content) != bytes(16)


def hashed(device: Driver, content: bytes) -> bytes:
    """By the kernel, as the worker launches it: a piece is 32 stripes of 4096 bytes (hash_kernel.cu)."""
    memory, table, sums = (device.allocate(max(64, size)) for size in (len(content), 0, 0))
    device.write(memory, content)
    device.write(table, struct.pack("<3Q", memory, len(content), 0))
    device.write(sums, bytes(16))
    pieces = -(-len(content) // (32 * 4096))
    hashing = device.kernel("jitc_hash")
    assert device.launch(hashing, 0, struct.pack("<QIIQQ", table, 1, 0, pieces, sums), (2, 1, 1, 64, 1, 1, 0)) == 0
    return device.read(sums, 16)


@pytest.mark.parametrize("pace", ["fast", "bus=", "bus=-1", "bus=1x", "clock=host", "h100,,"])
def test_a_pace_that_cannot_be_read_is_refused(paced: Paced, pace: str, capfd: pytest.CaptureFixture[str]) -> None:
    device, context = paced(pace), ctypes.c_uint64()
    device.ok("cuInit", 0)
    assert device.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 1
    assert f"JITC_FAKE_PACE={pace}" in capfd.readouterr().err
