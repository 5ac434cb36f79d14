"""Promises of memory that is given back; see promise_steps.py."""

from __future__ import annotations

from ctypes import c_int, c_size_t, c_uint64, c_void_p

from cuda_api import call, made
from promise_calls import KIB, LEGACY, MUCH, Place, busy, event_done, promise, record, stream_done


def all_busy(place: Place) -> tuple[int, ...]:
    """The streams, with work on each of them and an event after it."""
    streams = (place.one, place.two, place.blocking, LEGACY)
    for event, stream in zip(place.events, streams, strict=True):
        busy(place, stream)
        record(event, stream)
    return streams


@promise
def all_work_is_done_when_memory_is_freed(place: Place) -> bool:
    kept = True
    for size in (4 * KIB, MUCH):
        memory = made("cudaMalloc", c_size_t(size))
        streams = all_busy(place)
        call("cudaFree", c_uint64(memory))
        kept &= all(map(event_done, place.events)) and all(map(stream_done, streams))
    return kept


@promise
def all_work_is_done_when_pinned_memory_is_freed(place: Place) -> bool:
    memory = made("cudaHostAlloc", c_size_t(64 * KIB), c_int(0))
    all_busy(place)
    call("cudaFreeHost", c_void_p(memory))
    return all(map(event_done, place.events))
