"""The fake driver's stream capture and graphs: what is recorded, what makes a capture invalid, launches."""

from __future__ import annotations

import ctypes
import struct
import threading

import pytest
from fake_driver import Driver

INVALID, UNSUPPORTED, INVALIDATED, MERGE, UNMATCHED, UNJOINED, ISOLATION = 1, 900, 901, 902, 903, 904, 905
IMPLICIT, CAPTURED_EVENT, WRONG_THREAD, NOT_READY = 906, 907, 908, 600
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
ACTIVE, BROKEN = 1, 2


class Captures:
    """Capture on streams of a driver, and a counter on the device that add_i64 adds to."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.place, self.add = driver.allocate(8), driver.kernel("add_i64")
        driver.write(self.place, bytes(8))

    def begin(self, stream: int, mode: int = THREAD_LOCAL) -> None:
        self.driver.ok("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), mode)

    def end(self, stream: int) -> tuple[int, int]:
        """The result and the graph."""
        graph = ctypes.c_uint64(1)
        return self.driver.cuStreamEndCapture(ctypes.c_void_p(stream), ctypes.byref(graph)), graph.value

    def bump(self, stream: int, by: int = 1) -> int:
        return self.driver.launch(self.add, stream, struct.pack("<QqQ", self.place, by, 1))

    def count(self) -> int:
        return int.from_bytes(self.driver.read(self.place, 8), "little")

    def status(self, stream: int) -> int:
        status = ctypes.c_int()
        self.driver.ok("cuStreamIsCapturing", ctypes.c_void_p(stream), ctypes.byref(status))
        return status.value

    def run(self, graph: int, stream: int, times: int = 1) -> None:
        executable = self.driver.make("cuGraphInstantiateWithFlags", ctypes.c_void_p(graph), ctypes.c_uint64(0))
        self.driver.ok("cuGraphDestroy", ctypes.c_void_p(graph))
        for _ in range(times):
            self.driver.ok("cuGraphLaunch", ctypes.c_void_p(executable), ctypes.c_void_p(stream))
        self.driver.synchronize(stream)

    def types(self, graph: int) -> list[int]:
        count = ctypes.c_size_t()
        self.driver.ok("cuGraphGetNodes", ctypes.c_void_p(graph), None, ctypes.byref(count))
        nodes, out = (ctypes.c_void_p * count.value)(), list[int]()
        self.driver.ok("cuGraphGetNodes", ctypes.c_void_p(graph), nodes, ctypes.byref(count))
        for node in nodes:
            kind = ctypes.c_int()
            self.driver.ok("cuGraphNodeGetType", ctypes.c_void_p(node), ctypes.byref(kind))
            out.append(kind.value)
        return out


@pytest.fixture
def captures(driver: Driver) -> Captures:
    return Captures(driver)


def test_captured_work_runs_when_the_graph_is_launched(driver: Driver, captures: Captures) -> None:
    stream = driver.stream()
    captures.begin(stream)
    driver.fill(captures.place, 1, 1, stream)
    assert captures.bump(stream, 2) == 0 and captures.status(stream) == ACTIVE
    result, graph = captures.end(stream)
    assert result == 0 and captures.types(graph) == [2, 0] and captures.count() == 0
    captures.run(graph, stream, 3)
    assert captures.count() == 3


def test_a_graph_does_not_run_beside_itself(driver: Driver, captures: Captures) -> None:
    held, free = driver.stream(), driver.stream()
    captures.begin(held)
    captures.bump(held)
    graph = captures.end(held)[1]
    executable = ctypes.c_void_p(driver.make("cuGraphInstantiateWithFlags", ctypes.c_void_p(graph), ctypes.c_uint64(0)))
    gate = driver.gate(held)
    for stream in (held, free):
        driver.ok("cuGraphLaunch", executable, ctypes.c_void_p(stream))
    assert driver.query(free) == NOT_READY
    gate.open()
    driver.synchronize(free)
    assert captures.count() == 2


def test_parameters_are_those_of_the_capture(driver: Driver, captures: Captures) -> None:
    stream, host = driver.stream(), ctypes.create_string_buffer(b"12345678", 8)
    captures.begin(stream)
    where, size = ctypes.c_uint64(captures.place), ctypes.c_size_t(8)
    driver.ok("cuMemcpyHtoDAsync_v2", where, host, size, ctypes.c_void_p(stream))
    graph = captures.end(stream)[1]
    host.raw = b"laterval"  # but host memory is read by every launch
    captures.run(graph, stream)
    assert driver.read(captures.place, 8) == b"laterval"


def test_an_event_draws_another_stream_into_the_capture(driver: Driver, captures: Captures) -> None:
    main, side, fork, join = driver.stream(), driver.stream(), driver.event(), driver.event()
    captures.begin(main)
    assert captures.bump(main) == 0
    driver.record(fork, main)
    driver.wait(side, fork)
    assert captures.status(side) == ACTIVE and captures.bump(side) == 0
    driver.record(join, side)
    driver.wait(main, join)
    result, graph = captures.end(main)
    assert result == 0 and captures.types(graph) == [0, 0] and captures.status(side) == 0
    captures.run(graph, side)
    assert captures.count() == 2


def test_a_stream_that_does_not_come_back(driver: Driver, captures: Captures) -> None:
    main, side, fork = driver.stream(), driver.stream(), driver.event()
    captures.begin(main)
    driver.record(fork, main)
    driver.wait(side, fork)
    assert captures.bump(side) == 0
    assert captures.end(side)[0] == UNMATCHED
    assert captures.end(main) == (UNJOINED, 0)
    assert captures.bump(side) == 0 and captures.bump(main) == 0
    driver.ok("cuCtxSynchronize")
    assert captures.count() == 2


def test_synchronizing_breaks_the_capture(driver: Driver, captures: Captures) -> None:
    stream = driver.stream()
    captures.begin(stream)
    assert driver.cuStreamSynchronize(ctypes.c_void_p(stream)) == UNSUPPORTED
    assert captures.status(stream) == BROKEN
    assert captures.bump(stream) == INVALIDATED
    assert captures.end(stream) == (INVALIDATED, 0)
    assert captures.bump(stream) == 0


def test_events_inside_and_outside(driver: Driver, captures: Captures) -> None:
    stream, other, event = driver.stream(), driver.stream(), driver.event()
    driver.record(event, other)
    driver.synchronize(other)
    captures.begin(stream, RELAXED)
    wait = (ctypes.c_void_p(stream), ctypes.c_void_p(event), 0)
    assert driver.cuStreamWaitEvent(*wait) == ISOLATION
    captures.end(stream)
    captures.begin(stream, RELAXED)
    driver.record(event, stream)
    assert driver.cuEventQuery(ctypes.c_void_p(event)) == CAPTURED_EVENT
    assert captures.end(stream)[0] == INVALIDATED


def test_two_captures_do_not_merge(driver: Driver, captures: Captures) -> None:
    first, second, event = driver.stream(), driver.stream(), driver.event()
    captures.begin(first)
    captures.begin(second)
    driver.record(event, first)
    assert driver.cuStreamWaitEvent(ctypes.c_void_p(second), ctypes.c_void_p(event), 0) == MERGE
    assert [captures.end(first)[0], captures.end(second)[0]] == [INVALIDATED] * 2


@pytest.mark.parametrize(("flags", "code"), [(0, IMPLICIT), (1, 0)])
def test_the_default_stream_beside_a_capture(driver: Driver, captures: Captures, flags: int, code: int) -> None:
    stream = driver.stream(flags)
    captures.begin(stream)
    assert captures.bump(0) == code
    assert captures.end(stream)[0] == (INVALIDATED if code else 0)
    assert driver.cuStreamBeginCapture_v2(None, 0) == UNSUPPORTED


@pytest.mark.parametrize(
    ("mode", "own", "others"),
    [(GLOBAL, UNSUPPORTED, UNSUPPORTED), (THREAD_LOCAL, UNSUPPORTED, 0), (RELAXED, 0, 0)],
)
def test_who_may_make_unsafe_calls(driver: Driver, captures: Captures, mode: int, own: int, others: int) -> None:
    stream, event = driver.stream(), driver.event()
    context = driver.make("cuDevicePrimaryCtxRetain", 0)
    seen: list[int] = []

    def in_other_thread() -> None:
        driver.ok("cuCtxSetCurrent", ctypes.c_void_p(context))
        seen.append(driver.cuEventQuery(ctypes.c_void_p(event)))
        driver.ok("cuThreadExchangeStreamCaptureMode", ctypes.byref(ctypes.c_int(THREAD_LOCAL)))
        seen.append(driver.cuEventQuery(ctypes.c_void_p(event)))
        seen.append(captures.end(stream)[0])

    captures.begin(stream, mode)
    thread = threading.Thread(target=in_other_thread)
    thread.start()
    thread.join()
    assert seen[:2] == [others, 0]
    assert seen[2] == (WRONG_THREAD if mode != RELAXED else 0)
    if mode != RELAXED:
        assert driver.cuEventQuery(ctypes.c_void_p(event)) == own
        assert captures.end(stream)[0] == INVALIDATED


def test_information_about_a_capture(driver: Driver, captures: Captures) -> None:
    stream = driver.stream()
    captures.begin(stream)
    captures.bump(stream)
    status, number, graph = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p()
    nodes, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_size_t()
    out = (status, number, graph, nodes, count)
    driver.ok("cuStreamGetCaptureInfo_v2", ctypes.c_void_p(stream), *map(ctypes.byref, out))
    assert status.value == ACTIVE and number.value and count.value == 1 and nodes[0]
    assert captures.end(stream) == (0, graph.value)


def test_a_graph_that_faults(driver: Driver, captures: Captures) -> None:
    stream, illegal = driver.stream(), driver.kernel("illegal")
    captures.begin(stream)
    assert captures.bump(stream) == 0 and driver.launch(illegal, stream) == 0
    graph = captures.end(stream)[1]
    executable = driver.make("cuGraphInstantiateWithFlags", ctypes.c_void_p(graph), ctypes.c_uint64(0))
    driver.ok("cuGraphLaunch", ctypes.c_void_p(executable), ctypes.c_void_p(stream))
    assert driver.cuStreamSynchronize(ctypes.c_void_p(stream)) == 700
