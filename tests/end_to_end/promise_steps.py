"""What CUDA promises to a program about work that is done (docs/promises.md), each as a program would rely on it.

Run by test_promises.py on the CUDA runtime's own functions; nothing here knows that it is not a GPU. A line on standard
input names a promise and says how often to try it; the answer is how often it was kept. ``know`` and ``recall`` are for
a worker that is lost between the two: what the program was told before, and whether it is told the same again.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from ctypes import CFUNCTYPE, byref, c_float, c_int, c_size_t, c_uint64, c_void_p

from cuda_api import call, cuda, made

KIB, MIB = 1 << 10, 1 << 20
NOT_READY, DEFAULT = 600, c_int(4)  # cudaErrorNotReady; cudaMemcpyDefault
NON_BLOCKING, LEGACY = c_int(1), 0
#: Enough for a stream to be busy for a while.
MUCH = 4 * MIB

PROMISES: dict[str, Callable[[Place], bool]] = {}


def promise(check: Callable[[Place], bool]) -> Callable[[Place], bool]:
    PROMISES[check.__name__] = check
    return check


class Place:
    """Streams, memory and events; each try marks memory with a number of its own."""

    def __init__(self) -> None:
        self.one, self.two = (made("cudaStreamCreateWithFlags", NON_BLOCKING) for _ in range(2))
        self.blocking = made("cudaStreamCreate")
        self.memory, self.other = (made("cudaMalloc", c_size_t(MUCH)) for _ in range(2))
        self.shared = made("cudaHostAlloc", c_size_t(64 * KIB), c_int(0))
        self._own = ctypes.create_string_buffer(128 * KIB)
        self.registered = (ctypes.addressof(self._own) + 4095) // 4096 * 4096
        call("cudaHostRegister", c_void_p(self.registered), c_size_t(64 * KIB), c_int(0))
        self.events = [made("cudaEventCreate") for _ in range(4)]
        self.number = 0

    def next(self) -> int:
        """The number of this try, never 0."""
        self.number = self.number % 250 + 1
        return self.number


# -- the functions that are asked ----------------------------------------------------------------------


def asked(name: str, handle: int) -> bool:
    status = int(cuda[name](c_uint64(handle)))
    if status not in (0, NOT_READY):
        sys.exit(f"{name} gave {status}")
    return status == 0


def event_done(event: int) -> bool:
    return asked("cudaEventQuery", event)


def stream_done(stream: int) -> bool:
    return asked("cudaStreamQuery", stream)


def fill(address: int, number: int, size: int, stream: int) -> None:
    call("cudaMemsetAsync", c_uint64(address), c_int(number), c_size_t(size), c_uint64(stream))


def busy(place: Place, stream: int) -> None:
    """The stream gets work, whose last bytes are this try's number."""
    number = place.next()
    for _ in range(3):
        fill(place.memory, number, MUCH, stream)


def record(event: int, stream: int) -> None:
    call("cudaEventRecord", c_uint64(event), c_uint64(stream))


def wait(stream: int, event: int) -> None:
    call("cudaStreamWaitEvent", c_uint64(stream), c_uint64(event), c_int(0))


def synchronize_event(event: int) -> None:
    call("cudaEventSynchronize", c_uint64(event))


def synchronize(stream: int) -> None:
    call("cudaStreamSynchronize", c_uint64(stream))


def copy(to: int, source: int, size: int, stream: int | None = None) -> None:
    """cudaMemcpy, or cudaMemcpyAsync on the stream."""
    arguments = (c_void_p(to), c_void_p(source), c_size_t(size), DEFAULT)
    if stream is None:
        call("cudaMemcpy", *arguments)
    else:
        call("cudaMemcpyAsync", *arguments, c_uint64(stream))


def read(address: int, size: int, stream: int) -> bytes:
    """To pageable memory: returns with the bytes."""
    out = ctypes.create_string_buffer(size)
    copy(ctypes.addressof(out), address, size, stream)
    return out.raw


def until_done(event: int) -> None:
    while not event_done(event):
        pass


# -- waits ---------------------------------------------------------------------------------------------


@promise
def event_query_after_event_synchronize(place: Place) -> bool:
    busy(place, place.one)
    record(place.events[0], place.one)
    synchronize_event(place.events[0])
    return event_done(place.events[0])


