"""All ranks that this node leads: those of its own sessions, and those of other nodes, as one.

Called by: recovery, protection and health, in place of the registry. Promises: ranks of jobs on this node alone are
what the registry has; a rank that another node leads is not among them; a job has no new epoch that another leader has,
or will have.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ....common.config import Config
from ....common.executor import Shared
from ....node.registry import Registry
from ....node.session import Session
from ....ranks.rank import Communicator, Gpu, Log, NotLed, Rank, TransferMemory, Worker
from ....ranks.states import OUTSIDE
from ...store.engine import StoreError
from ..documents import communicator_name
from ..leadership import Cluster, NotLeader
from ..leads import Leads
from .memory import Memories
from .places import Places
from .session import RemoteSession
from .table import RemoteTable
from .worker import RemoteWorker

#: Between tries to get an epoch from a store that does not answer.
STORE_SECONDS = 0.5


@dataclass
class RemoteCommunicator:
    """A communicator of which no session of this node is a member."""

    ranks: int
    members: dict[int, int] = field(default_factory=dict)
    waited: float = 0.0
    open: bool = False

    def gathering(self) -> bool:
        return self.open


class ClusterRanks:
    """The ranks (../../../ranks/rank.py: Ranks)."""

    def __init__(
        self, cluster: Cluster, registry: Registry, table: RemoteTable, leads: Leads, *,
        memories: Memories, places: Places,
    ) -> None:  # fmt: skip
        self._cluster, self._registry, self._table, self._leads = cluster, registry, table, leads
        self._memories, self._places = memories, places
        self._ending = threading.Event()
        self._troubles: dict[int, str] = {}  # sessions whose recovery waits for the store, and why

    def close(self) -> None:
        """Ends waits for the store."""
        self._ending.set()

    # -- what there is ----------------------------------------------------------------------------

    @property
    def config(self) -> Config:
        return self._registry.config

    @property
    def changed(self) -> threading.Condition:
        return self._registry.changed

    @property
    def log(self) -> Log:
        return self._registry.log

    @property
    def shared(self) -> Shared:
        return self._registry.shared

    @property
    def gpus(self) -> Sequence[Gpu]:
        return self._registry.gpus

    @property
    def sessions(self) -> Mapping[int, Rank]:
        with self.changed:
            own = {number: one for number, one in self._registry.sessions.items() if not self._leads.is_away(number)}
            others = {number: one for number, one in self._table.sessions.items() if one.taken}
            return {**own, **others}

    @property
    def communicators(self) -> Iterator[Communicator]:
        with self.changed:
            own = list(self._registry.communicators)
            known = {communicator_name(unique_id) for unique_id, _ in self._registry.communicators.items()}
            others: dict[bytes, RemoteCommunicator] = {}
            for session in self._table.sessions.values():
                for seat in session.document.seats:
                    if seat.communicator not in known:
                        one = others.setdefault(seat.communicator, RemoteCommunicator(seat.ranks))
                        one.members[session.number] = seat.rank
                        one.open |= seat.gathering
        yield from own
        yield from others.values()

    def group(self, seeds: Iterable[Rank]) -> Sequence[Rank]:
        wanted = list(seeds)
        with self.changed:
            numbers = {one.number for one in wanted}
            if not self._leads.over_nodes(numbers):
                return self._registry.group([one for one in wanted if not self._leads.is_away(one.number)])
            able = {number: one for number, one in self.sessions.items() if one.state not in OUTSIDE}
            found = self._leads.connected(numbers & able.keys())
            return [able[number] for number in sorted(found & able.keys())]

    def awaits(self, seeds: Iterable[Rank]) -> str:
        with self.changed:
            numbers = {one.number for one in seeds}
            return self._leads.awaits(numbers) if self._leads.over_nodes(numbers) else ""

    def store_trouble(self, number: int) -> str:
        """Returns why a recovery of a session's job has no epoch yet; empty: none waits for one."""
        with self.changed:
            return self._troubles.get(number, "")

    def job_of(self, one: Rank) -> str:
        with self.changed:
            if not self._leads.over_nodes([one.number]):
                return self._registry.job_of(one)
            known: dict[int, Rank] = {**self._registry.sessions, **self._table.sessions}
            numbers = self._leads.connected([one.number]) & known.keys()
            first = known[min(numbers)] if numbers else one
            return first.job or f"pid {first.pid}"

    def on_worker(self, worker: Worker) -> Rank | None:
        with self.changed:
            if isinstance(worker, RemoteWorker):
                session = worker.session
                return session if session.worker is worker and session.taken and not session.gone else None
            return self._registry.on_worker(worker)

    def workers_on(self, gpu: int) -> Sequence[Worker]:
        return self._registry.workers_on(gpu)

    # -- what is done -----------------------------------------------------------------------------

    def next_epoch(self, ranks: Iterable[Rank]) -> int:
        """Waits as long as the store gives none. Raises NotLed."""
        group = list(ranks)
        numbers = [one.number for one in group]
        with self.changed:
            if not self._leads.over_nodes(numbers):
                return self._registry.next_epoch(group)
            newest = max((_epochs(one) for one in group), default=0)
        epoch = self._epoch(numbers, newest)
        with self.changed:
            for one in group:
                if isinstance(one, (Session, RemoteSession)):
                    one.epochs = epoch
        self.note(*group)
        return epoch

    def transfer_memory(self, name: str, size: int, between: Sequence[Rank] = ()) -> TransferMemory:
        others = [one for one in between if isinstance(one, RemoteSession)]
        if not others:
            return self._registry.transfer_memory(name, size)
        return self._memories.make(size, between)

    def placed(self, places: Mapping[int, int], epoch: int) -> Sequence[object]:
        with self.changed:
            others = [self._table.sessions[number] for number in places if number in self._table.sessions]
        return self._places.tell(others, places, epoch) if others else ()

    def renew_communicators(self, ranks: Iterable[Rank]) -> None:
        """Has the next join of any of the ranks get a new segment. Other nodes do so when they learn of the epoch."""
        self._registry.renew_communicators([one for one in ranks if isinstance(one, Session)])

    def stop(self, ranks: Iterable[Rank], stopped: bool) -> None:
        own, others = _apart(ranks)
        self._registry.stop(own, stopped)
        with self.changed:
            for one in others:
                one.stopped = stopped
        self.note(*others)

    def note(self, *ranks: Rank) -> None:
        own, others = _apart(ranks)
        self._registry.note(*own)
        for one in others:
            one.note()

    def release(self, one: Rank) -> None:
        if isinstance(one, RemoteSession):
            one.released = True
            return one.note()
        return self._registry.release(one)

    def _epoch(self, numbers: Sequence[int], newest: int) -> int:
        try:
            while not self._ending.is_set():
                try:
                    return self._cluster.jobs.next_epoch(numbers, newest)
                except StoreError as error:
                    self._say_trouble(numbers, str(error))
                    self._ending.wait(STORE_SECONDS)
                    self._check_led(numbers)
        except NotLeader as error:
            self._leads.lost(numbers)
            raise NotLed(str(error)) from None
        finally:
            self._say_trouble(numbers, "")
        raise NotLed("the service is ending")

    def _check_led(self, numbers: Iterable[int]) -> None:
        with self.changed:
            if any(self._leads.is_left(number) for number in numbers):
                raise NotLed("this node does not lead the job any more")

    def _say_trouble(self, numbers: Sequence[int], why: str) -> None:
        """Notes why these sessions have no epoch yet; empty: they have, or need none any more."""
        with self.changed:
            new = not any(one in self._troubles for one in numbers)
            self._troubles = {one: text for one, text in self._troubles.items() if one not in numbers}
            if why:
                self._troubles |= dict.fromkeys(numbers, why)
        if why and new:
            print(f"jitc-proxyd: a recovery waits for the cluster's store: {why}", file=sys.stderr, flush=True)


def _epochs(one: Rank) -> int:
    return one.epochs if isinstance(one, (Session, RemoteSession)) else 0


def _apart(ranks: Iterable[Rank]) -> tuple[list[Session], list[RemoteSession]]:
    """Returns the ranks of this node, and those of others."""
    every = list(ranks)
    others: list[RemoteSession] = [one for one in every if isinstance(one, RemoteSession)]
    return [one for one in every if isinstance(one, Session)], others
