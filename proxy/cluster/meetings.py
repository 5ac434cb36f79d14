"""Ranks of a communicator find each other over nodes: by its entry in the store, which each node completes.

A communicator whose ranks have all come on one node is nothing for the store. One with ranks still to come is entered
there, and each node adds its own ranks. Once all ranks are known, their sessions become one job in the store, and only
then the segments are linked: from the first byte that goes over, it is known who recovers together.

Called by: member.py. Promises: a thread compares what this node has with what the store has, and changes what differs,
again after every change and every failure, so that nothing depends on a message; no lock is held while the store or
the bridge is asked; a job of one node makes no calls but one for each communicator whose ranks come one by one.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ..common.complaints import Complaints
from ..ranks.numbers import node_of
from . import keys
from .entries import Meeting, communicator_key, name_of
from .jobs import Jobs
from .numbers import Numbers
from .store.engine import Change, Engine, State, Swapped, Watch
from .store.steps import RETRY_SECONDS, Steps

#: Ranks of a job that may be on other nodes than this one: the board has slots for so many.
ELSEWHERE_MOST = 192
#: Why a rank takes no further part whose node lost it.
BEGAN_ANEW = "the node of this rank was started again, and has lost it"


class Segment(NamedTuple):
    """Where the ranks of this node meet."""

    identity: int
    size: int


class LocalCommunicator(NamedTuple):
    """A communicator as this node has it."""

    unique_id: bytes
    ranks: int
    seats: Mapping[int, int]  # rank -> session, of all nodes as far as they are known
    elsewhere: frozenset[int]  # ranks of other nodes among them
    ends: Mapping[int, str]  # rank -> why it takes no further part
    segment: Segment | None
    epoch: int  # of the newest recovery since it is complete
    released: bool  # by all ranks of this node

    @property
    def own(self) -> dict[int, int]:
        return {rank: session for rank, session in self.seats.items() if rank not in self.elsewhere}

    @property
    def own_ends(self) -> dict[int, str]:
        return {rank: why for rank, why in self.ends.items() if rank not in self.elsewhere}

    @property
    def living(self) -> list[int]:
        """Returns the sessions that still take part."""
        return [session for rank, session in self.seats.items() if rank not in self.ends]

    @property
    def complete(self) -> bool:
        return len(self.seats) == self.ranks


class Here(Protocol):
    """This node's communicators. Its methods take the registry's lock, and wait for nothing else."""

    def communicators(self) -> Sequence[LocalCommunicator]: ...
    def has(self, session: int) -> bool:
        """Returns whether a session of this node has not ended."""

    def joined_elsewhere(self, unique_id: bytes, seats: Mapping[int, int]) -> None: ...
    def ended_elsewhere(self, unique_id: bytes, ends: Mapping[int, str]) -> None: ...
    def refuse(self, unique_id: bytes, why: str) -> None:
        """Ends a communicator with ranks on other nodes; the ranks here get the text."""


class Links(Protocol):
    """The joints between segments of several nodes."""

    def set(self, linked: Sequence[LocalCommunicator]) -> None:
        """Links these, all of whose ranks have joined, and no others. Raises LinkError."""


class LinkError(Exception):
    """Segments cannot be linked now; the text says why."""


class Meetings:
    """The thread."""

    def __init__(self, engine: Engine, numbers: Numbers, here: Here, jobs: Jobs, links: Links) -> None:
        """numbers: this node's."""
        self._engine, self._number, self._here, self._jobs, self._links = engine, numbers.own, here, jobs, links
        self._former = numbers.former
        self._lock = threading.Lock()
        self._entries: dict[str, tuple[Meeting, int]] | None = None  # by name, with revisions
        self._complaints = Complaints("communicators over nodes")
        self._steps = Steps("jitc-meetings", engine.clock, self._step)
        self._watch: Watch | None = None

    def start(self) -> None:
        self._jobs.follow(self.wake)
        self._watch = self._engine.watch(keys.COMMUNICATORS, self._see)
        self._steps.start()

    def wake(self) -> None:
        """Something has changed on this node."""
        self._steps.wake()

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self._steps.stop()

    # -- the thread -------------------------------------------------------------------------------

    def _see(self, state: State) -> None:
        found = {}
        for name, entry in keys.below(state, keys.COMMUNICATORS).items():
            try:
                found[name] = Meeting.decoded(communicator_key(name), entry), entry.revision
            except keys.Malformed as error:
                self._complaints.of(error)
        with self._lock:
            self._entries = found
        self._steps.wake()

    def _step(self) -> float:
        with self._lock:
            entries = self._entries
        if entries is None:
            return math.inf  # the watch has not said yet what there is
        known = {name_of(one.unique_id): one for one in self._here.communicators()}
        settled = True
        for name, one in known.items():
            settled = self._enter(name, one, *entries.get(name, (None, 0))) and settled
        for name, (entry, revision) in entries.items():
            self._release(name, known.get(name), entry, revision)
            self._release_former(name, entry, revision)
        self._jobs.leave(lambda session: not self._here.has(session))
        here = [one for one in self._here.communicators() if not self._refused(one)]  # with ranks taken in above
        settled = self._connect(here) and settled
        self._links.set([one for one in here if self._may_link(one)])
        return math.inf if settled else self._engine.clock.now() + RETRY_SECONDS

    def _enter(self, name: str, one: LocalCommunicator, entry: Meeting | None, revision: int) -> bool:
        """Has the entry name the own ranks, and takes in the others'. Returns whether it does."""
        if one.released or (one.complete and not one.elsewhere and entry is None):
            return True
        if one.complete and not one.elsewhere:  # its ranks have all come here
            return self._swap(Change(communicator_key(name), revision, None))
        wanted = (entry or Meeting(one.ranks)).with_own(one.own, one.own_ends)
        if entry is not None:
            others = {rank: session for rank, session in entry.seats.items() if node_of(session) != self._number}
            self._here.joined_elsewhere(one.unique_id, others)
            ends = {rank: why for rank, why in entry.ends.items() if rank in others}
            self._here.ended_elsewhere(one.unique_id, ends)
        return wanted == entry or self._swap(Change(communicator_key(name), revision, wanted.encoded()))

    def _release(self, name: str, one: LocalCommunicator | None, entry: Meeting, revision: int) -> None:
        """Notes in an entry that this node does not need it any more."""
        ours = [session for session in entry.seats.values() if node_of(session) == self._number]
        if not ours or self._number in entry.released or (one is not None and not one.released):
            return
        left = entry.without(self._number, one.own_ends if one is not None else {})
        self._swap(Change(communicator_key(name), revision, left.encoded() if left is not None else None))

    def _release_former(self, name: str, entry: Meeting, revision: int) -> None:
        """Notes in an entry that ranks which this node had under a former number have ended."""
        for number in set(self._former) - entry.released:
            ours = [rank for rank, session in entry.seats.items() if node_of(session) == number]
            if ours:
                left = entry.without(number, dict.fromkeys(ours, BEGAN_ANEW) | dict(entry.ends))
                self._swap(Change(communicator_key(name), revision, left.encoded() if left is not None else None))
                return  # another one when the watch has brought this

    def _refused(self, one: LocalCommunicator) -> bool:
        """Refuses a communicator that would make a job of too many ranks. Returns whether it is refused."""
        if not (one.complete and one.elsewhere):
            return False
        connected = self._jobs.connected(one.living)
        elsewhere = sum(node_of(session) != self._number for session in connected)
        if elsewhere > ELSEWHERE_MOST:
            most = f"a job may have at most {ELSEWHERE_MOST} ranks on other nodes than any of its own"
            self._here.refuse(one.unique_id, f"{most}, and this one would have {elsewhere}")
        return elsewhere > ELSEWHERE_MOST

    def _connect(self, here: Sequence[LocalCommunicator]) -> bool:
        """Has the store know which sessions are one job. Returns whether it does."""
        settled = True
        for one in here:
            over_nodes = one.elsewhere or any(self._jobs.over_nodes(session) for session in one.living)
            if one.complete and over_nodes and len(one.living) > 1:
                settled = self._jobs.connect(one.living) and settled
        return settled

    def _may_link(self, one: LocalCommunicator) -> bool:
        if not (one.complete and one.elsewhere and one.segment is not None):
            return False
        return set(one.living) <= self._jobs.connected(one.living[:1])

    def _swap(self, change: Change) -> bool:
        """Makes a change. Returns whether it was made; if not, the watch brings what is there instead."""
        return isinstance(self._engine.compare_and_swap([change]), Swapped)
