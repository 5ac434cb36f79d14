"""The usual time for which the ranks of a job stall, and the limit.

Called by: the hang watch, for one job each. Promises: before a few steps have been seen, nothing counts as a hang
before the longest time (--hang-seconds) is over; a limit is never below LEAST_SECONDS nor above that; a false verdict
is learned, so that it is not repeated. Pure.
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
    """The gaps of one kind."""

    def __init__(self, most: float) -> None:
        self._most, self._floor = most, min(LEAST_SECONDS, most)
        self._longest = 0.0  # in this step
        self._steps: deque[float] = deque(maxlen=WINDOW)
        self._count = 0

    def stood(self, seconds: float) -> None:
        """Records a rank that stalled for this time while others waited for it, and continues."""
        self._longest = max(self._longest, seconds)

    def step(self, steps: int) -> None:
        """Records the number of steps that the job has made since the last call."""
        self._steps.append(self._longest)
        self._longest = 0.0
        self._count += steps

    def limit(self) -> float:
        if self._count < ENOUGH:
            return self._most
        return min(self._most, max(self._floor, TIMES * median(self._steps)))

    def learn(self, seconds: float) -> None:
        """Learns that an op that counted as hung lasted this long again, and ended: the verdict was false."""
        self._floor = min(self._most, max(self._floor, TIMES * seconds))

    def double(self) -> None:
        """Doubles the limit after a verdict that cannot be verified."""
        self._floor = min(self._most, 2 * self._floor)

    def relax(self) -> None:
        """Relaxes the limit after a long time without such a verdict."""
        self._floor = max(min(LEAST_SECONDS, self._most), self._floor / 2)


class History:
    """The gaps of all kinds, of one job."""

    def __init__(self, most: float) -> None:
        self.most = most
        self._kinds = {kind: Gaps(most) for kind in KINDS}
        self._boundary = 0
        self._calm = 0  # steps since a worker was taken for hung

    def stood(self, kind: str, seconds: float) -> None:
        self._kinds[kind].stood(seconds)

    def at(self, boundary: int) -> None:
        """Records the newest boundary of the job's ranks."""
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
        """Records a verdict. A process that was silent for lack of CPU time may be silent for it again."""
        if kind == SILENCE:
            self._calm = 0
            self._kinds[kind].double()

    def wrong(self, kind: str, seconds: float) -> None:
        self._kinds[kind].learn(seconds)
