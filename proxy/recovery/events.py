"""What the coordinator is told, and its queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..node.gpus import Gpu
from ..node.registry import Session, SessionState
from ..node.workers.worker import Worker

if TYPE_CHECKING:
    from .job import Job


@dataclass(frozen=True)
class WorkerDied:
    worker: Worker
    noticed: float
    session: Session | None = None  # that it served, once the coordinator has looked


class PendingValidation:
    """A validation of the job on a GPU that a command has asked for, and waits for. Thread-safe."""

    def __init__(self, gpu: int) -> None:
        self.gpu = gpu
        self.done = threading.Event()
        self.document: dict[str, Any] = {}
        self.refusal = ""

    def refuse(self, why: str) -> None:
        self.refusal = why
        self.done.set()


@dataclass(frozen=True)
class FaultReported:
    """A session says that it cannot go on (ReportFault)."""

    session: Session
    sequence: int
    status: int
    cause: str
    message: str
    epoch: int  # of the session when it was reported
    noticed: float = field(default_factory=time.monotonic)

    def still_stopped(self) -> bool:
        """Whether the rank is still where it reported the fault: no recovery has resumed it since."""
        return self.session.epoch == self.epoch and self.session.state is SessionState.SERVING


@dataclass(frozen=True)
class GpuUnhealthy:
    """The device's own monitoring says so (Xid, ECC); told for each worker that uses the GPU."""

    gpu: Gpu
    worker: Worker
    cause: str
    message: str
    noticed: float = field(default_factory=time.monotonic)
    session: Session | None = None  # as above


@dataclass(frozen=True)
class SessionClosed:
    session: Session


@dataclass(frozen=True)
class ValidationWanted:
    pending: PendingValidation


@dataclass(frozen=True)
class RecoveryEnded:
    """Of a job; told by the recovery's own thread."""

    job: Job


Event = WorkerDied | FaultReported | GpuUnhealthy | SessionClosed | ValidationWanted | RecoveryEnded


class EventQueue:
    """A queue that can be looked through, waited at, and emptied of what concerns somebody."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[Event] = []
        self._stopped = False

    def put(self, event: Event) -> None:
        with self._changed:
            self._queue.append(event)
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def poke(self, *_: object) -> None:
        """Something that a waiter looks at may have changed."""
        with self._changed:
            self._changed.notify_all()

    @property
    def stopped(self) -> bool:
        return self._stopped

    def next(self, timeout: float) -> Event | None:
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._stopped, timeout)
            return self._queue.pop(0) if self._queue and not self._stopped else None

    def take(self, mine: Callable[[Event], bool]) -> list[Event]:
        """Takes out what is mine; the rest keeps its order."""
        with self._changed:
            taken = [one for one in self._queue if mine(one)]
            self._queue = [one for one in self._queue if not any(one is other for other in taken)]
            return taken

    def any(self, wanted: Callable[[Event], bool]) -> bool:
        with self._changed:
            return any(wanted(one) for one in self._queue)

    def wait(self, done: Callable[[], bool], broken: Callable[[Event], bool], timeout: float) -> bool:
        """Until done() (True), or something in the queue breaks it, the time is over, or all stops (False)."""

        def over() -> bool:
            return done() or self._stopped or any(broken(one) for one in self._queue)

        with self._changed:
            self._changed.wait_for(over, timeout)
        return done()
