"""Workers whose end takes long: killed, their sockets are closed, and the kernel does not count them as ended yet.

On a GPU that is so for as long as the driver takes their GPU apart, seconds to half a minute. Here the process really
ends; what the service watches (a descriptor that becomes readable at the end) says so only when the test lets it. So
nothing that the service sees differs, and the test chooses how long it takes.
"""

from __future__ import annotations

import os
import select
import threading
from typing import Protocol

import pytest
from toolkit.waiting import until

from jitc.proxy.keeper.client import Keeper


class Process(Protocol):
    """A worker, or what stands for one."""

    @property
    def pid(self) -> int: ...


class SlowEnds:
    """In place of Keeper.process_of, from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        opened = Keeper.process_of
        self._may_end: dict[int, threading.Event] = {}
        self._gone: dict[int, threading.Event] = {}
        self._threads: list[threading.Thread] = []
        monkeypatch.setattr(Keeper, "process_of", lambda keeper, pid: self.watched(opened(keeper, pid), pid))

    def hold(self, worker: Process) -> None:
        """Its end is not told before end()."""
        self._know(worker.pid)
        self._may_end[worker.pid].clear()

    def end(self, worker: Process) -> None:
        self._may_end[worker.pid].set()

    def kill(self, worker: Process) -> None:
        """As somebody else would do it. When this returns its sockets are closed."""
        self.hold(worker)
        os.kill(worker.pid, 9)
        until(self._gone[worker.pid].is_set, 20, "the process is gone")

    def release(self) -> None:
        """All may end from now on."""
        for one in list(self._may_end.values()):
            one.set()

    def close(self) -> None:
        """When the service has ended."""
        self.release()
        for thread in self._threads:
            thread.join(20)
            assert not thread.is_alive()

    def _know(self, pid: int) -> None:
        if pid not in self._may_end:
            self._may_end[pid], self._gone[pid] = threading.Event(), threading.Event()
            self._may_end[pid].set()

    def watched(self, descriptor: int, pid: int) -> int:
        """Returns a descriptor in place of the process's, which it owns from now on."""
        self._know(pid)
        read, write = os.pipe2(os.O_CLOEXEC)
        thread = threading.Thread(target=self._tell, args=(pid, descriptor, write), daemon=True)
        self._threads.append(thread)
        thread.start()
        return read

    def _tell(self, pid: int, descriptor: int, write: int) -> None:
        """Until the process has ended and may, or nobody reads any more."""
        both = select.poll()
        both.register(descriptor, select.POLLIN)
        both.register(write, 0)
        if any(fd == descriptor for fd, _ in both.poll()):
            self._gone[pid].set()
            self._may_end[pid].wait()
        os.close(descriptor)
        os.close(write)
