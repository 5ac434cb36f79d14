"""Nodes of a cluster for tests of what they agree on in the store: each with an engine, jobs and meetings of its own,
over one dictionary, or over engines that a test opens.

Used by: test_meetings.py, test_jobs_over_nodes.py, test_store_that_was_wiped.py. Communicators are plain records here,
and links are noted instead of being made.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from toolkit.waiting import until

from jitc.proxy.cluster import keys
from jitc.proxy.cluster.jobs import Jobs
from jitc.proxy.cluster.meetings import LocalCommunicator, Meetings, Segment
from jitc.proxy.cluster.numbers import Numbers
from jitc.proxy.cluster.store.clock import BootClock
from jitc.proxy.cluster.store.engine import Engine
from jitc.proxy.cluster.store.engines.local import Dictionary, LocalEngine
from jitc.proxy.ranks.numbers import first_session

SECONDS = 20.0


@dataclass
class Here:
    """A node's communicators and sessions (`meetings.Here`)."""

    known: dict[bytes, LocalCommunicator] = field(default_factory=dict)
    sessions: set[int] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    refused: dict[bytes, str] = field(default_factory=dict)

    def communicators(self) -> Sequence[LocalCommunicator]:
        with self.lock:
            return list(self.known.values())

    def has(self, session: int) -> bool:
        return session in self.sessions

    def joined_elsewhere(self, unique_id: bytes, seats: Mapping[int, int]) -> None:
        with self.lock:
            one = self.known[unique_id]
            elsewhere = one.elsewhere | seats.keys()
            self.known[unique_id] = one._replace(seats={**one.seats, **seats}, elsewhere=elsewhere)

    def refuse(self, unique_id: bytes, why: str) -> None:
        self.refused[unique_id] = why

    def ended_elsewhere(self, unique_id: bytes, ends: Mapping[int, str]) -> None:
        with self.lock:
            one = self.known[unique_id]
            self.known[unique_id] = one._replace(ends={**one.ends, **ends})


class RigNode:
    """One node. links: the communicators that are linked now, by id; unlinked: those that were, in order."""

    def __init__(self, engine: Engine, number: int, former: tuple[int, ...] = ()) -> None:
        self.number, self.name = number, f"n{number}"
        self.engine = engine
        self.here = Here()
        self.links: dict[bytes, LocalCommunicator] = {}
        self.unlinked: list[bytes] = []
        self.registration = self.engine.register(f"{keys.NODES}{self.name}", b"{}", lambda event: None)
        numbers = Numbers(number, former)
        self.jobs = Jobs(self.engine, self.name, numbers, lambda other: f"n{other}")
        self.meetings = Meetings(self.engine, numbers, self.here, self.jobs, self)
        self.jobs.start(self.registration)
        self.meetings.start()

    def set(self, linked: Sequence[LocalCommunicator]) -> None:
        now = {one.unique_id: one for one in linked}
        self.unlinked += self.links.keys() - now.keys()
        self.links = now

    def session(self, count: int) -> int:
        """Returns the number of a session of this node."""
        number = first_session(self.number) + count
        self.here.sessions.add(number)
        return number

    def join(self, unique_id: bytes, ranks: int, rank: int, session: int) -> None:
        with self.here.lock:
            empty = LocalCommunicator(unique_id, ranks, {}, frozenset(), {}, Segment(1, 4096), 0, False)
            one = self.here.known.get(unique_id, empty)
            self.here.known[unique_id] = one._replace(seats={**one.seats, rank: session})
        self.meetings.wake()

    def release(self, unique_id: bytes) -> None:
        """All ranks here have released the communicator."""
        with self.here.lock:
            self.here.known[unique_id] = self.here.known[unique_id]._replace(released=True, segment=None)
        self.meetings.wake()

    def end(self, session: int, why: str) -> None:
        """A session ends."""
        self.here.sessions.discard(session)
        with self.here.lock:
            for unique_id, one in self.here.known.items():
                ends = {rank: why for rank, seat in one.seats.items() if seat == session}
                self.here.known[unique_id] = one._replace(ends={**one.ends, **ends}, released=True)
        self.meetings.wake()

    def wait_linked(self, unique_id: bytes) -> LocalCommunicator:
        return until(lambda: self.links.get(unique_id), SECONDS, f"{self.name} has linked {unique_id!r}")

    def close(self) -> None:
        self.meetings.close()
        self.jobs.close()
        self.engine.close()


@dataclass
class Rig:
    store: Dictionary
    nodes: list[RigNode]

    def keys(self, prefix: str) -> list[str]:
        return sorted(self.store.state(prefix).entries)

    def wait_keys(self, prefix: str, count: int) -> None:
        until(lambda: len(self.keys(prefix)) == count, SECONDS, f"{count} entries under {prefix}")


@contextmanager
def nodes(count: int) -> Iterator[Rig]:
    with ExitStack() as ends:
        store = Dictionary(BootClock())
        made = []
        for number in range(1, count + 1):
            made.append(RigNode(LocalEngine(store), number))
            ends.callback(made[-1].close)
        yield Rig(store, made)
