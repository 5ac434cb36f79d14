"""The world of the model: what each rank's program, worker, journal and board hold, and what is on its way.

Called by: all modules beside. Promises: values only, so that equal worlds are one; what is gone with a worker is reset,
so that nothing of it makes a difference later.

Numbers: in each minibatch k from 1 on a program does a collective whose result it reads, in peer mode begins its
optimizer step, and ends with boundary k; where steps are uneven rank 0 makes further ones then. Ops are numbered from
1. The content of a device is the number of ops that have made it: content n is right before op n + 1 and before no
other.
"""

from __future__ import annotations

from typing import NamedTuple

from .nodes.state import Cluster, Troubles

GARBAGE = -1
#: What a rank has of a boundary's copies: all; only those of what no other rank has; one of them is damaged.
WHOLE, OWN, DAMAGED = "whole", "own", "damaged"
#: A worker that has not opened its session yet; a session that stands still, runs, or has failed.
NEW, FENCED, RUNNING = "new", "fenced", "running"


class Call(NamedTuple):
    """A call of the service to a worker."""

    rank: int
    worker: int
    method: str
    epoch: int  # of the recovery that asks
    boundary: int = 0
    told: bool = True  # whether the request names its epoch
    # Over nodes alone:
    leader: int = -1  # the node that asks
    term: int = 0  # its term at the home of the rank
    note: tuple[int, str, bool] = (0, "", False)  # what it has decided of the rank: epoch, state, stopped
    places: tuple[tuple[int, int], ...] = ()  # where ranks of other nodes stand


class Finish(NamedTuple):
    """A FinishStep or Keep that has its session run to a boundary."""

    call: Call
    boundary: int


class Worker(NamedTuple):
    """The process, and what is lost with it."""

    number: int = 0  # of the processes that the session has had
    life: str = NEW
    epoch: int = 0
    newest: int = 0  # epoch of the newest fence that was asked for
    content: int = GARBAGE
    cursor: int = 0
    imported: int = 0  # the boundary that a step was skipped to and that has not been made yet
    restored: bool = False
    lost: bool = False  # it never had the session's memory
    finish: Finish | None = None
    joined: tuple[int, int] = (0, 0)  # of this epoch: the minibatches of its first and its newest collective
    out: tuple[int, ...] = ()  # results on their way to the program
    severed: bool = False  # a collective of this epoch has failed: the nodes were cut off from each other


class Rank(NamedTuple):
    """What outlives a worker: journal, board, and the program."""

    worker: Worker | None
    workers: int = 1  # how many the session has had
    received: int = 0
    results: int = 0  # in the journal
    kept: tuple[tuple[int, str], ...] = ()  # boundaries, and what there is of their copies
    step: int = 0  # the step of which there are pre-step copies
    whole: bool = True  # the journal begins with the session
    committed: int = 0
    prepared: int = 0
    reached: int = 0
    begun: int = 0
    got: int = 0  # results that the program has
    stream: int = 0  # number of the worker that its stream is to; 0: none
    shown: int = 0  # epoch of its newest Resume, which its slot on the board has
    counted: bool = True  # whether who looks at it counts it; nodes/network.py

    def last_kept(self) -> int:
        return self.kept[-1][0] if self.kept else 0


class World(NamedTuple):
    ranks: tuple[Rank, ...]
    service: int  # its node; service.py
    calls: tuple[Call, ...] = ()  # on their way to workers
    replies: tuple[tuple[Call, tuple[object, ...]], ...] = ()  # and back
    notices: tuple[tuple[int, int], ...] = ()  # deaths that the service has not heard of: rank, worker
    faults: int = 0  # deaths that may still happen
    damages: int = 0  # of copies
    restarts: int = 0  # of the service
    gone: bool = False  # faults have destroyed every copy of the job's state
    resumed: tuple[int, int] = (0, 0)  # newest epoch that a rank was resumed in, and after how many collectives
    cluster: Cluster | None = None  # of a job over nodes


class Violation(Exception):
    """The protocol has done what it must never do."""


class Shape(NamedTuple):
    """What is explored."""

    ranks: int = 2
    boundaries: int = 2
    faults: int = 1
    peer_mode: bool = False
    restarts: int = 0
    damages: int = 0
    steady: bool = False  # it begins at a boundary that is kept, not at the start of the sessions
    prompt: bool = False  # programs and replies never lag: fewer orders, so that more faults can be explored

    extra: int = 0  # boundaries that rank 0 makes in each minibatch beyond the one that all ranks make
    nodes: int = 1
    troubles: Troubles = Troubles()  # of nodes, their links and their store

    def home(self, rank: int) -> int:
        """The node of a rank."""
        return rank % self.nodes

    def ops(self, rank: int) -> int:
        """Of a minibatch."""
        return (3 if self.peer_mode else 2) + self._more(rank)

    def _more(self, rank: int) -> int:
        return 0 if rank else self.extra

    def last(self, rank: int) -> int:
        return self.boundaries * self.ops(rank)

    def minibatch(self, op: int, rank: int) -> int:
        return (op - 1) // self.ops(rank) + 1

    def part(self, op: int, rank: int) -> str:
        at = (op - 1) % self.ops(rank)
        return "collective" if at == 0 else "boundary" if at >= self.ops(rank) - 1 - self._more(rank) else "step"

    def boundary(self, op: int, rank: int) -> int:
        """The number that the rank gives to the boundary that this op makes."""
        behind = self.minibatch(op, rank) * self.ops(rank) - op  # more of them in this minibatch
        return self.minibatch(op, rank) * (1 + self._more(rank)) - behind

    def at(self, boundary: int, rank: int) -> int:
        """The newest op of a boundary."""
        minibatch = self.collectives(boundary, rank)
        return minibatch * self.ops(rank) - (minibatch * (1 + self._more(rank)) - boundary)

    def collectives(self, boundary: int, rank: int) -> int:
        """That came before the boundary: by these it belongs with boundaries of other ranks."""
        return -(-boundary // (1 + self._more(rank)))

    def needed(self, op: int, rank: int) -> int:
        """Results that the program has read before it sends this op."""
        return self.minibatch(op, rank) - (self.part(op, rank) == "collective")

    def holds(self, content: int, boundary: int, rank: int) -> bool:
        """Whether what ranks share is still as at the boundary: until a step changes it."""
        return content in (self.at(boundary, rank), self.at(boundary, rank) + 1)
