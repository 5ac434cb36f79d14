"""The cause of one recovery: lost workers, reported faults, and the ranks at fault.

Called by: the coordinator (which begins it), recoveries (which add to it). Promise: every event counts once towards the
limits, and only the sessions that an event names are involved.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..ranks.causes import ASTRAY, COMMUNICATOR_ENDED, DIVERGENCE, HUNG_KERNEL, HUNG_WORKER, VALIDATION
from ..ranks.events import Event, FaultReported, GpuUnhealthy, ServiceRestarted, SessionClosed, WorkerDied
from ..ranks.rank import Rank, Ranks, Worker
from ..ranks.states import SessionState
from .limits import Limits

#: After these the device's context is unusable, so its worker is replaced. HUNG_COLLECTIVE is not among them: every
#: rank of the communicator reports it, and replacing all of them would lose the state that they have of each other. The
#: fence gives their collectives up; a worker whose device does not become idle then ends itself, and the rank that
#: really hangs is found by its kernel or its silence.
RESTART_CAUSES = ("sticky-error", "device-lost", "ecc-error", "xid", HUNG_KERNEL)

#: The causes among these after which a device's memory may be intact. A lost GPU and an ECC error are not, since they
#: concern the memory itself, nor is a kernel that does not end: nothing can be read beside it.
READABLE_CAUSES = ("sticky-error",)

#: The op waits for a process that has ended, or a kernel found numbers that the program must not pass (an index out of
#: range): no replay helps, and the program gets the error the first time.
OWN_CAUSES = (COMMUNICATOR_ENDED, "device-assert")


@dataclass(eq=False)
class Incident:
    """The events of one recovery: the one that begins it, and those that come while it runs."""

    detect_seconds: float = 0.0
    since: float = field(default_factory=time.monotonic)
    causes: list[str] = field(default_factory=list)
    gpus: list[int] = field(default_factory=list)
    places: list[tuple[str, int]] = field(default_factory=list)  # the same, each with its node ("": this one)
    messages: list[str] = field(default_factory=list)
    dead: list[Worker] = field(default_factory=list)
    culprits: list[str] = field(default_factory=list)  # ranks that hung, or for which others have waited
    _unhealthy: list[Worker] = field(default_factory=list)
    _sessions: list[Rank] = field(default_factory=list)
    _faults: list[tuple[FaultReported, bool]] = field(default_factory=list)

    def add(self, event: Event, limits: Limits) -> None:
        if isinstance(event, WorkerDied):
            self.dead.append(event.worker)
            self.involve([event.session] if event.session is not None else [])
            if event.worker.gpu is not None:
                self._note(event.worker.cause, (event.worker.node, event.worker.gpu), event.worker.message)
            if event.worker.cause == HUNG_WORKER and event.session is not None:
                self._blame(event.session.label())
        elif isinstance(event, GpuUnhealthy):
            self._unhealthy.append(event.worker)
            self.involve([event.session] if event.session is not None else [])
            self._note(event.cause, (event.worker.node, event.gpu), event.message)
        elif isinstance(event, FaultReported):
            own = _returns_too_often(event, limits) or event.cause in OWN_CAUSES
            self._faults.append((event, own))
            self._note(event.cause, _place(event.session), event.message)
            self.involve([event.session])
            self._blame(*event.culprits, *([event.session.label()] if event.cause == HUNG_KERNEL else []))
        elif isinstance(event, ServiceRestarted):
            self._note(event.cause, _place(event.session), "")
            self.involve([event.session])

    def lose(self, worker: Worker) -> None:
        """Adds a worker that a fence finds not working. Its peers may have noticed that before the kernel reports its
        end, which is then reported to no one: the GPU's driver releases a process only once its memory is free."""
        if worker.gpu is not None and not worker.replaced:
            self._note(worker.cause, (worker.node, worker.gpu), worker.message)

    def involve(self, sessions: Sequence[Rank]) -> None:
        self._sessions += [session for session in sessions if session not in self._sessions]

    def inherit(self, other: Incident) -> None:
        """Takes over the incident of another recovery."""
        self.dead += other.dead
        self._unhealthy += other._unhealthy
        self._faults += other._faults
        for cause in other.causes:
            self._note(cause, (other.places or self.places)[0], "")
        self.messages += [one for one in other.messages if one not in self.messages]
        self._blame(*other.culprits)
        self.involve(other._sessions)

    def sessions(self) -> Sequence[Rank]:
        return [one for one in self._sessions if one.state not in (SessionState.CLOSED, SessionState.FAILED)]

    def job(self, ranks: Ranks) -> str:
        """Returns the job's name, even after its sessions have ended."""
        return ranks.job_of(self._sessions[0]) if self._sessions else ""

    def reported_causes(self) -> list[str]:
        """Returns the causes; a validation is listed only if there is no other cause."""
        return [cause for cause in self.causes if cause != VALIDATION] or self.causes

    def validates(self) -> bool:
        """Returns whether nothing is wrong: ranks have only stopped to be validated."""
        return self.causes == [VALIDATION]

    def own_faults(self) -> list[tuple[Rank, FaultReported]]:
        """Returns the program's own faults: they came back at the same op after enough replays."""
        return [(fault.session, fault) for fault, own in self._faults if own]

    def failed_at(self, session: Rank) -> int:
        """Returns the newest op that has failed in the session; 0: none."""
        return max((fault.sequence for fault, _ in self._faults if fault.session is session), default=0)

    def kill_unusable(self) -> None:
        """Kills workers whose device is unusable."""
        for session in self.unusable(RESTART_CAUSES):
            if session.worker is not None:
                session.worker.replace()
        for worker in self._unhealthy:
            worker.replace()

    def readable(self) -> Sequence[Rank]:
        """Returns the unusable sessions that rely on peers and whose workers may still be able to read their memory."""
        found = self.unusable(READABLE_CAUSES)
        return [one for one in found if one.peer_mode and one.worker not in self._unhealthy]

    def unusable(self, causes: Iterable[str]) -> Sequence[Rank]:
        """Returns sessions whose worker lives and is to be replaced for one of these causes."""
        return [
            fault.session
            for fault, own in self._faults
            if fault.cause in causes
            and (not own or fault.cause == HUNG_KERNEL)
            and fault.session.epoch == fault.epoch
            and fault.session.worker is not None
            and fault.session.worker.works()
        ]

    def touches(self, sessions: Sequence[Rank]) -> bool:
        return any(session in sessions for session in self._sessions)

    def concerns(self, event: Event, group: Sequence[Rank], replaying: bool) -> bool:
        """Returns whether the event makes the recovery of this group start again."""
        if isinstance(event, (WorkerDied, GpuUnhealthy)):
            session = event.session
            if session is None:
                return True
            if session.state in (SessionState.FAILED, SessionState.CLOSED):
                return False
            return session not in group or (session.worker is event.worker and session.state is not SessionState.LOST)
        if isinstance(event, FaultReported):
            return event.session.state not in (SessionState.FAILED, SessionState.CLOSED)
        return isinstance(event, SessionClosed) and event.session in group and not replaying

    def _blame(self, *labels: str) -> None:
        for label in labels:
            if label not in self.culprits:
                self.culprits.append(label)

    def _note(self, cause: str, place: tuple[str, int], message: str) -> None:
        """place: a GPU, with its node."""
        if cause not in self.causes:
            self.causes.append(cause)
        if place not in self.places:
            self.places.append(place)
        if place[1] not in self.gpus:
            self.gpus.append(place[1])
        if message and message not in self.messages:
            self.messages.append(message)


def _place(session: Rank) -> tuple[str, int]:
    return session.node, session.gpu


def _returns_too_often(fault: FaultReported, limits: Limits) -> bool:
    """Counts the fault. Returns whether no further replay is to be tried."""
    if fault.cause == ASTRAY:
        return limits.count_astray(fault.session.number)
    real = fault.cause not in (VALIDATION, DIVERGENCE)
    return real and limits.count_fault(fault.session.number, fault.sequence)
