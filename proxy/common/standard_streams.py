"""Standard output and standard error of processes that others rely on: their reader cannot block such a process.

A service outlives the readers of its output: a terminal is closed, `| head` ends, a log collector stalls. Python would
raise in the thread that prints next, or wait there without end, and recoveries with it.

Called by: jitc-proxyd, its keeper and its workers, when they start. Promises: writing never raises and never waits; a
line is written whole, or as much of it as there is room for; dropped text is counted, and reported when there is room.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import socket
import stat
import sys
import threading
from collections.abc import Callable


def shield() -> None:
    """Shields this process's streams from now on; a replacement of one stays."""
    for descriptor, name in enumerate(("stdout", "stderr"), 1):
        if getattr(sys, name) is getattr(sys, f"__{name}__"):
            setattr(sys, name, Shielded(descriptor))


class Shielded(io.TextIOBase):
    """A stream of whole lines on a descriptor, which stays the caller's."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._send = _sender(descriptor)
        self._lock, self._mine = threading.Lock(), threading.local()
        self._lost, self._cut = 0, False

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, rest = (getattr(self._mine, "begun", "") + text).split("\n")
        self._mine.begun = rest
        if lines:
            self._put("\n".join(lines) + "\n")
        return len(text)

    def flush(self) -> None:
        rest, self._mine.begun = getattr(self._mine, "begun", ""), ""
        if rest:
            self._put(rest)

    def _put(self, text: str) -> None:
        with self._lock:
            before = "\n" * self._cut + (f"({self._lost} lines found no room here)\n" if self._lost else "")
            data = (before + text).encode(errors="backslashreplace")
            sent = self._sent(data)
            if sent == 0:
                self._lost += text.count("\n")
            else:
                self._lost, self._cut = 0, sent < len(data)

    def _sent(self, data: bytes) -> int:
        """Writes and returns as many bytes as fit, without waiting for room."""
        sent = 0
        with contextlib.suppress(OSError):
            while sent < len(data):
                sent += self._send(data[sent:])
        return sent


def _sender(descriptor: int) -> Callable[[bytes], int]:
    """Returns a function that writes what there is room for, and raises OSError if there is none."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return lambda data: os.write(descriptor, data)  # there is none: each write says so
    if stat.S_ISSOCK(mode):
        connection = socket.socket(fileno=os.dup(descriptor))
        return lambda data: connection.send(data, socket.MSG_DONTWAIT)
    if stat.S_ISREG(mode):  # others write at the place that comes with this description
        return lambda data: os.write(descriptor, data)
    try:
        # A description of our own: not to wait is a property of that, and others have the first one as well.
        own = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        return lambda data: os.write(own, data)
    except OSError:  # another user's pipe or terminal
        return lambda data: _write_if_room(descriptor, data)


def _write_if_room(descriptor: int, data: bytes) -> int:
    room = select.poll()
    room.register(descriptor, select.POLLOUT)
    if not room.poll(0):
        raise BlockingIOError
    return os.write(descriptor, data[: select.PIPE_BUF])
