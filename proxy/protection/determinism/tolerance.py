"""The bound on differences between a replay's numbers and those that a program has read (`--replay-mismatch`).

Many programs on a GPU compute other last digits each time: atomics, split-K, attention's backward. The replay of such a
program need not be bit-identical: numbers that differ within a bound are counted, and training continues. A difference
that steers the program is never tolerated (executor/comparison/tolerance.h). The bound follows from the differences
that the job showed when one of its minibatches was run twice (validation.py).

Called by: recoveries (the bound, the report), validations (their findings), in the coordinator's thread and in jobs'.
Promise: `auto` tolerates nothing on a deterministic device, nor in a job that a validation found identical.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

from jitc.ops.options.table import AUTO, STRICT

from ...backends import KINDS
from ...common.config import Config
from ...ranks.rank import Rank
from ...ranks.stats import stats_of
from .differences import together

#: Relative differences: for a job without a validation; else so many times what a validation showed, within limits.
UNKNOWN, TIMES, LEAST, MOST = 1e-2, 16.0, 1e-4, 1e-1
#: In a validation every finite difference is tolerated: it is what is measured.
MEASURING = 1e300


class Tolerances:
    """The tolerances of all jobs."""

    def __init__(self, config: Config) -> None:
        self._mode = config.replay_mismatch
        self._deterministic = KINDS[config.device].deterministic and not config.noise
        self._shown: dict[int, float | None] = {}  # session -> largest difference; 0: identical, None: not of results
        self._lock = threading.Lock()

    @property
    def careful(self) -> bool:
        """Returns whether a validation could end a job that would otherwise continue, if values that steer it
        differ."""
        return not self._deterministic

    def bound(self, group: Sequence[Rank]) -> float:
        """Returns the bound for the replay of these sessions; 0: bit by bit."""
        if self._mode == STRICT or (self._mode == AUTO and self._deterministic):
            return 0.0
        with self._lock:
            shown = [self._shown[one.number] for one in group if one.number in self._shown]
        if not shown or None in shown:
            return UNKNOWN
        largest = max(one for one in shown if one is not None)
        if largest == 0 and self._mode == AUTO:
            return 0.0
        return min(MOST, max(LEAST, TIMES * largest))

    def learn(self, group: Iterable[Rank], document: dict[str, Any]) -> None:
        """Records the result of a validation."""
        if document["outcome"] not in ("identical", "different"):
            return
        results = document["differences"]
        largest = results["largest"] if results["results"] else 0.0 if document["outcome"] == "identical" else None
        with self._lock:
            self._shown |= dict.fromkeys((one.number for one in group), largest)

    def forget(self, session: Rank) -> None:
        with self._lock:
            self._shown.pop(session.number, None)


def differences(group: Iterable[Rank]) -> dict[str, Any]:
    """Returns how many results differed in the replay that has just ended, and by how much."""
    return together(one["differences"] for one in stats_of(group).values() if "differences" in one)
