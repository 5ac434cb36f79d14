"""One thread that notices ends of workers and training processes, and readiness of new workers.

Called by: the supervisor and the session registry. Promises: a death is noticed at once (processes.py); each watch
fires once; callbacks run in the watch thread and must be short; no exception ends it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import threading
from collections.abc import Callable
from dataclasses import dataclass

from ...common.complaints import Complaints


@dataclass(eq=False)
class Watched:
    """One watch. Descriptor numbers are reused, so a watch is identified by this object."""

    fd: int
    callback: Callable[[], None]


class Watch:
    """Descriptors that become readable, and functions posted from other threads."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._epoll.register(self._wake_read, select.EPOLLIN)
        self._lock = threading.Lock()
        self._posted: list[Callable[[], None]] = []
        self._watched: dict[int, Watched] = {}
        self._stopped = self._closed = False
        self._complaints = Complaints("jitc-watch")
        self._thread = threading.Thread(target=self._loop, name="jitc-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
        self._wake()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(10)
        for watched in list(self._watched.values()):
            self.forget(watched)
        with self._lock:
            if not self._closed and not self._thread.is_alive():
                self._closed = True
                self._epoll.close()
                os.close(self._wake_read)
                os.close(self._wake_write)

    def post(self, function: Callable[[], None]) -> None:
        """Has the function run soon, in the watch thread."""
        with self._lock:
            self._posted.append(function)
        self._wake()

    def readable(self, fd: int, callback: Callable[[], None]) -> Watched:
        """Calls back once when fd is readable or at its end. The descriptor is closed then, or when this raises."""
        watched = Watched(fd, callback)
        with self._lock:
            self._watched[fd] = watched
        try:
            self._epoll.register(fd, select.EPOLLIN | select.EPOLLONESHOT)
        except BaseException:
            self.forget(watched)
            raise
        return watched

    def forget(self, watched: Watched) -> None:
        """Ends a watch that has not fired; harmless when it has."""
        with self._lock:
            if self._watched.get(watched.fd) is not watched:
                return
            del self._watched[watched.fd]
            with contextlib.suppress(OSError):
                self._epoll.unregister(watched.fd)
            os.close(watched.fd)

    def _wake(self) -> None:
        with self._lock, contextlib.suppress(BlockingIOError):
            if not self._closed:
                os.write(self._wake_write, b"x")

    def _loop(self) -> None:
        while not self._stopped:
            for fd, _ in self._epoll.poll():
                self._guard(self._run_posted if fd == self._wake_read else functools.partial(self._fire, fd))

    def _run_posted(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_read, 4096)
        with self._lock:
            posted, self._posted = self._posted, []
        for function in posted:
            self._guard(function)

    def _fire(self, fd: int) -> None:
        with self._lock:
            watched = self._watched.get(fd)
        if watched is not None:
            self._guard(watched.callback)
            self.forget(watched)

    def _guard(self, function: Callable[[], None]) -> None:
        try:
            function()
        except Exception as error:
            self._complaints.of(error)
