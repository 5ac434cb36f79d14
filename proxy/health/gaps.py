"""How long the ranks of a job usually stand still, and how long they may.

Called by: the hang watch, for one job each. Promises: before a few steps have been seen nothing is a hang sooner than
after the longest time (--hang-seconds); a limit is never below LEAST_SECONDS nor above that; what was taken for a hang
and was none is learned, so that the same is not taken for one again. Pure.
"""

from __future__ import annotations

from collections import deque
from statistics import median

#: The kinds of standing still: a worker that does not answer, an op that does not end, a collective that all ranks are
#: in.
SILENCE, OP, COLLECTIVE = KINDS = ("silence", "op", "collective")
LEAST_SECONDS = 5.0
#: A gap of so many times the usual one is a hang.
TIMES = 3.0
#: Steps that the usual is taken of, and that must have been seen.
WINDOW, ENOUGH = 64, 3


class Gaps:
    """One kind."""

    def __init__(self, most: float) -> None:
        self._most, self._floor = most, min(LEAST_SECONDS, most)
        self._longest = 0.0  # in this step
        self._steps: deque[float] = deque(maxlen=WINDOW)
        self._count = 0

    def stood(self, seconds: float) -> None:
        """A rank has stood still so long while others waited for it, and goes on."""
        self._longest = max(self._longest, seconds)

    def step(self, steps: int) -> None:
        """The job has made so many steps since the last call."""
        self._steps.append(self._longest)
        self._longest = 0.0
        self._count += steps

    def limit(self) -> float:
        if self._count < ENOUGH:
            return self._most
        return min(self._most, max(self._floor, TIMES * median(self._steps)))

    def learn(self, seconds: float) -> None:
        """What was taken for a hang has lasted so long once more, and has ended: it was none."""
        self._floor = min(self._most, max(self._floor, TIMES * seconds))

    def double(self) -> None:
        """A verdict of which nobody can say whether it was right."""
        self._floor = min(self._most, 2 * self._floor)

    def relax(self) -> None:
        """No such verdict for long."""
        self._floor = max(min(LEAST_SECONDS, self._most), self._floor / 2)


class History:
    """All kinds, of one job."""

    def __init__(self, most: float) -> None:
        self.most = most
        self._kinds = {kind: Gaps(most) for kind in KINDS}
        self._boundary = 0
        self._calm = 0  # steps since a worker was taken for hung

    def stood(self, kind: str, seconds: float) -> None:
        self._kinds[kind].stood(seconds)

    def at(self, boundary: int) -> None:
        """The newest boundary of the job's ranks."""
        steps = boundary - self._boundary
        if steps <= 0:
            return
        self._boundary = boundary
        for one in self._kinds.values():
            one.step(steps)
        self._calm += steps
        if self._calm >= WINDOW:
            self._calm = 0
            self._kinds[SILENCE].relax()

    def limit(self, kind: str) -> float:
        return self._kinds[kind].limit()

    def judged(self, kind: str) -> None:
        """A verdict was given. A process that was silent for want of a processor would be the next time as well."""
        if kind == SILENCE:
            self._calm = 0
            self._kinds[kind].double()

    def wrong(self, kind: str, seconds: float) -> None:
        self._kinds[kind].learn(seconds)
