"""The world of the model: what each rank's program, worker, journal and board hold, and what is on its way.

Called by: all modules beside. Promises: values only, so that equal worlds are one; what is gone with a worker is reset,
so that nothing of it makes a difference later.

Numbers: in each minibatch k from 1 on a program does a collective whose result it reads, in peer mode begins its
optimizer step, and ends with boundary k. Ops are numbered from 1. The content of a device is the number of ops that
have made it: content n is right before op n + 1 and before no other.
"""

from __future__ import annotations

from typing import NamedTuple

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
    resumed: tuple[int, int] = (0, 0)  # newest epoch that a rank was resumed in, and at which boundary


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

    @property
    def ops(self) -> int:
        """Of a minibatch."""
        return 3 if self.peer_mode else 2

    @property
    def last(self) -> int:
        return self.boundaries * self.ops

    def minibatch(self, op: int) -> int:
        return (op - 1) // self.ops + 1

    def part(self, op: int) -> str:
        at = (op - 1) % self.ops
        return "collective" if at == 0 else "boundary" if at == self.ops - 1 else "step"

    def at(self, boundary: int) -> int:
        """The newest op of a boundary."""
        return boundary * self.ops

    def needed(self, op: int) -> int:
        """Results that the program has read before it sends this op."""
        return self.minibatch(op) - (self.part(op) == "collective")

    def holds(self, content: int, boundary: int) -> bool:
        """Whether what ranks share is still as at the boundary: until a step changes it."""
        return content in (self.at(boundary), self.at(boundary) + 1)
