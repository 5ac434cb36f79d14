"""Waits for a replay: until every rank has executed again what it had executed before the fault.

Called by: recoveries, once their sessions are resumed. Promises: only these sessions count; a program that does not
read its results ends the wait for its own session, since the program decides when the rest is executed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from ..ranks.rank import Rank
from .rank_times import RankTimes
from .worker_calls import WorkerCalls

#: Seconds between polls of the replay's progress, and the longest time without any.
POLL, SECONDS = 0.005, 600.0
_nothing = threading.Event()


class Stuck(Exception):
    """A replay makes no progress; the text names its ranks."""


class Replay:
    """The replay of one recovery, over all its attempts. progress: the newest op that a session has executed, and
    whether the ops after it wait for the program."""

    def __init__(
        self, calls: WorkerCalls, progress: Callable[[Rank], tuple[int, bool]], times: RankTimes | None = None
    ) -> None:
        self._calls, self._progress = calls, progress
        self._times = times or RankTimes()
        self.furthest = 0  # ops, of all sessions together

    def wait(self, group: Sequence[Rank], end: Callable[[Rank], int]) -> dict[int, int]:
        """Waits until each session has executed its last op. Returns their newest ops. Raises Stuck, Interrupted."""
        waiting, since = list(group), time.monotonic()
        self._times.replays([one.number for one in group])
        executed = dict.fromkeys((one.number for one in group), 0)
        while waiting:
            replayed = {one.number: self._progress(one) for one in waiting}
            executed |= {number: newest for number, (newest, _) in replayed.items()}
            over = [one for one in waiting if executed[one.number] >= end(one) or replayed[one.number][1]]
            waiting = [one for one in waiting if one not in over]
            self._times.replayed([one.number for one in over])
            for one in over:
                one.computes_since = time.monotonic()
            if sum(executed.values()) > self.furthest:
                self.furthest, since = sum(executed.values()), time.monotonic()
            if any(one.unreachable() for one in waiting):
                since = time.monotonic()
            if time.monotonic() - since > SECONDS:
                stuck = ", ".join(one.label() for one in waiting)
                raise Stuck(f"the replay of {stuck} made no progress for {SECONDS:.0f} s")
            if waiting:
                self._calls.sleep(_nothing.is_set, POLL)
        self._calls.check()
        return executed
