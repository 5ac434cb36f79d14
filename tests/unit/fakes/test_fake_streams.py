"""The fake driver's streams and events: order between streams, queries, sticky errors, values in memory."""

from __future__ import annotations

import ctypes
import struct
import threading
from pathlib import Path

import pytest
from fake_driver import SECONDS, Driver, HostFunction

NOT_READY, INVALID_HANDLE, NOT_PERMITTED = 600, 400, 800


def word(driver: Driver) -> int:
    """A 64-bit word in pinned memory."""
    address = driver.make("cuMemHostAlloc", ctypes.c_size_t(8), 2)
    ctypes.memset(address, 0, 8)
    return address


def value(address: int) -> int:
    return int(struct.unpack("<Q", ctypes.string_at(address, 8))[0])


def write_value(driver: Driver, stream: int, address: int, number: int) -> None:
    arguments = (ctypes.c_uint64(address), ctypes.c_uint64(number), 0)
    driver.ok("cuStreamWriteValue64_v2", ctypes.c_void_p(stream), *arguments)


def test_streams_run_beside_each_other_and_in_order(driver: Driver) -> None:
    held, free, address = driver.stream(), driver.stream(), word(driver)
    gate = driver.gate(held)
    write_value(driver, held, address, 1)
    driver.synchronize(free)
    assert driver.query(held) == NOT_READY and value(address) == 0
    gate.open()
    driver.synchronize(held)
    assert value(address) == 1 and driver.query(held) == 0


def test_an_event_orders_two_streams(driver: Driver) -> None:
    first, second, address, event = driver.stream(), driver.stream(), word(driver), driver.event()
    gate = driver.gate(first)
    write_value(driver, first, address, 1)
    driver.record(event, first)
    driver.wait(second, event)
    seen: list[int] = []
    function = HostFunction(lambda _: seen.append(value(address)))
    driver.ok("cuLaunchHostFunc", ctypes.c_void_p(second), function, None)
    assert driver.cuEventQuery(ctypes.c_void_p(event)) == NOT_READY
    gate.open()
    driver.synchronize(second)
    assert seen == [1] and driver.cuEventQuery(ctypes.c_void_p(event)) == 0


def test_a_wait_means_the_record_before_it(driver: Driver) -> None:
    first, second, event = driver.stream(), driver.stream(), driver.event()
    driver.wait(second, event)  # never recorded: nothing to wait for
    driver.record(event, first)
    driver.wait(second, event)
    gate = driver.gate(first)
    driver.record(event, first)
    driver.synchronize(second)
    gate.open()


@pytest.mark.parametrize("default", [0, 1])
def test_the_default_stream_and_blocking_streams_wait_for_each_other(driver: Driver, default: int) -> None:
    blocking, free = driver.stream(0), driver.stream(1)
    gate = driver.gate(blocking)
    address = word(driver)
    write_value(driver, default, address, 1)
    driver.synchronize(free)
    assert value(address) == 0 and driver.query(default) == NOT_READY
    gate.open()
    driver.synchronize(default)
    gate = driver.gate(default)
    write_value(driver, blocking, address, 2)
    write_value(driver, free, address + 0, 7)
    driver.synchronize(free)
    assert value(address) == 7
    gate.open()
    driver.synchronize(blocking)
    assert value(address) == 2


def test_a_stream_waits_for_a_value(driver: Driver) -> None:
    waiting, writing, address = driver.stream(), driver.stream(), word(driver)
    arguments = (ctypes.c_uint64(address), ctypes.c_uint64(5), 0)
    driver.ok("cuStreamWaitValue64_v2", ctypes.c_void_p(waiting), *arguments)
    assert driver.query(waiting) == NOT_READY
    write_value(driver, writing, address, 4)
    driver.synchronize(writing)
    assert driver.query(waiting) == NOT_READY
    write_value(driver, writing, address, 6)
    driver.synchronize(waiting)


def test_a_destroyed_stream_still_finishes(driver: Driver) -> None:
    stream, address, done = driver.stream(), word(driver), threading.Event()
    gate = driver.gate(stream)
    write_value(driver, stream, address, 3)
    function = HostFunction(lambda _: done.set())
    driver.ok("cuLaunchHostFunc", ctypes.c_void_p(stream), function, None)
    driver.ok("cuStreamDestroy_v2", ctypes.c_void_p(stream))
    assert driver.query(stream) == INVALID_HANDLE
    gate.open()
    assert done.wait(SECONDS) and value(address) == 3


def test_elapsed_time_needs_two_reached_events(driver: Driver) -> None:
    stream, first, last, time = driver.stream(), driver.event(), driver.event(), ctypes.c_float(-1)
    handles = (ctypes.byref(time), ctypes.c_void_p(first), ctypes.c_void_p(last))
    assert driver.cuEventElapsedTime_v2(*handles) == INVALID_HANDLE
    driver.record(first, stream)
    gate = driver.gate(stream)
    driver.record(last, stream)
    assert driver.cuEventElapsedTime_v2(*handles) == NOT_READY
    gate.open()
    driver.ok("cuEventSynchronize", ctypes.c_void_p(last))
    driver.ok("cuEventElapsedTime_v2", *handles)
    assert time.value >= 0


def test_a_host_function_must_not_call_the_driver(driver: Driver) -> None:
    stream, results = driver.stream(), list[int]()
    function = HostFunction(lambda _: results.append(driver.cuStreamQuery(ctypes.c_void_p(stream))))
    driver.ok("cuLaunchHostFunc", ctypes.c_void_p(stream), function, None)
    driver.synchronize(stream)
    assert results == [NOT_PERMITTED]


def test_a_failure_asked_for_happens_at_its_call(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "rules"
    monkeypatch.setenv("JITC_FAKE_FAIL", "cuStreamCreate:2=2")
    monkeypatch.setenv("JITC_FAKE_FAIL_FILE", str(rules))
    other, out = Driver(tmp_path), ctypes.c_uint64()
    other.start()
    codes = [other.cuStreamCreate(ctypes.byref(out), 1) for _ in range(3)]
    assert codes == [0, 2, 0]
    stream = out.value
    rules.write_text("run:2=719\n")
    write_value(other, stream, address := word(other), 1)
    other.synchronize(stream)
    write_value(other, stream, address, 2)
    assert other.cuStreamSynchronize(ctypes.c_void_p(stream)) == 719
    assert value(address) == 1 and other.cuCtxSynchronize() == 719
    other.end()


def test_a_new_context_after_the_sticky_error(driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JITC_FAKE_FAIL", "cuCtxSynchronize:1=700")
    other = Driver(tmp_path)
    other.start()
    assert [other.cuCtxSynchronize(), other.cuCtxSynchronize()] == [700, 700]
    other.ok("cuDevicePrimaryCtxReset_v2", 0)
    assert other.cuCtxSynchronize() == 709
    other.start()
    other.ok("cuCtxSynchronize")
    other.end()


def test_functions_are_found_by_name_and_version(driver: Driver) -> None:
    address, status = ctypes.c_void_p(), ctypes.c_int()
    out = (ctypes.byref(address), 12000, ctypes.c_uint64(0), ctypes.byref(status))
    driver.ok("cuGetProcAddress_v2", b"cuMemAlloc", *out)
    assert address.value == ctypes.cast(driver.cuMemAlloc_v2, ctypes.c_void_p).value and status.value == 0
    assert driver.cuGetProcAddress_v2(b"cuNoSuchThing", *out) == 500 and status.value == 1
