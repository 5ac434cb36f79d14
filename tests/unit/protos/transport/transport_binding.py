"""libjitc_transport.so through ctypes, for tests: a stream that keeps what came back."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from toolkit.waiting import until

LIBRARIES = Path(os.environ.get("JITC_TEST_LIBRARIES", Path(__file__).parents[4] / "interpose" / "lib"))


class Bytes(ctypes.Structure):
    _fields_ = (("data", ctypes.POINTER(ctypes.c_uint8)), ("size", ctypes.c_size_t))

    def value(self) -> bytes:
        return ctypes.string_at(self.data, self.size) if self.size else b""


class Metadata(ctypes.Structure):
    _fields_ = (("key", ctypes.c_char_p), ("value", ctypes.c_char_p))


MESSAGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t)
CLOSED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
NEXT = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.POINTER(Bytes), ctypes.c_size_t)
DONE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Callbacks(ctypes.Structure):
    _fields_ = (
        ("context", ctypes.c_void_p),
        ("message", MESSAGE),
        ("closed", CLOSED),
        ("next", NEXT),
        ("ping_after_ms", ctypes.c_uint32),
        ("dead_after_ms", ctypes.c_uint32),
    )


_STREAM = ctypes.c_void_p
_OUT = ctypes.POINTER(Bytes)


class Api(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32),
        (
            "unary",
            ctypes.CFUNCTYPE(
                ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int, _OUT
            ),
        ),
        (
            "open",
            ctypes.CFUNCTYPE(
                _STREAM, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(Metadata), ctypes.c_size_t,
                ctypes.POINTER(Callbacks), _OUT,
            ),
        ),
        ("send", ctypes.CFUNCTYPE(ctypes.c_int, _STREAM, ctypes.POINTER(Bytes), ctypes.c_size_t)),
        ("asleep", ctypes.CFUNCTYPE(ctypes.c_int, _STREAM)),
        ("wake", ctypes.CFUNCTYPE(None, _STREAM)),
        ("wait", ctypes.CFUNCTYPE(ctypes.c_int, _STREAM, DONE, ctypes.c_void_p, ctypes.c_int)),
        ("close", ctypes.CFUNCTYPE(None, _STREAM)),
        ("release", ctypes.CFUNCTYPE(None, _OUT)),
    )  # fmt: skip


def api() -> Api:
    library = ctypes.CDLL(str(LIBRARIES / "libjitc_transport.so"))
    library.jitc_transport_get.restype = ctypes.POINTER(Api)
    table: Api = library.jitc_transport_get().contents
    return table


def unary(path: str, method: str, request: bytes, timeout_ms: int = 10_000) -> tuple[int, bytes]:
    table, out = api(), Bytes()
    status = table.unary(path.encode(), method.encode(), request, len(request), timeout_ms, ctypes.byref(out))
    answer = out.value()
    table.release(ctypes.byref(out))
    return status, answer


class OpenError(Exception):
    """open returned NULL; the text is the transport's."""


class Stream:
    """One call. Messages and the end are kept; ready supplies messages in pull mode."""

    def __init__(  # noqa: PLR0917
        self,
        path: str,
        method: str = "/test.Test/Echo",
        metadata: Iterable[tuple[str, str]] = (),
        ready: Callable[[], bytes | None] | None = None,
        ping_after_ms: int = 0,
        dead_after_ms: int = 0,
    ) -> None:
        self.api = api()
        self.received: list[bytes] = []
        self.ended: tuple[int, str] | None = None
        self.threads: set[int] = set()
        self._ready = ready
        self._kept: object = None
        self._hooks = (MESSAGE(self._message), CLOSED(self._closed), NEXT(self._next) if ready else NEXT(0))
        callbacks = Callbacks(None, *self._hooks, ping_after_ms, dead_after_ms)
        pairs = [Metadata(key.encode(), value.encode()) for key, value in metadata]
        error = Bytes()
        self.handle = self.api.open(
            path.encode(), method.encode(), (Metadata * len(pairs))(*pairs), len(pairs),
            ctypes.byref(callbacks), ctypes.byref(error),
        )  # fmt: skip
        text = error.value().decode()
        self.api.release(ctypes.byref(error))
        if not self.handle:
            raise OpenError(text)

    def _message(self, _context: object, data: object, size: int) -> None:
        self.threads.add(threading.get_ident())
        self.received.append(ctypes.string_at(data, size) if size else b"")  # type: ignore[arg-type]

    def _closed(self, _context: object, status: int, text: bytes) -> None:
        assert self.ended is None, "closed came twice"
        self.ended = (status, text.decode())

    def _next(self, _context: object, parts: object, _capacity: int) -> int:
        assert self._ready is not None
        message = self._ready()
        if message is None:
            return 0
        kept = (ctypes.c_uint8 * max(1, len(message))).from_buffer_copy(message or b"\0")
        self._kept = kept
        array = ctypes.cast(parts, ctypes.POINTER(Bytes))  # type: ignore[arg-type]
        array[0] = Bytes(ctypes.cast(kept, ctypes.POINTER(ctypes.c_uint8)), len(message))
        return 1

    def send(self, *parts: bytes) -> int:
        kept = [(ctypes.c_uint8 * max(1, len(part))).from_buffer_copy(part or b"\0") for part in parts]
        array = (Bytes * len(parts))(
            *(
                Bytes(ctypes.cast(data, ctypes.POINTER(ctypes.c_uint8)), len(part))
                for data, part in zip(kept, parts, strict=True)
            )
        )
        return int(self.api.send(self.handle, array, len(parts)))

    def wait(self, done: Callable[[], bool], timeout_ms: int = 20_000) -> int:
        return int(self.api.wait(self.handle, DONE(lambda _context: int(done())), None, timeout_ms))

    def wait_for(self, count: int) -> list[bytes]:
        """Drives until so many messages are there."""
        assert self.wait(lambda: len(self.received) >= count) == 1, (self.ended, len(self.received))
        return self.received

    def wait_end(self) -> tuple[int, str]:
        assert self.wait(lambda: False) == -1
        assert self.ended is not None
        return self.ended

    def background_end(self) -> tuple[int, str]:
        """The end as the background thread notices it, with nobody waiting in the transport."""
        end: tuple[int, str] = until(lambda: self.ended, 20, "the stream ends")
        return end

    def close(self) -> None:
        handle, self.handle = self.handle, None
        if handle:
            self.api.close(handle)
