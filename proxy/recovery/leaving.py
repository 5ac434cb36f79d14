"""Ranks that another service recovers from now on, and ranks that another one has recovered until now.

Called by: the coordinator, in its thread. Promises: whoever waits for ranks to be let go is told once their recoveries
have ended, and not before; ranks of such a recovery that are led here still are not forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ranks.events import RanksLeft
from ..ranks.rank import Rank, Ranks
from .job import Job


class Leaving:
    """The ranks that were left."""

    def __init__(self) -> None:
        self._left: list[RanksLeft] = []

    def begin(self, left: RanksLeft, jobs: Iterable[Job]) -> None:
        """Ends the recoveries of these ranks; let_go says when that is over."""
        for job in jobs:
            if job.touches(left.ranks):
                job.leave()
        self._left.append(left)

    def let_go(self, jobs: Iterable[Job]) -> None:
        """Tells of ranks that none of these recoveries touches. jobs: all that have not ended."""
        ending = [job for job in jobs if job.left]
        done = [one for one in self._left if not any(job.touches(one.ranks) for job in ending)]
        self._left = [one for one in self._left if one not in done]
        for one in done:
            one.done()

    def staying(self, job: Job, ranks: Ranks) -> list[Rank]:
        """Returns the ranks of a recovery that was left for the sake of others, as when those have ended while it
        waited for them."""
        if job.refused:
            return []
        leaving = {one.number for left in self._left for one in left.ranks}
        with ranks.changed:
            led = ranks.sessions
        return [one for one in job.recovery.involved() if led.get(one.number) is one and one.number not in leaving]


def end_half_restored(ranks: Iterable[Rank]) -> None:
    """Ends the workers of ranks that another service was restoring: they may have half of their state."""
    for session in ranks:
        if session.without_worker() and session.worker is not None and session.worker.works():
            session.worker.replace()
