"""The registry: GPUs of the node, the sessions on them, and the jobs that these form.

A session is one process on one GPU and has a worker process of its own. A job is a set of sessions that communicators
connect, directly or through others: these must roll back together after a fault.

Called by: the gRPC services and the coordinator. Promises: one lock guards everything here, and no thread holds it
while it waits for another process (except the keeper, which answers at once); a session's state changes only along its
table; what another service must know to continue is in the log before anything depends on it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..backends.base import Backend
from ..common.config import SLOTS, Config
from ..common.printable import printable
from ..common.shared_memory import Memory, shared, taken_over
from ..keeper import names
from ..keeper.client import Keeper
from ..keeper.log import Log
from ..ranks.numbers import first_session, node_of
from ..ranks.rank import Rank
from ..ranks.rank import Worker as AnyWorker
from ..ranks.states import OUTSIDE, SessionEvent, SessionState
from . import descriptors
from .addresses import Addresses, free
from .gpus import Gpu, state_of, workers_of
from .job_names import JobNames
from .joins.communicators import Communicators
from .placement import place, shares
from .session import Session
from .session_memory import SessionMemory
from .transfer_memory import TransferMemories, TransferMemory
from .workers.worker import Worker

#: Ranks of a communicator over several nodes (kMostRanks of a segment).
RANKS_OVER_NODES = 1024


class Full(Exception):
    """No room for another session."""


class Registry:
    """GPUs, sessions, communicators, the board."""

    def __init__(self, config: Config, backend: Backend, log: Log | None = None, keeper: Keeper | None = None) -> None:
        self.config, self.backend = config, backend
        self.log, self.keeper = log or Log.make(), keeper
        self.changed = threading.Condition()
        self.gpus = [
            Gpu(index, facts, spare=index >= self.visible(), lost=self.log.get(f"gpu/{index}") or "")
            for index, facts in enumerate(backend.gpus)
        ]
        self.sessions: dict[int, Session] = {}
        self.shared = config.shared()
        most = RANKS_OVER_NODES if config.node_number else SLOTS
        self.communicators = Communicators(self.shared, self.log, keeper, most)
        self.transfer_memories = TransferMemories(keeper)
        #: Returns the slots, on this node's board, of those among these sessions that are of other nodes.
        self.mirror_slots: Callable[[Iterable[int]], list[int]] = lambda sessions: []
        self._slots: dict[int, Addresses] = {}  # slots of the board in use, each with its session's addresses
        self._job_names = JobNames(self.log)
        last: int = self.log.get("last") or 0
        first = first_session(config.node_number)
        self.last = last if node_of(last) == config.node_number else first  # number of the newest session
        self.board: Memory = self._board()

    def visible(self) -> int:
        """Returns the number of GPUs that programs see: the first ones."""
        return len(self.backend.gpus) - self.config.spare_gpus

    def add(self, request: Any, pid: int = 0, environment: Mapping[str, str] | None = None) -> Session:
        """Adds a session with its memory, not yet open in a worker; pid: its process, if it can be seen from here.
        Raises Full or NoSpace."""
        with self.changed:
            slot = min(set(range(SLOTS)) - self._slots.keys(), default=None)
            addresses = free(self._slots.values(), self.backend.address_base)
            if slot is None or addresses is None:
                raise Full(f"this node has {SLOTS} sessions already; end some first")
            if not descriptors.room_for_session():
                raise Full(
                    f"jitc-proxyd has no descriptors for another session (ulimit -n {descriptors.limit()}); end some "
                    "programs first, or start it with more"
                )
            token = secrets.token_hex(16)
            memory = SessionMemory.create(self.config, token, self.last + 1, self.keeper)
            self.last += 1
            self.log.put("last", self.last)
            session = Session(
                self.last, token, request.gpu, pid or request.pid, request.rank, request.world_size,
                self._job_names.name(printable(request.job, 100), printable(request.launch, 200)), slot, memory,
                addresses, program=request.program,
                environment=environment or {},
            )  # fmt: skip
            self.enter(session)
            return session

    def enter(self, session: Session) -> None:
        """Enters a session with a slot of its own."""
        with self.changed:
            self._slots[session.slot] = session.addresses
            self.sessions[session.number] = session

    def note(self, *ranks: Rank) -> None:
        """Logs what the ranks are now. A session that is still being opened is not logged: its program asks again."""
        with self.changed:
            for session in [self.sessions[one.number] for one in ranks if one.number in self.sessions]:
                if session.state is not SessionState.OPENING:
                    self.log.put(f"session/{session.number}", session.record())

    def stop(self, ranks: Iterable[Rank], stopped: bool) -> None:
        """Notes that the ranks may wait for a recovery from now on, or no longer do."""
        with self.changed:
            for one in ranks:
                one.stopped = stopped
                self.note(one)

    def remove(self, session: Session) -> None:
        """Forgets a session and releases its memory; free_slot is the last step."""
        with self.changed:
            if self.sessions.pop(session.number, None) is None:
                return
            session.machine.fire(SessionEvent.CLOSE)
            self.log.delete(f"session/{session.number}")
            self.communicators.leave(session)
            session.memory.close()
            self.changed.notify_all()

    def transfer_memory(self, name: str, size: int, between: Sequence[Rank] = ()) -> TransferMemory:
        """Allocates zeroed memory. Raises NoSpace."""
        return self.transfer_memories.make(name, size)

    def release(self, one: Rank) -> None:
        """Frees the session's share of its GPU: its worker is dead, and no other one will come."""
        with self.changed:
            if (session := self.sessions.get(one.number)) is not None:
                self._clear_slot(session)

    def _clear_slot(self, session: Session) -> None:
        if session.slot in self._slots and self.board.fd >= 0:
            self.shared.clear_slot(self.board.path, session.slot)

    def free_slot(self, session: Session) -> None:
        """Frees the session's slot for the next session: no worker touches it any more."""
        with self.changed:
            self._clear_slot(session)
            self._slots.pop(session.slot, None)
            self.communicators.left(session)

    def of_program(self, program: str) -> list[Session]:
        """Returns the program's open sessions; one that is still being opened checks its program once it is open."""
        with self.changed:
            return [
                one
                for one in self.sessions.values()
                if one.program == program and one.state is not SessionState.OPENING
            ]

    def by_token(self, token: str) -> Session | None:
        with self.changed:
            return next((session for session in self.sessions.values() if session.token == token), None)

    def on_worker(self, worker: AnyWorker) -> Session | None:
        with self.changed:
            on_it = (one for one in self.sessions.values() if one.worker is worker)
            return next((one for one in on_it if one.state is not SessionState.OPENING), None)

    # -- GPUs ---------------------------------------------------------------------------------------

    def workers_of(self, gpu: Gpu) -> list[Worker]:
        """Returns the living workers, those of sessions first."""
        with self.changed:
            return workers_of(gpu, self.sessions.values())

    def workers_on(self, gpu: int) -> list[Worker]:
        """Returns the living workers of the GPU with this index."""
        return self.workers_of(self.gpus[gpu])

    def place(self, session: Session) -> tuple[Gpu | None, bool]:
        """Returns the GPU that is to serve the session, and whether others are served there."""
        with self.changed:
            sessions = [one for one in self.sessions.values() if one.state is not SessionState.FAILED]
            gpu = place(session, self.gpus, sessions)
            return gpu, gpu is not None and shares(session, gpu, sessions)

    def state_of(self, gpu: Gpu) -> str:
        with self.changed:
            return state_of(gpu, self.sessions.values(), self.config.keeps_idle)

    def used(self, gpu: Gpu) -> bool:
        """Returns whether a session is there, or about to be opened."""
        with self.changed:
            here = (one for one in self.sessions.values() if one.host == gpu.index)
            return gpu.attaching > 0 or any(one.state is not SessionState.FAILED for one in here)

    # -- jobs ---------------------------------------------------------------------------------------

    def group(self, seeds: Iterable[Rank]) -> list[Session]:
        """Returns the sessions of the seeds' jobs that can be recovered."""
        with self.changed:
            able = {number for number, one in self.sessions.items() if one.state not in OUTSIDE}
            found = self._connected({session.number for session in seeds} & able, able)
            return [self.sessions[number] for number in sorted(found)]

    def awaits(self, seeds: Iterable[Rank]) -> str:
        """Returns an empty text: everything is known of the sessions of this node."""
        return ""

    def placed(self, places: Mapping[int, int], epoch: int) -> tuple[()]:
        """There is nobody to tell."""
        return ()

    def job_of(self, one: Rank) -> str:
        """Returns the job's name: the launcher's name for it, else its first process."""
        with self.changed:
            numbers = self._connected({one.number}, set(self.sessions)) & set(self.sessions)
            first = self.sessions[min(numbers)] if numbers else one
            return first.job or f"pid {first.pid}"

    def connected(self, numbers: Iterable[int]) -> set[int]:
        """Returns these sessions, and all that communicators of this node connect with them, also of other nodes."""
        with self.changed:
            return self._connected(set(numbers))

    def _connected(self, found: set[int], able: set[int] | None = None) -> set[int]:
        """Returns these sessions, and all that communicators connect with them. able: those that count; None: all."""
        grown = True
        while grown:
            grown = False
            for connected in self.communicators.connections():
                members = connected & able if able is not None else connected
                if members & found and not members <= found:
                    found |= members
                    grown = True
        return found

    def next_epoch(self, ranks: Iterable[Rank]) -> int:
        """Returns an epoch of their job, newer than all that any of them has seen."""
        with self.changed:
            own = [self.sessions[one.number] for one in ranks if one.number in self.sessions]
            epoch = 1 + max((one.epochs for one in own), default=0)
            for session in own:
                session.epochs = epoch
            self.note(*own)
            return epoch

    def renew_communicators(self, ranks: Iterable[Rank]) -> None:
        """Has the next join of any of the ranks get a new segment."""
        with self.changed:
            self.communicators.renew({one.number for one in ranks}, max((one.epoch for one in ranks), default=0))

    def _board(self) -> Memory:
        left = self.keeper.take([names.BOARD]) if self.keeper is not None else {}
        if self.keeper is not None and left:
            return taken_over(names.BOARD, left[names.BOARD], self.keeper)
        return shared(names.BOARD, self.shared.board_bytes).keep(names.BOARD, self.keeper)

    def close(self) -> None:
        """Closes everything. It may run while other threads end sessions: they find nothing left to do."""
        with self.changed:
            for session in list(self.sessions.values()):
                self.remove(session)
            self.communicators.close()
            self.board.close()
            self.log.close()

    def leave(self) -> None:
        """Releases everything without ending it: another service continues."""
        with self.changed:
            self.log.close()