@promise
def event_query_after_stream_synchronize(place: Place) -> bool:
    busy(place, place.one)
    record(place.events[0], place.one)
    synchronize(place.one)
    return event_done(place.events[0])


@promise
def event_query_after_device_synchronize(place: Place) -> bool:
    for event, stream in zip(place.events, (place.one, place.two, place.blocking, LEGACY), strict=True):
        busy(place, stream)
        record(event, stream)
    call("cudaDeviceSynchronize")
    return all([event_done(event) for event in place.events])


@promise
def stream_query_after_stream_synchronize(place: Place) -> bool:
    kept = True
    for stream in (place.one, place.blocking, LEGACY):
        busy(place, stream)
        synchronize(stream)
        kept &= stream_done(stream)
    return kept


@promise
def stream_query_after_device_synchronize(place: Place) -> bool:
    streams = (place.one, place.two, place.blocking, LEGACY)
    for stream in streams:
        busy(place, stream)
    call("cudaDeviceSynchronize")
    return all([stream_done(stream) for stream in streams])


@promise
def stream_query_after_its_last_event(place: Place) -> bool:
    kept = True
    for stream in (place.two, LEGACY):
        busy(place, stream)
        record(place.events[0], stream)
        synchronize_event(place.events[0])
        kept &= stream_done(stream)
    return kept


@promise
def other_calls_change_nothing(place: Place) -> bool:
    """Making and freeing things is no work of a stream."""
    busy(place, LEGACY)
    synchronize(LEGACY)
    event, stream = made("cudaEventCreate"), made("cudaStreamCreateWithFlags", NON_BLOCKING)
    memory = made("cudaMalloc", c_size_t(4096))
    kept = stream_done(LEGACY) and event_done(event) and stream_done(stream)
    call("cudaFree", c_uint64(memory))
    call("cudaStreamDestroy", c_uint64(stream))
    call("cudaEventDestroy", c_uint64(event))
    return kept and stream_done(LEGACY)


@promise
def other_threads_are_told_the_same(place: Place) -> bool:
    busy(place, place.one)
    record(place.events[0], place.one)
    synchronize_event(place.events[0])
    said: list[bool] = []

    def ask() -> None:
        said.append(event_done(place.events[0]) and stream_done(place.one))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return said == [True, True]


# -- events --------------------------------------------------------------------------------------------


@promise
def an_event_that_was_never_recorded_is_done(place: Place) -> bool:
    busy(place, place.one)
    event = made("cudaEventCreate")
    kept = event_done(event)
    synchronize_event(event)
    wait(place.two, event)  # holds nobody up
    synchronize(place.two)
    kept &= event_done(event) and stream_done(place.two)
    call("cudaEventDestroy", c_uint64(event))
    synchronize(place.one)
    return kept


@promise
def an_event_is_its_latest_record(place: Place) -> bool:
    event = place.events[0]
    record(event, place.two)
    busy(place, place.one)
    record(event, place.one)
    number = place.number
    synchronize_event(event)
    kept = event_done(event) and read(place.memory + MUCH - 64, 64, place.two) == bytes([number]) * 64
    record(event, place.one)
    record(event, place.two)
    synchronize_event(event)
    return kept and event_done(event) and stream_done(place.two)


@promise
def a_wait_is_for_the_record_of_before(place: Place) -> bool:
    first, again = place.events[:2]
    busy(place, place.one)
    number = place.number
    record(first, place.one)
    wait(place.two, first)
    copy(place.other, place.memory, MUCH, place.two)
    record(again, place.two)
    wait(place.one, again)
    busy(place, place.one)  # must not be waited for, nor come too early
    record(first, place.one)
    synchronize(place.two)
    kept = stream_done(place.two) and event_done(again)
    kept &= read(place.other + MUCH - 64, 64, place.two) == bytes([number]) * 64
    synchronize_event(first)
    return kept and event_done(first) and stream_done(place.one)


@promise
def what_a_stream_waited_for_is_done_with_it(place: Place) -> bool:
    busy(place, place.one)
    record(place.events[0], place.one)
    wait(place.two, place.events[0])
    record(place.events[1], place.two)
    wait(place.blocking, place.events[1])
    synchronize(place.blocking)
    return event_done(place.events[0]) and event_done(place.events[1]) and stream_done(place.one)


