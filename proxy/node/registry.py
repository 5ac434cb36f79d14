"""The registry: GPUs of the node, the sessions on them, and the jobs that these form.

A session is one process on one GPU and has a worker process of its own. A job is a set of sessions that communicators
connect, directly or through others: these must go back together after a fault.

Called by: the gRPC services and the coordinator. Promises: one lock guards everything here, and no thread holds it
while it waits for another process; a session's state changes only along its table.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..backends.base import Backend
from ..common.config import SLOTS, Config, address_range, pinned_address
from ..common.state_machine import Machine
from .communicators import Communicators
from .gpus import Gpu, state_of, workers_of
from .shared_memory import Memory, SessionMemory, shared
from .workers.watch import Watched
from .workers.worker import Worker


class SessionState(Enum):
    OPENING = "opening"
    SERVING = "serving"
    FENCED = "fenced"  # its worker lives, it executes nothing
    LOST = "lost"  # its worker is dead
    STANDBY = "held"  # a new worker has it, fenced; documents keep the older word
    FAILED = "failed"  # given up; the text says why
    CLOSED = "closed"


class SessionEvent(Enum):
    OPENED = "opened"
    FENCE = "fence"
    LOSE = "lose its worker"
    REBUILD = "rebuild"
    RESUME = "resume"
    FAIL = "fail"
    CLOSE = "close"


_S, _E = SessionState, SessionEvent
SESSION_TABLE = {
    (_S.OPENING, _E.OPENED): _S.SERVING,
    (_S.SERVING, _E.FENCE): _S.FENCED,
    (_S.FENCED, _E.FENCE): _S.FENCED,  # a second fault restarts the recovery
    (_S.STANDBY, _E.FENCE): _S.STANDBY,
    (_S.FAILED, _E.FENCE): _S.FAILED,
    (_S.SERVING, _E.LOSE): _S.LOST,
    (_S.FENCED, _E.LOSE): _S.LOST,
    (_S.STANDBY, _E.LOSE): _S.LOST,
    (_S.LOST, _E.LOSE): _S.LOST,
    (_S.FAILED, _E.LOSE): _S.FAILED,
    (_S.LOST, _E.REBUILD): _S.STANDBY,
    (_S.FENCED, _E.RESUME): _S.SERVING,
    (_S.STANDBY, _E.RESUME): _S.SERVING,
    **{(state, _E.FAIL): _S.FAILED for state in (_S.SERVING, _S.FENCED, _S.LOST, _S.STANDBY, _S.FAILED)},
    **{(state, _E.CLOSE): _S.CLOSED for state in _S},
}
#: Sessions in these states take no part in recoveries.
_OUTSIDE = (SessionState.OPENING, SessionState.FAILED, SessionState.CLOSED)
#: In these a training process can connect to a living worker; a failed session gets its error there.
REACHABLE = (SessionState.SERVING, SessionState.FENCED, SessionState.STANDBY, SessionState.FAILED)


@dataclass(eq=False)
class Session:
    """A process on a GPU."""

    number: int
    token: str
    gpu: int
    pid: int
    rank: int
    world_size: int
    job: str
    slot: int
    memory: SessionMemory
    address_base: int  # of all sessions' ranges
    worker: Worker | None = None
    epoch: int = 0
    failure: str = ""
    diverged: int = 0  # blocks that other ranks hold differently, though they were replicas
    compared: int = 0  # newest boundary at which that was looked at
    process_watch: Watched | None = None
    computes_since: float = field(default_factory=time.monotonic)  # its opening, or the end of its last replay
    machine: Machine[SessionState, SessionEvent] = field(init=False)

    def __post_init__(self) -> None:
        self.machine = Machine(f"session {self.number}", SESSION_TABLE, SessionState.OPENING)

    @property
    def state(self) -> SessionState:
        return self.machine.state

    def addresses(self) -> dict[str, Any]:
        """Its range, as fields of a message."""
        base, size = address_range(self.slot, self.address_base)
        return {"address_base": base, "address_bytes": size}

    def pinned(self) -> dict[str, Any]:
        """Where its pinned memory lies, as fields of a message; none when there is none."""
        pinned = self.memory.pinned
        if pinned is None:
            return {}
        base = pinned_address(self.slot, self.address_base)
        return {"pinned_path": pinned.path, "pinned_base": base, "pinned_bytes": pinned.size}

    def reachable(self) -> bool:
        return self.state in REACHABLE and self.worker is not None and self.worker.listens()

    def without_worker(self) -> bool:
        """It waits for a worker, or its new worker waits for the state that was lost."""
        return self.state in (SessionState.LOST, SessionState.STANDBY)

    def label(self) -> str:
        return f"rank {self.rank} (pid {self.pid})" if self.rank >= 0 else f"pid {self.pid}"


class Full(Exception):
    """No room for another session."""


class Registry:
    """GPUs, sessions, communicators, the board."""

    def __init__(self, config: Config, backend: Backend) -> None:
        self.config, self.backend = config, backend
        self.changed = threading.Condition()
        self.gpus = [Gpu(index, facts) for index, facts in enumerate(backend.gpus)]
        self.sessions: dict[int, Session] = {}
        self.shared = config.shared()
        self.communicators = Communicators(self.shared)
        self.board: Memory = shared("board", self.shared.board_bytes)
        self._slots: set[int] = set()  # of the board, in use
        self.epoch = 0
        self._last = 0

    def add(self, request: Any) -> Session:
        """A new session with its memory, not yet open in a worker. Raises Full or NoSpace."""
        with self.changed:
            slot = min(set(range(SLOTS)) - self._slots, default=None)
            if slot is None:
                raise Full(f"this node has {SLOTS} sessions already; end some first")
            token = secrets.token_hex(16)
            memory = SessionMemory.create(self.config, token)
            self._last += 1
            self._slots.add(slot)
            session = Session(
                self._last, token, request.gpu, request.pid, request.rank,
                request.world_size, request.job, slot, memory, self.backend.address_base, epoch=self.epoch,
            )  # fmt: skip
            self.sessions[session.number] = session
            return session

    def remove(self, session: Session) -> None:
        """Forgets a session and gives its memory back; free_slot is the last step."""
        with self.changed:
            if self.sessions.pop(session.number, None) is None:
                return
            session.machine.fire(SessionEvent.CLOSE)
            self.communicators.leave(session)
            session.memory.close()
            self.changed.notify_all()

    def release(self, session: Session) -> None:
        """Frees the session's share of its GPU: its worker is dead, and no other one will come."""
        with self.changed:
            if session.slot in self._slots and self.board.fd >= 0:
                self.shared.clear_slot(self.board.path, session.slot)

    def free_slot(self, session: Session) -> None:
        """No worker touches the session's slot any more: the next session may have it."""
        with self.changed:
            self.release(session)
            self._slots.discard(session.slot)
            self.communicators.left(session)

    def by_token(self, token: str) -> Session | None:
        with self.changed:
            return next((session for session in self.sessions.values() if session.token == token), None)

    def on_worker(self, worker: Worker) -> Session | None:
        with self.changed:
            on_it = (one for one in self.sessions.values() if one.worker is worker)
            return next((one for one in on_it if one.state is not SessionState.OPENING), None)

    # -- GPUs ---------------------------------------------------------------------------------------

    def workers_of(self, gpu: Gpu) -> list[Worker]:
        """The living workers, those of sessions first."""
        with self.changed:
            return workers_of(gpu, self.sessions.values())

    def state_of(self, gpu: Gpu) -> str:
        with self.changed:
            return state_of(gpu, self.sessions.values())

    def used(self, gpu: Gpu) -> bool:
        """Whether a session is there, or about to be opened."""
        with self.changed:
            here = (one for one in self.sessions.values() if one.gpu == gpu.index)
            return gpu.attaching > 0 or any(one.state is not SessionState.FAILED for one in here)

    # -- jobs ---------------------------------------------------------------------------------------

    def group(self, seeds: list[Session]) -> list[Session]:
        """The sessions of the seeds' jobs that can be recovered."""
        with self.changed:
            able = {number for number, one in self.sessions.items() if one.state not in _OUTSIDE}
            found = self._connected({session.number for session in seeds} & able, able)
            return [self.sessions[number] for number in sorted(found)]

    def job_of(self, session: Session) -> str:
        """The job's name: the launcher's name for it, else its first process."""
        with self.changed:
            numbers = self._connected({session.number}, set(self.sessions)) & set(self.sessions)
            first = self.sessions[min(numbers)] if numbers else session
            return first.job or f"pid {first.pid}"

    def _connected(self, found: set[int], able: set[int]) -> set[int]:
        """These sessions, and all that communicators connect with them."""
        grown = True
        while grown:
            grown = False
            for communicator in self.communicators:
                members = communicator.members.keys() & able
                if members & found and not members <= found:
                    found |= members
                    grown = True
        return found

    def next_epoch(self) -> int:
        with self.changed:
            self.epoch += 1
            return self.epoch

    def renew_communicators(self, sessions: list[Session]) -> None:
        """The next join of any of them gets a new segment."""
        with self.changed:
            self.communicators.renew({session.number for session in sessions})

    def close(self) -> None:
        """May run while other threads end sessions: they find nothing left to do."""
        with self.changed:
            for session in list(self.sessions.values()):
                self.remove(session)
            self.communicators.close()
            self.board.close()
