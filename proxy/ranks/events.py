"""Events about ranks, and their queue.

Called by: the coordinator, jobs and recoveries, which handle them; health and protection, which make some; gRPC threads
and the watch thread put them. Promises: an event is immutable; a queue keeps the order of its events and may be used by
any thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .rank import Rank, Worker
from .states import SessionState


@dataclass(frozen=True)
class WorkerDied:
    worker: Worker
    noticed: float
    session: Rank | None = None  # the one that it served; the coordinator fills it in


class PendingValidation:
    """A validation of the job on a GPU for which a command has asked and waits. Thread-safe."""

    def __init__(self, gpu: int, session: int = 0) -> None:
        """gpu: of this node; session: one of the job, if another node asks; 0: none."""
        self.gpu, self.session = gpu, session
        self.done = threading.Event()
        self.document: dict[str, Any] = {}
        self.refusal = ""

    def refuse(self, why: str) -> None:
        self.refusal = why
        self.done.set()


@dataclass(frozen=True)
class FaultReported:
    """A session's report that it cannot continue (ReportFault)."""

    session: Rank
    sequence: int
    status: int
    cause: str
    message: str
    epoch: int  # of the session when the fault was reported
    noticed: float = field(default_factory=time.monotonic)
    culprits: tuple[str, ...] = ()  # ranks for which others have waited

    def still_stopped(self) -> bool:
        """Returns whether the rank is still where it reported the fault: no recovery has resumed it since."""
        return self.session.epoch == self.epoch and self.session.state is SessionState.SERVING


@dataclass(frozen=True)
class GpuUnhealthy:
    """A report by the device's own monitoring (Xid, ECC); there is one event for each worker that uses the GPU."""

    gpu: int
    worker: Worker
    cause: str
    message: str
    noticed: float = field(default_factory=time.monotonic)
    session: Rank | None = None  # as above


@dataclass(frozen=True)
class ServiceRestarted:
    """A session that the previous service left waiting for a recovery, or whose worker was lost without a service."""

    session: Rank
    cause: str
    noticed: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class SessionClosed:
    session: Rank


@dataclass(frozen=True)
class RanksTaken:
    """This service recovers these ranks from now on, as another one did before, or nobody. done: is called when their
    job may be recovered."""

    ranks: Sequence[Rank]
    done: Callable[[], None]


@dataclass(frozen=True)
class RanksLeft:
    """Another service recovers these ranks from now on. done: is called when nothing here acts on them any more."""

    ranks: Sequence[Rank]
    done: Callable[[], None]


@dataclass(frozen=True)
class ValidationWanted:
    pending: PendingValidation


@dataclass(frozen=True)
class RecoveryEnded:
    """The end of a job's recovery, put by its thread."""

    job: int  # the job's number


Event = (
    WorkerDied
    | FaultReported
    | GpuUnhealthy
    | ServiceRestarted
    | SessionClosed
    | RanksTaken
    | RanksLeft
    | ValidationWanted
    | RecoveryEnded
)


class EventQueue:
    """A queue that can be searched, waited for, and emptied of the events that concern a caller."""

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
        """Has waiting threads check their conditions again."""
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
        """Takes out the events that are the caller's; the others keep their order."""
        with self._changed:
            taken = [one for one in self._queue if mine(one)]
            self._queue = [one for one in self._queue if not any(one is other for other in taken)]
            return taken

    def any(self, wanted: Callable[[Event], bool]) -> bool:
        with self._changed:
            return any(wanted(one) for one in self._queue)

    def wait(self, done: Callable[[], bool], broken: Callable[[Event], bool], timeout: float) -> bool:
        """Waits until done() (True), or until an event breaks the wait, the time is over, or it stops (False)."""

        def over() -> bool:
            return done() or self._stopped or any(broken(one) for one in self._queue)

        with self._changed:
            self._changed.wait_for(over, timeout)
        return done()