@promise
def a_destroyed_stream_has_done_its_work(place: Place) -> bool:
    stream, event = made("cudaStreamCreate"), place.events[0]
    busy(place, stream)
    record(event, stream)
    call("cudaStreamDestroy", c_uint64(stream))
    synchronize_event(event)
    return event_done(event)


@promise
def elapsed_time_is_there_and_never_negative(place: Place) -> bool:
    start, middle, end, late = place.events
    record(start, place.one)
    busy(place, place.one)
    record(middle, place.one)
    wait(place.two, middle)
    record(end, place.two)
    synchronize_event(end)
    times = [c_float(-1), c_float(-1), c_float(-1)]
    for out, first, last in zip(times, (start, middle, start), (middle, end, end), strict=True):
        call("cudaEventElapsedTime", byref(out), c_uint64(first), c_uint64(last))
    fill(place.memory, 1, MUCH, place.one)
    record(late, place.one)
    status = int(cuda["cudaEventElapsedTime"](byref(c_float()), c_uint64(start), c_uint64(late)))
    synchronize_event(late)
    return min(time.value for time in times) >= 0 and status in (0, NOT_READY)


# -- the legacy default stream -------------------------------------------------------------------------


@promise
def the_default_stream_waits_for_blocking_streams(place: Place) -> bool:
    busy(place, place.blocking)
    record(place.events[0], place.blocking)
    synchronize(LEGACY)
    kept = event_done(place.events[0]) and stream_done(place.blocking) and stream_done(LEGACY)
    busy(place, place.blocking)
    record(place.events[0], place.blocking)
    fill(place.other, 1, 64, LEGACY)
    record(place.events[1], LEGACY)
    synchronize_event(place.events[1])
    return kept and event_done(place.events[0]) and stream_done(place.blocking)


@promise
def blocking_streams_wait_for_the_default_stream(place: Place) -> bool:
    busy(place, LEGACY)
    record(place.events[0], LEGACY)
    fill(place.other, 1, 64, place.blocking)
    synchronize(place.blocking)
    return event_done(place.events[0]) and stream_done(LEGACY)


@promise
def a_wait_for_nothing_is_work_in_that_order_too(place: Place) -> bool:
    record(place.events[0], place.two)
    synchronize(place.two)
    busy(place, place.blocking)
    record(place.events[1], place.blocking)
    wait(LEGACY, place.events[0])  # it is done
    while not stream_done(LEGACY):
        pass
    return event_done(place.events[1])


# -- copies --------------------------------------------------------------------------------------------


@promise
def a_copy_to_pageable_memory_is_done_on_return(place: Place) -> bool:
    kept = True
    for stream in (None, place.one):
        on = LEGACY if stream is None else stream
        busy(place, on)
        record(place.events[0], on)
        out = ctypes.create_string_buffer(64 * KIB)
        copy(ctypes.addressof(out), place.memory + MUCH - 64 * KIB, 64 * KIB, stream)
        kept &= out.raw == bytes([place.number]) * (64 * KIB) and event_done(place.events[0]) and stream_done(on)
    return kept


@promise
def a_copy_from_pinned_memory_is_done_on_return(place: Place) -> bool:
    """A stream that waits for nobody sees the bytes, and the program may write others."""
    kept = True
    for host in (place.shared, place.registered):
        for size in (64, 64 * KIB):
            busy(place, LEGACY)
            record(place.events[0], LEGACY)
            number = place.next()
            ctypes.memset(host, number, size)
            copy(place.other, host, size)
            kept &= event_done(place.events[0]) and stream_done(LEGACY)
            ctypes.memset(host, 0, size)
            kept &= read(place.other, size, place.two) == bytes([number]) * size
    return kept


@promise
def a_copy_from_pageable_memory_comes_after_the_work_before(place: Place) -> bool:
    busy(place, LEGACY)
    record(place.events[0], LEGACY)
    data = ctypes.create_string_buffer(bytes([place.next()]) * 64, 64)
    copy(place.other, ctypes.addressof(data), 64)
    return event_done(place.events[0])


