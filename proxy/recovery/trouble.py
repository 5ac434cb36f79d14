"""What went wrong, collected over one recovery: lost workers, reported faults, whose they are."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ..node.sessions import Session, SessionState
from ..node.workers import Worker
from .events import FaultReported, GpuUnwell, Happening, SessionClosed, WorkerDied
from .limits import Limits

#: After these the device's context is of no use: its worker is replaced, as a process would be on a GPU.
#: Not "hung-collective": every rank of the communicator reports that, and replacing all of them would lose the state
#: that they have of each other. The fence gives their collectives up; a worker whose device does not come to rest
#: then ends itself, and the rank that really hangs is found by its kernel or its silence.
RESTART_CAUSES = ("sticky-error", "device-lost", "ecc-error", "xid", "hung-kernel")

#: No fault: the session has stopped to have its minibatch run twice (validation.py).
VALIDATION = "validation"


@dataclass(eq=False)
class Trouble:
    """Starts with one happening; a recovery adds those that come while it runs."""

    detect_seconds: float = 0.0
    since: float = field(default_factory=time.monotonic)
    causes: list[str] = field(default_factory=list)
    gpus: list[int] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    dead: list[Worker] = field(default_factory=list)
    _unwell: list[Worker] = field(default_factory=list)
    _sessions: list[Session] = field(default_factory=list)
    _faults: list[tuple[FaultReported, bool]] = field(default_factory=list)

    def add(self, happening: Happening, limits: Limits) -> None:
        if isinstance(happening, WorkerDied):
            self.dead.append(happening.worker)
            if happening.worker.gpu is not None:
                self._note(happening.worker.cause, happening.worker.gpu, "")
        elif isinstance(happening, GpuUnwell):
            self._unwell.append(happening.worker)
            self._note(happening.cause, happening.gpu.index, happening.message)
        elif isinstance(happening, FaultReported):
            real = happening.cause != VALIDATION
            own = real and limits.fault(happening.session.number, happening.sequence)
            self._faults.append((happening, own))
            self._note(happening.cause, happening.session.gpu, happening.message)
            self.involve([happening.session])

    def involve(self, sessions: list[Session]) -> None:
        self._sessions += [session for session in sessions if session not in self._sessions]

    def sessions(self) -> list[Session]:
        return [one for one in self._sessions if one.state not in (SessionState.CLOSED, SessionState.FAILED)]

    def faults(self) -> list[str]:
        """The causes; of a validation only when there is no other."""
        return [cause for cause in self.causes if cause != VALIDATION] or self.causes

    def validates(self) -> bool:
        """Nothing is wrong: ranks have stopped to be taken back."""
        return self.causes == [VALIDATION]

    def own_faults(self) -> list[tuple[Session, FaultReported]]:
        """The program's own: they came back at the same op after enough replays."""
        return [(fault.session, fault) for fault, own in self._faults if own]

    def kill_unusable(self) -> None:
        """Ends workers whose device is of no use any more, and waits for their end."""
        for fault, own in self._faults:
            worker = fault.session.worker
            if own or fault.cause not in RESTART_CAUSES or worker is None or fault.session.epoch != fault.epoch:
                continue
            _end(worker)
        for worker in self._unwell:
            _end(worker)

    def concerns(self, happening: Happening, group: list[Session], replaying: bool) -> bool:
        """Whether a recovery of this group has to start again because of it."""
        if isinstance(happening, (WorkerDied, GpuUnwell)):
            known = (SessionState.LOST, SessionState.FAILED, SessionState.CLOSED)
            return any(one.worker is happening.worker and one.state not in known for one in group)
        if isinstance(happening, FaultReported):
            return happening.session in group
        return isinstance(happening, SessionClosed) and happening.session in group and not replaying

    def _note(self, cause: str, gpu: int, message: str) -> None:
        if cause not in self.causes:
            self.causes.append(cause)
        if gpu not in self.gpus:
            self.gpus.append(gpu)
        if message and message not in self.messages:
            self.messages.append(message)


def _end(worker: Worker) -> None:
    worker.kill()
    worker.process.wait()
