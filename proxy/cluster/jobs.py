"""Jobs over nodes as this node knows them: their sessions, who leads them, and epochs that no two leaders share.

Called by: meetings.py (what has to be in the store), ranks/ (who recovers a session, and in which epoch). Promises: a
session whose job is on this node alone is led here, and the store is not asked; a node that is not sure to lead gets no
epoch; two calls never return one epoch of a job; followers are called without a lock; a job that the store has lost
stays a job here, with its epoch, and is written again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from ..common.complaints import Complaints
from ..ranks.numbers import node_of
from . import keys
from .entries import JobEntry, connecting, job_key, leader_key, leaving
from .numbers import Numbers
from .peers.names import is_name
from .ranks.leadership import NotLeader
from .store.engine import (
    Campaign,
    Change,
    Engine,
    Leading,
    NotLeading,
    Registration,
    State,
    StoreError,
    Swapped,
    Unknown,
    Watch,
)

#: Time for an epoch, for which the store may be asked again and again; and between tries.
EPOCH_SECONDS, TRY_SECONDS = 10.0, 0.1


class Jobs:
    """The jobs of this node's sessions, and all others. Thread-safe."""

    def __init__(self, engine: Engine, node: str, numbers: Numbers, name_of: Callable[[int], str]) -> None:
        """numbers: this node's; name_of: returns the name of the node with a number."""
        self._engine, self._node, self._number, self._name_of = engine, node, numbers.own, name_of
        self._former = numbers.former
        self._lock = threading.Lock()
        self._jobs: dict[str, tuple[JobEntry, int]] = {}  # by name, with revisions; 0: the store has lost it
        self._revision = 0  # of the store, as of when they were read
        self._leaders: dict[str, str] = {}
        self._campaigns: dict[str, Campaign] = {}
        self._followers: list[Callable[[], None]] = []
        self._registration: Registration | None = None
        self._complaints = Complaints("the jobs in the store")
        self._watches: list[Watch] = []
        self._pause = threading.Event()

    def start(self, registration: Registration) -> None:
        """registration: of this node, with whose lease it leads."""
        self._registration = registration
        self._watches = [
            self._engine.watch(keys.JOBS, self._see_jobs), self._engine.watch(keys.LEADERS, self._see_leaders)
        ]  # fmt: skip

    def close(self) -> None:
        """Ends all; who leads does so until the lease is over, or until the next service of this node goes on."""
        self._pause.set()
        for one in self._watches:
            one.close()

    def follow(self, callback: Callable[[], None]) -> None:
        """callback: is called when jobs or leaders have changed."""
        self._followers.append(callback)

    # -- questions --------------------------------------------------------------------------------

    def entries(self) -> dict[str, tuple[JobEntry, int]]:
        """Returns all jobs over nodes by name, each with the revision that it has in the store; 0: it has lost it."""
        with self._lock:
            return dict(self._jobs)

    def over_nodes(self, session: int) -> bool:
        """Returns whether the session's job has sessions of several nodes."""
        with self._lock:
            return self._job_of(session) is not None

    def connected(self, sessions: Iterable[int]) -> set[int]:
        """Returns all sessions of these sessions' jobs over nodes, and these."""
        found = set(sessions)
        with self._lock:
            for one in list(found):
                if (name := self._job_of(one)) is not None:
                    found |= self._jobs[name][0].sessions
        return found

    def node_of(self, session: int) -> str:
        """Returns the name of the session's node."""
        return self._name_of(node_of(session))

    def leader_of(self, session: int) -> str | None:
        """Returns the node that leads the session's job; None: none does at present."""
        with self._lock:
            name = self._job_of(session)
            if name is None:
                return self._node if node_of(session) == self._number else self._name_of(node_of(session))
            if self._leads(name):
                return self._node
            leader = self._leaders.get(name)
        return None if leader == self._node else leader  # not sure of it any more, or not yet

    def next_epoch(self, sessions: Collection[int], at_least: int) -> int:
        """Returns an epoch of the sessions' job that is newer than `at_least` and than all before it. Raises NotLeader,
        StoreError."""
        deadline = time.monotonic() + EPOCH_SECONDS
        while True:
            with self._lock:
                name = next((found for one in sessions if (found := self._job_of(one)) is not None), None)
                if name is None or not self._leads(name):
                    raise NotLeader("another node leads this job")
                entry, revision = self._jobs[name]
            epoch = 1 + max(at_least, entry.epoch)
            change = Change(job_key(name), revision, JobEntry(entry.sessions, epoch).encoded())
            if isinstance(self._engine.compare_and_swap([change]), Swapped):
                return epoch
            if time.monotonic() >= deadline:
                raise StoreError("the store gives no epoch: it does not say whether it has written it")
            self._refresh_all()
            self._pause.wait(TRY_SECONDS)

    # -- changes ----------------------------------------------------------------------------------

    def connect(self, sessions: Collection[int]) -> bool:
        """Has one job in the store with all these sessions. Returns whether that is so by now. Raises StoreError."""
        changes = connecting(self.entries(), sessions)
        if changes and isinstance(self._engine.compare_and_swap(changes), Swapped):
            self._refresh_all()
        return not changes

    def leave(self, ended: Callable[[int], bool]) -> None:
        """Takes sessions out of their jobs, also those that this node had under a former number. ended: of a session of
        this node. Raises StoreError."""
        for name, (one, revision) in self.entries().items():
            gone = [
                session
                for session in one.sessions
                if node_of(session) in self._former or (node_of(session) == self._number and ended(session))
            ]
            if changes := leaving(name, one, revision, gone):
                self._engine.compare_and_swap(changes)

    # -- parts ------------------------------------------------------------------------------------

    def _job_of(self, session: int) -> str | None:
        """Requires the lock."""
        return next((name for name, (one, _) in self._jobs.items() if session in one.sessions), None)

    def _leads(self, name: str) -> bool:
        campaign = self._campaigns.get(name)
        return campaign is not None and campaign.leads

    def _refresh_all(self) -> None:
        self._see_jobs(self._engine.list(keys.JOBS))

    def _see_jobs(self, state: State) -> None:
        found: dict[str, tuple[JobEntry, int]] = {}
        for name, entry in keys.below(state, keys.JOBS).items():
            try:
                found[name] = JobEntry.decoded(job_key(name), entry), entry.revision
            except keys.Malformed as error:
                self._complaints.of(error)
        with self._lock:
            if state.revision < self._revision:
                return  # read before what is known by now
            for name in found.keys() & self._jobs.keys():
                self._keep_epoch(name, found)
            lost = self._lost(found, state.begun)
            found |= lost
            changed, self._jobs, self._revision = found != self._jobs, found, state.revision
        if changed:
            self._campaign()
            self._call_followers()
        for one, _ in lost.values():
            self._write_again(one)

    def _keep_epoch(self, name: str, found: dict[str, tuple[JobEntry, int]]) -> None:
        """No epoch comes twice, also in a store that has older data again. Requires the lock."""
        (one, revision), (known, _) = found[name], self._jobs[name]
        found[name] = JobEntry(one.sessions, max(one.epoch, known.epoch)), revision

    def _lost(self, found: Mapping[str, tuple[JobEntry, int]], begun: int) -> dict[str, tuple[JobEntry, int]]:
        """Returns the jobs of this node that the store has lost, and nobody has written again so far. Requires the
        lock."""
        there = [one.sessions for one, _ in found.values()]
        gone = {name: one for name, (one, revision) in self._jobs.items() if revision <= begun and name not in found}
        return {
            name: (one, 0)
            for name, one in gone.items()
            if self._has(one) and not any(one.sessions <= others for others in there)
        }

    def _write_again(self, one: JobEntry) -> None:
        """Writes a lost job; another node may do that at the same time, which the watch shows. Raises StoreError."""
        changes = connecting(self.entries(), one.sessions)
        if changes and isinstance(outcome := self._engine.compare_and_swap(changes), Unknown):
            raise StoreError(outcome.why)

    def _see_leaders(self, state: State) -> None:
        found = {}
        for name, entry in keys.below(state, keys.LEADERS).items():
            if is_name(leader := entry.value.decode(errors="replace")):
                found[name] = leader
            else:
                self._complaints.of(keys.Malformed(f"{leader_key(name)} in the store names no node; remove it"))
        with self._lock:
            changed, self._leaders = found != self._leaders, found
        if changed:
            self._call_followers()

    def _campaign(self) -> None:
        """Has this node be a candidate for each job of which it has sessions, and for no other."""
        assert self._registration is not None
        with self._lock:
            wanted = {name for name, (one, _) in self._jobs.items() if self._has(one)}
            left = [self._campaigns.pop(name) for name in self._campaigns.keys() - wanted]
            for name in sorted(wanted - self._campaigns.keys()):
                self._campaigns[name] = self._engine.lead(
                    leader_key(name), self._node.encode(), self._registration, self._told
                )
        for one in left:
            one.resign()

    def _has(self, one: JobEntry) -> bool:
        return any(node_of(number) == self._number for number in one.sessions)

    def _told(self, event: Leading | NotLeading) -> None:
        self._call_followers()

    def _call_followers(self) -> None:
        for one in list(self._followers):
            one()
