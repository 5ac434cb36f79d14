"""What CUDA promises to a program about work that is done (docs/promises.md), each as a program would rely on it.

Run by test_promises.py on the CUDA runtime's own functions. A line on standard input names a promise and says how often
to try it; the answer is how often it was kept. ``know``, ``recall`` and ``good`` are for a worker that is lost in
between: what the program was told before, whether it is told the same again, whether times and memory are right.
``names`` is answered with the names of all promises. Those of copies and host functions are here, those of waits in
promise_waits.py, those of memory that is given back in promise_memory.py.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import CFUNCTYPE, byref, c_float, c_int, c_uint64, c_void_p

import promise_memory  # noqa: F401 - adds its promises
import promise_waits  # noqa: F401 - adds its promises
from cuda_api import call, made
from promise_calls import (
    KIB,
    LEGACY,
    MUCH,
    PROMISES,
    Place,
    busy,
    copy,
    event_done,
    fill,
    promise,
    read,
    record,
    stream_done,
    synchronize,
    synchronize_event,
    until_done,
    wait,
)

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
def work_on_another_gpus_memory_is_of_its_stream(place: Place) -> bool:
    kept = True
    for stream in (LEGACY, place.one):
        for host in (place.shared, place.registered):
            number = place.next()
            fill(place.far, number, MUCH, stream)
            ctypes.memset(host, 0, 4 * KIB)
            copy(host, place.far + MUCH - 4 * KIB, 4 * KIB, stream)
            synchronize(stream)
            kept &= ctypes.string_at(host, 4 * KIB) == bytes([number]) * (4 * KIB)
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
        self.reused = made("cudaEventCreate")
        for _ in range(3):
            fill(place.other, place.next(), MUCH, place.one)
        record(self.reused, place.one)
        until_done(self.reused)
        self.number = place.next()
        fill(place.other, self.number, MUCH, place.two)  # nothing but the answer says that it comes later
        self.events = [made("cudaEventCreate") for _ in range(6)]
        self.late = made("cudaStreamCreate")
        streams = (place.one, place.one, place.two, place.blocking, self.late, LEGACY)
        for event, stream in zip(self.events, streams, strict=True):
            busy(place, stream)
            record(event, stream)
        synchronize_event(self.events[0])
        read(place.other, 64, place.two)
        call("cudaStreamDestroy", c_uint64(self.late))
        synchronize(LEGACY)
        synchronize(place.one)

    def told(self) -> int:
        """How many of them are said to be done."""
        events = [event_done(event) for event in self.events]
        streams = [stream_done(stream) for stream in (self.place.one, self.place.two, self.place.blocking, LEGACY)]
        return sum(events) + sum(streams)

    def good(self) -> int:
        """Pairs of events, each in the order of their streams, that have a good time; memory that was used again."""
        good = int(read(self.place.other + MUCH - 4 * KIB, 4 * KIB, self.place.two) == bytes([self.number]) * (4 * KIB))
        out = c_float(-1)
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
        elif name == "names":
            print(*PROMISES, flush=True)
        elif name == "good":
            assert known
            print(known.good(), flush=True)
        else:
            print(sum(PROMISES[name](place) for _ in range(int(rounds))), flush=True)


if __name__ == "__main__":
    main()
