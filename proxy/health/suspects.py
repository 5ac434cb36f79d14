"""Finds the rank of a job that hangs, from each rank's current op and its duration.

Called by: the hang watch, at each sample. Promises: a rank that makes progress, or whose program submits no work, is
never suspected, however long others wait for it (a slow data loader, an evaluation, a checkpoint); a rank that has
submitted its part of a collective is not blamed for one that has not; if a rank will continue by itself, a collective
that all ranks are in is no hang yet. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from ..ranks.causes import HUNG_COLLECTIVE, HUNG_KERNEL, HUNG_WORKER
from .gaps import COLLECTIVE, OP, SILENCE


class State(Enum):
    SILENT = "its worker does not answer"
    IDLE = "its program gives it nothing to do"
    COMPUTES = "it is at op"
    LATE = "it has not given its part of a collective"
    WAITS = "it waits in a collective"
    QUEUES = "it waits for its turn at the GPU"


#: States in which a rank can be what others wait for, and the kind of gap that this is.
KINDS = {State.SILENT: SILENCE, State.COMPUTES: OP, State.LATE: COLLECTIVE, State.WAITS: COLLECTIVE}
CAUSES = {State.SILENT: HUNG_WORKER, State.COMPUTES: HUNG_KERNEL, State.LATE: HUNG_COLLECTIVE}


@dataclass(frozen=True)
class Standing:
    """The state of a rank in a sample."""

    session: int
    state: State
    still: float = 0.0  # seconds since it got on
    sequence: int = 0  # of the op that it is at
    gpu: tuple[str, int] = ("", 0)  # that serves it, with its node
    will_go_on: bool = False  # it waits for others before a boundary, and soon goes on without it


@dataclass(frozen=True)
class Suspect:
    """A suspected rank. culprit: false if all ranks are in the collective, and none is known to be late."""

    standing: Standing
    cause: str
    kind: str
    seconds: float
    waiting: tuple[int, ...]
    culprit: bool = True


Limit = Callable[[Standing, str], float]


def waits_for(ranks: Sequence[Standing], peers: Mapping[int, frozenset[int]], one: Standing) -> list[Standing]:
    """Returns, of the ranks that share a communicator with it, those that wait in a collective, and those that wait for
    the GPU whose turn it has."""

    def waits(other: Standing) -> bool:
        return other.state is State.WAITS or (other.state is State.QUEUES and other.gpu == one.gpu)

    return [other for other in ranks if other.session in peers[one.session] and waits(other)]


def suspects(ranks: Sequence[Standing], peers: Mapping[int, frozenset[int]], limit: Limit) -> list[Suspect]:
    """Returns the ranks that hang. peers: those that share a communicator with a rank, by session."""
    found = []
    for one in ranks:
        if one.state not in CAUSES:
            continue
        waiting = waits_for(ranks, peers, one)
        seconds = min(one.still, max((other.still for other in waiting), default=0.0))
        kind = KINDS[one.state]
        if waiting and seconds >= limit(one, kind):
            found.append(Suspect(one, CAUSES[one.state], kind, seconds, tuple(other.session for other in waiting)))
    return found or _all_in_it(ranks, peers, limit)


def _all_in_it(ranks: Sequence[Standing], peers: Mapping[int, frozenset[int]], limit: Limit) -> list[Suspect]:
    """Returns whether all ranks have submitted their part and none makes progress: the collective itself hangs."""
    for one in ranks:
        group = [other for other in ranks if other is one or other.session in peers[one.session]]
        complete = len(group) == len(peers[one.session]) + 1 > 1
        if not complete or any(other.state is not State.WAITS or other.will_go_on for other in group):
            continue
        seconds = min(other.still for other in group)
        if seconds >= limit(one, COLLECTIVE):
            waiting = tuple(other.session for other in group)
            return [Suspect(one, CAUSES[State.LATE], COLLECTIVE, seconds, waiting, culprit=False)]
    return []
