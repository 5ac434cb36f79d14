"""Promises of waits and queries, events, and the legacy default stream; see promise_steps.py."""

from __future__ import annotations

import threading
from ctypes import byref, c_float, c_size_t, c_uint64

from cuda_api import call, cuda, made
from promise_calls import (
    LEGACY,
    MUCH,
    NON_BLOCKING,
    NOT_READY,
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
    wait,
)

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
