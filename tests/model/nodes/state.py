"""What a world has besides where its job is over several nodes: services, ways between nodes, mirrors, the store.

Called by: the modules beside and above. Promises: values only; numbers of terms and epochs are the only ones that grow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

NOBODY = -1


class Troubles(NamedTuple):
    """How many may still happen of each."""

    leases: int = 0  # of a leader that run out
    cuts: int = 0  # of a way from one node to another
    lates: int = 0  # updates of a mirror that are overtaken by all else
    pauses: int = 0  # of a node's service
    outages: int = 0  # of the store
    unanswered: int = 0  # writes of the store that happen and are not answered


class Record(NamedTuple):
    """What the home of a rank has of it: what its leaders have decided."""

    epoch: int = 0
    state: str = "serving"
    stopped: bool = False


class Shown(NamedTuple):
    """What a rank's slot on a board says of it. kept: None: no history."""

    epoch: int = 0
    reached: int = 0
    kept: tuple[tuple[int, str], ...] | None = None
    whole: bool = False


class Home(NamedTuple):
    """The service of a node, and its board."""

    service: int = NOBODY  # of its recoveries (service.py), while it leads; NOBODY: it has let the job go
    known: int = NOBODY  # who leads, by what its watch of the store has shown
    sure: bool = False  # it knows that the key of the leader is its own
    leader: int = NOBODY  # whom its ranks follow while it does not lead
    term: int = 0  # in which term
    terms: tuple[int, ...] = ()  # of the documents that it has, by node; 0: none
    dropped: tuple[int, ...] = ()  # of those that it had when it let the job go
    asked: int = NOBODY  # the epoch in the store when its recovery began to ask for a newer one
    linked: bool = True  # the communicator is: what other nodes publish can be read
    counts: bool = True  # ranks of other nodes have slots here
    mirrors: tuple[Shown, ...] = ()  # by rank; those of its own are not used


class Cluster(NamedTuple):
    homes: tuple[Home, ...]
    records: tuple[Record, ...]
    left: Troubles  # that may still happen
    leader: int = NOBODY  # in the store
    epoch: int = 0  # the job's, in the store
    down: bool = False  # the store
    cut: tuple[tuple[int, int], ...] = ()  # ways from node to node
    severed: int = 0  # epochs up to this one have lost what was published
    paused: int = NOBODY  # a node whose service does nothing
    terms: int = 0  # that homes have given
    ways: tuple[Any, ...] = ()  # calls to homes of other nodes, on their way
    updates: tuple[tuple[int, int, Shown], ...] = ()  # of mirrors, late: node, rank, what it is
    faults: tuple[tuple[int, int, int], ...] = ()  # that no leader has heard of: rank, epoch, op
    failure: str = ""  # the job has been given up