@promise
def bytes_are_there_when_the_event_is_done(place: Place) -> bool:
    kept = True
    for host in (place.shared, place.registered):
        for size in (64, 64 * KIB):
            busy(place, place.one)
            ctypes.memset(host, 0, size)
            copy(host, place.memory + MUCH - size, size, place.one)
            record(place.events[0], place.one)
            until_done(place.events[0])
            kept &= ctypes.string_at(host, size) == bytes([place.number]) * size
    return kept


@promise
def bytes_are_there_when_a_stream_that_waited_is_done(place: Place) -> bool:
    kept = True
    for host in (place.shared, place.registered):
        busy(place, place.one)
        ctypes.memset(host, 0, 4 * KIB)
        copy(host, place.memory + MUCH - 4 * KIB, 4 * KIB, place.one)
        record(place.events[0], place.one)
        wait(place.two, place.events[0])
        synchronize(place.two)
        kept &= ctypes.string_at(host, 4 * KIB) == bytes([place.number]) * (4 * KIB)
    return kept


@promise
def memory_is_free_when_its_event_is_done(place: Place) -> bool:
    """As a caching allocator has it: no work of the old user writes there any more."""
    busy(place, place.one)
    record(place.events[0], place.one)
    until_done(place.events[0])
    number = place.next()
    fill(place.memory, number, MUCH, place.two)
    kept = read(place.memory, 4 * KIB, place.two) == bytes([number]) * (4 * KIB)
    synchronize(place.one)
    return kept and read(place.memory + MUCH - 4 * KIB, 4 * KIB, place.two) == bytes([number]) * (4 * KIB)


# -- host functions ------------------------------------------------------------------------------------


@promise
def host_functions_have_run(place: Place) -> bool:
    ran: list[str] = []
    function = CFUNCTYPE(None, c_void_p)(lambda _: ran.append("function"))
    callback = CFUNCTYPE(None, c_uint64, c_int, c_void_p)(lambda *_: ran.append("callback"))
    busy(place, place.one)
    call("cudaLaunchHostFunc", c_uint64(place.one), function, c_void_p(0))
    record(place.events[0], place.one)
    until_done(place.events[0])
    kept = ran == ["function"]
    busy(place, place.one)
    call("cudaStreamAddCallback", c_uint64(place.one), callback, c_void_p(0), c_int(0))
    synchronize(place.one)
    return kept and ran == ["function", "callback"]


# -- across the loss of a worker -----------------------------------------------------------------------


class Known:
    """What the program was told in every way that there is."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.events = [made("cudaEventCreate") for _ in range(6)]
        self.late = made("cudaStreamCreate")
        streams = (place.one, place.one, place.two, place.blocking, self.late, LEGACY)
        for event, stream in zip(self.events, streams, strict=True):
            busy(place, stream)
            record(event, stream)
        synchronize_event(self.events[0])
        read(place.other, 64, place.two)  # nobody writes there: a replay must give the same
        call("cudaStreamDestroy", c_uint64(self.late))
        synchronize(LEGACY)
        synchronize(place.one)

    def told(self) -> int:
        """How many of them are said to be done."""
        events = [event_done(event) for event in self.events]
        streams = [stream_done(stream) for stream in (self.place.one, self.place.two, self.place.blocking, LEGACY)]
        return sum(events) + sum(streams)

    def times(self) -> int:
        """Events in the order in which their streams let them be recorded, and how many of them have a good time."""
        out, good = c_float(-1), 0
        for first, last in ((0, 1), (4, 5), (3, 5)):
            call("cudaEventElapsedTime", byref(out), c_uint64(self.events[first]), c_uint64(self.events[last]))
            good += out.value >= 0
        return good


def main() -> None:
    place = Place()
    known: Known | None = None
    for line in sys.stdin:
        name, _, rounds = line.strip().partition(" ")
        if name == "know":
            known = Known(place)
        if name in ("know", "recall"):
            assert known
            print(known.told(), flush=True)
        elif name == "times":
            assert known
            print(known.times(), flush=True)
        else:
            print(sum(PROMISES[name](place) for _ in range(int(rounds))), flush=True)


if __name__ == "__main__":
    main()
