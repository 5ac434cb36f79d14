"""Reserves: boundaries of which every rank of a job in peer mode keeps copies of everything, now and then.

In peer mode the newest boundary needs peers. If all ranks that hold some of it are lost at once, the job goes back to
its reserve and replays more than one minibatch. Called by: the policies, in the coordinator's thread; decide.py has the
recovery's part. Promises: the previous reserve is kept until all ranks have the next one whole; the distance follows
from the cost of one and from the share of the time that they may take. Pure except for its own state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Boundaries between two reserves: at least, and at most. A replay is as long as that.
LEAST_APART, MOST_APART = 20, 1000
#: Boundaries from the wish for one to it, at first; all ranks must hear of it in time.
AHEAD, MOST_AHEAD = 2, 256
#: So many may be missed before it is taken that there is no room for any.
PATIENCE = 6


@dataclass(frozen=True)
class Standing:
    """A rank's report about itself."""

    boundary: int
    reserves: frozenset[int]  # whole boundaries that it keeps as reserves
    seconds: float  # to make one, on the average; 0: it has made none

    @staticmethod
    def told(stats: Mapping[str, Any]) -> Standing:
        """Reads a worker's counters, which are empty if it does not answer."""
        reserves = frozenset(stats.get("reserves", ()))
        return Standing(int(stats.get("boundary", 0)), reserves, float(stats.get("reserve_seconds", 0.0)))


@dataclass(eq=False)
class Reserve:
    """The reserve of one group."""

    share: float  # of the job's time that copies for reserves may take; 0: there are none
    boundary: int = 0  # that every rank keeps whole; 0: none yet
    wanted: int = 0  # the next one, which is to be made; 0: none
    apart: int = LEAST_APART
    missed: int = 0  # in a row
    _since: tuple[int, float] | None = None  # a boundary, and when it was seen: how long steps take
    _seen: int = 0  # the newest boundary so far; a recovery may have gone back from there

    def advance(self, ranks: Sequence[Standing], now: float) -> bool:
        """Returns whether there is news to send to the ranks."""
        if not self.share:
            return False
        newest = max(one.boundary for one in ranks)
        self._measure(newest, max(one.seconds for one in ranks), now)
        if self.wanted:
            return self._made(ranks)
        if self.boundary and newest - self.boundary < self.apart:
            return False
        self.wanted = newest + AHEAD
        return True

    def ready(self) -> bool:
        """Returns whether the job can rely on peers: it has a reserve, or wants none, or has no room for one."""
        return not self.share or self.boundary > 0 or self.missed > PATIENCE

    def _made(self, ranks: Sequence[Standing]) -> bool:
        if all(self.wanted in one.reserves for one in ranks):
            self.boundary, self.wanted, self.missed = self.wanted, 0, 0
            return True
        if min(one.boundary for one in ranks) <= self.wanted:
            return False
        # A rank heard of it too late, or had no room for it.
        self.missed += 1
        self.wanted = max(one.boundary for one in ranks) + min(AHEAD << self.missed, MOST_AHEAD)
        return True

    def _measure(self, newest: int, cost: float, now: float) -> None:
        if self._since is None or newest < self._seen:
            self._since = newest, now
        self._seen = newest
        steps, seconds = newest - self._since[0], now - self._since[1]
        if steps >= LEAST_APART and seconds > 0:
            self.apart = min(max(math.ceil(cost / (self.share * seconds / steps)), LEAST_APART), MOST_APART)
            self._since = newest, now
