"""A worker process as the service sees it: its process, its socket, its state.

Called by: the supervisor (which makes it), the registry, the gRPC services, recoveries. Promises: whether a worker
lives is asked of the kernel each time, and a signal never reaches another process that has taken its number; a worker
that does nothing any more, but has not ended, is distinguished from one that works.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from enum import Enum
from typing import Any

import grpc

from ...common import rpc
from ...common.shared_memory import ShelfLost
from ...common.state_machine import Machine
from ...keeper.claim import listening
from ...ranks.causes import OUT_OF_MEMORY, WORKER_DEATH
from ...ranks.rank import KILLED_SECONDS, SLOW_SECONDS
from . import processes
from .address import NOWHERE, Address

#: Seconds between looks at a process that cannot be waited for.
LOOK_SECONDS = 0.02
_never = threading.Event()
#: Time for the watch thread to look at a worker that has ended.
LOOKED_AT_SECONDS = 5.0


class WorkerState(Enum):
    STARTING = "starting"
    SPARE = "spare"
    SERVING = "serving"
    DEAD = "dead"


class WorkerEvent(Enum):
    READY = "ready"
    ASSIGN = "assign"
    DIE = "die"


WORKER_TABLE = {
    (WorkerState.STARTING, WorkerEvent.READY): WorkerState.SPARE,
    (WorkerState.STARTING, WorkerEvent.DIE): WorkerState.DEAD,
    (WorkerState.SPARE, WorkerEvent.ASSIGN): WorkerState.SERVING,
    (WorkerState.SPARE, WorkerEvent.DIE): WorkerState.DEAD,
    (WorkerState.SERVING, WorkerEvent.DIE): WorkerState.DEAD,
}


def _unchanged(request: Any) -> Any:
    return request


class Worker:
    """A worker, made by the supervisor; the channel to it is opened when first used."""

    def __init__(
        self, pid: int, descriptor: int, socket: str, state: WorkerState = WorkerState.STARTING, *,
        signalled: Callable[[int, int, int], None], completed: Callable[[Any], Any] = _unchanged, kills: str = "",
        uid: int = -1,
    ) -> None:  # fmt: skip
        """signalled: sends a signal (Keeper.signal); completed: completes a request (../opening.py); uid: the user as
        whom it runs, -1: the service's."""
        self.pid, self.descriptor, self.socket = pid, descriptor, socket
        self._address = Address(socket, uid if uid >= 0 else os.geteuid())
        self.kills = kills  # the file in which the kernel counts what it kills for lack of memory; empty: not known
        self._signalled = signalled
        self._completed = completed
        self.machine = Machine(f"worker {pid}", WORKER_TABLE, state)
        self.gpu: int | None = None
        self.noticed_dead = 0.0  # monotonic time
        self.cause, self.message = WORKER_DEATH, ""
        self.killed = False  # by this service
        self.replaced = False  # killed for the sake of another one, by a recovery
        self._told_slow = False
        self.looked_at = threading.Event()  # the worker has ended, and its cause is known as far as it can be
        self.unhealthy_since = 0.0  # monotonic time; 0: it was not killed for a cause
        self._opening = threading.Lock()
        self._channel: grpc.Channel | None = None
        self._stub: Any = None

    def ready(self) -> bool:
        """Returns whether the worker has started, and has not been found dead."""
        return self.machine.state in (WorkerState.SPARE, WorkerState.SERVING)

    def alive(self) -> bool:
        """Returns whether it lives, as the kernel says, so that a death is seen before its notice has been handled."""
        return self.machine.state is not WorkerState.DEAD and not self.ends_within(0)

    def works(self) -> bool:
        """Returns whether the worker can do anything at all. A process that ends closes its socket some time before the
        kernel counts it as ended: until then its GPU may still write where it could."""
        return not self.killed and self.alive() and listening.alive(self._called())

    def ending(self) -> bool:
        """Returns whether the worker no longer works, and has not ended."""
        return not self.works() and self.alive()

    def ends_within(self, seconds: float) -> bool:
        """Waits for a process that seems to be dying; close() may be called meanwhile."""
        deadline = time.monotonic() + seconds
        while True:
            with self._opening:
                if self.descriptor < 0 or processes.ended(self.descriptor):
                    return True
                own = _duplicate(self.descriptor) if seconds > 0 else -1
            left = deadline - time.monotonic()
            if own >= 0:
                try:
                    return processes.ends_within(own, max(0.0, left))
                finally:
                    os.close(own)
            if left <= 0:
                return False
            _never.wait(min(left, LOOK_SECONDS))

    def wait(self, seconds: float = KILLED_SECONDS) -> bool:
        """Waits for the end of a killed process. Returns False if it has not ended; it may still hold what it had."""
        if self.ends_within(min(seconds, SLOW_SECONDS)):
            return True
        self.tell_slow()
        return self.ends_within(max(0.0, seconds - SLOW_SECONDS))

    def tell_slow(self) -> None:
        """Reports once that the worker's end takes long."""
        if not self._told_slow:
            self._told_slow = True
            print(f"jitc-proxyd: {self.slow()}; that GPU is not used before", file=sys.stderr, flush=True)

    def slow(self) -> str:
        where = f" of GPU {self.gpu}" if self.gpu is not None else ""
        return f"worker {self.pid}{where} has not ended yet, though it does nothing any more"

    def starved(self) -> str:
        """Returns how the kernel ended this worker, which has ended, for lack of memory; empty: it did not."""
        self.looked_at.wait(LOOKED_AT_SECONDS)
        return self.message if self.cause == OUT_OF_MEMORY else ""

    @property
    def node(self) -> str:
        """Returns the name of its node: empty, since that is this one."""
        return ""

    def ask(self, method: str, request: Any, seconds: float, patient: bool = False) -> Any:
        """Begins a call (worker.proto) and returns its future, whose error is a grpc.RpcError."""
        with self._opening:
            if self._stub is None:
                self._channel = rpc.channel(self._address.path())
                self._stub = rpc.worker(self._channel)
            stub = self._stub
        return getattr(stub, method).future(self._completed(request), timeout=seconds)

    def kill(self) -> None:
        self.send(signal.SIGKILL)

    def replace(self) -> None:
        """Kills the worker, because a recovery needs another one in its place. That is no fault. A caller that gives
        its place to another one waits for its end."""
        self.replaced = True
        self.kill()

    def finish(self) -> None:
        """Kills a worker that has closed its socket. If it is ending already, what has ended it stays the cause."""
        self._send(signal.SIGKILL)

    def own_descriptor(self) -> int:
        """Returns another descriptor of the process, which the caller closes; -1: released, or none is left."""
        with self._opening:
            return _duplicate(self.descriptor) if self.descriptor >= 0 else -1

    def send(self, number: signal.Signals) -> None:
        if not self.alive():
            return
        self.killed |= number is signal.SIGKILL
        self._send(number)

    def _send(self, number: signal.Signals) -> None:
        descriptor = self.own_descriptor()
        if descriptor < 0:
            return
        try:
            with contextlib.suppress(ShelfLost, OSError):  # the keeper has ended, and the worker with it
                self._signalled(descriptor, self.pid, number)
        finally:
            os.close(descriptor)

    def kill_with_cause(self, cause: str, since: float, message: str = "") -> None:
        """Kills the worker for a cause that its death alone would not show."""
        self.cause, self.unhealthy_since, self.message = cause, since, message
        self.kill()

    def close(self) -> None:
        """Releases the descriptor and the channel, after the worker's end."""
        with self._opening:
            descriptor, self.descriptor = self.descriptor, -1
            self._address.close()
        if descriptor >= 0:
            os.close(descriptor)
        if self._channel is not None:
            self._channel.close()
            self._channel = self._stub = None

    def _called(self) -> str:
        with self._opening:
            return self._address.path() if self.descriptor >= 0 else NOWHERE


def _duplicate(descriptor: int) -> int:
    """Duplicates a descriptor; returns -1 if no descriptor is left."""
    try:
        return os.dup(descriptor)
    except OSError:
        return -1
