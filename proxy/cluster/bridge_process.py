"""This node's bridge as the service has it: a child of the keeper that outlives the service.

Called by: member.py. Promises: there is one bridge at a time; a bridge that ends is noticed at once, the segments that
it had linked are marked as cut, and another one begins; the next service goes on with the bridge of the one before; a
bridge that does not begin is tried again, with one line.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from ..common import rpc
from ..common.complaints import Complaints
from ..common.printable import LINE, printable
from ..keeper.client import Keeper
from ..keeper.line import KeeperLost
from ..keeper.log import Log
from ..keeper.process.children import KEEPER, READY
from ..node.take_over import BRIDGE
from ..node.workers import processes
from .meetings import LinkError

#: Time for a bridge to begin, for a call to it, between tries to begin one, and for the thread to end.
BEGIN_SECONDS, CALL_SECONDS, RETRY_SECONDS, STOP_SECONDS = 30.0, 5.0, 1.0, 10.0
#: Wait for its end, after which it is seen whether this object is closed.
LOOK_SECONDS = 0.5
#: In the log: how many have begun.
_COUNT = "bridges"


class _Process(NamedTuple):
    """A bridge. descriptor: becomes readable when it has ended."""

    pid: int
    socket: str
    descriptor: int


class BridgeProcess:
    """A thread that sees to it that there is a bridge."""

    def __init__(
        self, command: list[str], folder: Path, keeper: Keeper, log: Log, *, begun: Callable[[], None],
        ended: Callable[[], None], environment: Callable[[], dict[str, str]],
    ) -> None:  # fmt: skip
        """command: without what belongs to one process; folder: of its socket; begun: is called when a bridge serves,
        also one of the service before; ended: when the one before it has ended, once or more often."""
        self._command, self._folder, self._keeper, self._log = command, folder, keeper, log
        self._has_begun, self._has_ended, self._environment = begun, ended, environment
        self._complaints = Complaints("starting the bridge")
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._pid = 0
        self._channel: grpc.Channel | None = None
        self._thread = threading.Thread(target=self._run, name="jitc-bridge", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def pid(self) -> int:
        """Returns the process that serves, 0 if there is none now. Another one knows nothing of what this one knew."""
        with self._lock:
            return self._pid if self._channel is not None else 0

    def call(self, method: str, request: Any) -> Any:
        """Calls the bridge (`Bridge` in bridge.proto). Raises LinkError."""
        with self._lock:
            channel = self._channel
        if channel is None:
            raise LinkError("this node's bridge has not begun")
        try:
            return getattr(rpc.bridge(channel), method)(request, timeout=CALL_SECONDS)
        except grpc.RpcError as error:
            raise LinkError(f"this node's bridge: {printable(rpc.status_of(error)[1], LINE)}") from None
        except ValueError:  # the channel was closed meanwhile
            raise LinkError("this node's bridge has ended") from None

    def stop(self) -> None:
        """Ends the bridge, too."""
        self.leave()
        if (left := self._log.get(BRIDGE)) is not None:
            self._kill(left["pid"])
            self._forget(left["pid"], left["socket"])

    def leave(self) -> None:
        """Leaves the bridge to the next service."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(STOP_SECONDS)
        self._close_channel()

    # -- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._serve_until_end(self._adopted() or self._begun())
            except Exception as error:
                if not self._stopped.is_set():
                    self._complaints.of(error)
            self._stopped.wait(RETRY_SECONDS)

    def _adopted(self) -> _Process | None:
        """Goes on with the bridge of the service before; None: there is none."""
        left = self._log.get(BRIDGE)
        if left is None:
            return None
        try:
            found = _Process(left["pid"], left["socket"], self._keeper.process_of(left["pid"]))
        except OSError:  # it has ended
            self._forget(left["pid"], left["socket"])
            return None
        self._open(found)
        return found

    def _begun(self) -> _Process:
        """Begins a bridge. Raises OSError, KeeperLost, CannotBegin."""
        self._has_ended()  # the one before may have done so while there was no service
        count = (self._log.get(_COUNT) or 0) + 1
        self._log.put(_COUNT, count)
        socket = str(self._folder / f"b{count}")
        own = ["--socket", socket, "--parent", str(self._keeper.pid), "--ready-fd", READY, "--keeper-fd", KEEPER]
        read, write = os.pipe2(os.O_CLOEXEC)
        try:
            try:
                pid = self._keeper.spawn([*self._command, *own], self._environment(), write)
            finally:
                os.close(write)
            self._await_ready(read, pid, socket)
        finally:
            os.close(read)
        begun = _Process(pid, socket, self._keeper.process_of(pid))
        self._log.put(BRIDGE, {"pid": pid, "socket": socket})
        self._open(begun)
        return begun

    def _await_ready(self, pipe: int, pid: int, socket: str) -> None:
        """Raises CannotBegin; the process has ended then."""
        found, deadline = False, time.monotonic() + BEGIN_SECONDS
        while not (found or self._stopped.is_set()) and time.monotonic() < deadline:
            found = processes.readable(pipe, LOOK_SECONDS)
        if found and os.read(pipe, 64):
            return
        self._kill(pid)
        self._forget(pid, socket)
        raise CannotBegin("it has ended; see the lines above" if found else f"not ready within {BEGIN_SECONDS:g} s")

    def _serve_until_end(self, one: _Process) -> None:
        try:
            self._has_begun()
            while not processes.ends_within(one.descriptor, LOOK_SECONDS):
                if self._stopped.is_set():
                    return
        finally:
            os.close(one.descriptor)
        self._close_channel()
        print("jitc-proxyd: the bridge to other nodes has ended; another one begins", file=sys.stderr, flush=True)
        self._forget(one.pid, one.socket)
        self._has_ended()

    def _open(self, one: _Process) -> None:
        with self._lock:
            self._pid, self._channel = one.pid, rpc.channel(one.socket)

    def _close_channel(self) -> None:
        with self._lock:
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def _forget(self, pid: int, socket: str) -> None:
        """A bridge has ended."""
        self._log.delete(BRIDGE)
        with contextlib.suppress(OSError):
            os.unlink(socket)
        with contextlib.suppress(KeeperLost):
            self._keeper.reap(pid)

    def _kill(self, pid: int) -> None:
        """Ends a process, and waits for that."""
        with contextlib.suppress(KeeperLost, OSError):
            process = self._keeper.process_of(pid)
            try:
                self._keeper.signal(process, pid, signal.SIGKILL)
                processes.ends_within(process, STOP_SECONDS)
            finally:
                os.close(process)


class CannotBegin(Exception):
    """A bridge has not begun; the text says why."""
