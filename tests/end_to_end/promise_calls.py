"""What promise_steps.py and promise_waits.py stand on: CUDA's functions, memory and streams to try them on.

Nothing here knows that it is not a GPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Callable, Iterator
from ctypes import c_int, c_size_t, c_uint64, c_void_p

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


@contextlib.contextmanager
def current(device: int) -> Iterator[None]:
    """The second GPU, for a moment."""
    call("cudaSetDevice", c_int(device))
    yield
    call("cudaSetDevice", c_int(0))


class Place:
    """Streams, memory and events; each try marks memory with a number of its own."""

    def __init__(self) -> None:
        self.one, self.two = (made("cudaStreamCreateWithFlags", NON_BLOCKING) for _ in range(2))
        self.blocking = made("cudaStreamCreate")
        self.memory, self.other = (made("cudaMalloc", c_size_t(MUCH)) for _ in range(2))
        with current(1):
            self.far = made("cudaMalloc", c_size_t(MUCH))
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
