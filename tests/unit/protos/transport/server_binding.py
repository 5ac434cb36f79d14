"""The server's half of libjitc_transport.so through ctypes, for tests: a server whose calls are Python objects."""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from transport_binding import LIBRARIES, Bytes, Metadata

ENDS = ctypes.c_size_t(-1).value


class Ending(ctypes.Structure):
    _fields_ = (("status", ctypes.c_int), ("text", ctypes.c_char * 1024))


BEGIN = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Metadata), ctypes.c_size_t, ctypes.POINTER(Ending)
)
MESSAGE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t, ctypes.POINTER(Ending)
)
NEXT = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.POINTER(Bytes), ctypes.c_size_t)
CLOSED = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Callbacks(ctypes.Structure):
    _fields_ = (
        ("context", ctypes.c_void_p),
        ("begin", BEGIN),
        ("message", MESSAGE),
        ("next", NEXT),
        ("closed", CLOSED),
        ("hello_ms", ctypes.c_uint32),
    )


class Api(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32),
        ("start", ctypes.CFUNCTYPE(
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(Callbacks), ctypes.POINTER(Bytes)
        )),
        ("stop", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("wake", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("wake_after", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64)),
        ("pause", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)),
        ("finish", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Ending))),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("release_bytes", ctypes.CFUNCTYPE(None, ctypes.POINTER(Bytes))),
    )  # fmt: skip


def load() -> Any:
    library = ctypes.CDLL(str(LIBRARIES / "libjitc_transport.so"))
    library.jitc_transport_server_get.restype = ctypes.POINTER(Api)
    return library.jitc_transport_server_get().contents


class ServedCall:
    """One call, as the server's owner sees it."""

    def __init__(self, api: Any, handle: int, metadata: dict[str, str]) -> None:
        self._api, self._handle, self.metadata = api, handle, metadata
        self.received: list[bytes] = []
        self.to_send: deque[bytes] = deque()
        self.closed = threading.Event()
        self.sending: Any = None  # kept alive until the next one

    def send(self, *messages: bytes) -> None:
        self.to_send.extend(messages)
        self._api.wake(self._handle)

    def pause(self, paused: bool) -> None:
        self._api.pause(self._handle, paused)

    def finish(self, status: int, text: str) -> None:
        self._api.finish(self._handle, ctypes.byref(Ending(status, text.encode())))

    def send_after(self, seconds: float, *messages: bytes) -> None:
        self.to_send.extend(messages)
        self._api.wake_after(self._handle, int(seconds * 1e9))

    def release(self) -> None:
        self._api.release(self._handle)


def echo(call: ServedCall, message: bytes) -> None:
    call.send(message)


class NativeServer:
    """on_message(call, message): what a call does with it; an (status, text) ends the call. hello_ms: how long a
    connection may be without a call."""

    def __init__(
        self,
        path: str,
        on_message: Callable[[ServedCall, bytes], tuple[int, str] | None],
        refuses: str = "",
        hello_ms: int = 0,
    ) -> None:
        self.api, self.calls, self._on_message, self._refuses = load(), [], on_message, refuses
        self._changed = threading.Condition()
        hooks = (BEGIN(self._begin), MESSAGE(self._message), NEXT(self._next), CLOSED(self._closed))
        self._kept = Callbacks(None, *hooks, hello_ms)
        error = Bytes()
        self._server = self.api.start(
            path.encode(), b"/test.Echo/Stream", ctypes.byref(self._kept), ctypes.byref(error)
        )
        if not self._server:
            text = error.value().decode()
            self.api.release_bytes(ctypes.byref(error))
            raise OSError(text)

    def call(self, number: int = 0) -> ServedCall:
        """Waits for it to begin."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.calls) > number, 20)
            return self.calls[number]

    def stop(self) -> None:
        self.api.stop(self._server)
        for call in self.calls:
            call.release()

    def _begin(self, context: int, handle: int, metadata: Any, count: int, ending: Any) -> int | None:
        pairs = {metadata[i].key.decode(): metadata[i].value.decode() for i in range(count)}
        if self._refuses:
            ending.contents.status, ending.contents.text = 9, self._refuses.encode()
            self.api.release(handle)
            return None
        with self._changed:
            self.calls.append(ServedCall(self.api, handle, pairs))
            self._changed.notify_all()
            return len(self.calls)

    def _message(self, user: int, data: Any, size: int, ending: Any) -> int:
        call, message = self.calls[user - 1], ctypes.string_at(data, size)
        call.received.append(message)
        end = self._on_message(call, message)
        if end is None:
            return 1
        ending.contents.status, ending.contents.text = end[0], end[1].encode()
        return 0

    def _next(self, user: int, parts: Any, capacity: int) -> int:
        call = self.calls[user - 1]
        if not call.to_send:
            return 0
        message = call.to_send.popleft()
        if message == b"END":
            return ENDS
        call.sending = (ctypes.c_uint8 * len(message)).from_buffer_copy(message)
        parts[0].data, parts[0].size = ctypes.cast(call.sending, ctypes.POINTER(ctypes.c_uint8)), len(message)
        return 1

    def _closed(self, user: int) -> None:
        self.calls[user - 1].closed.set()
