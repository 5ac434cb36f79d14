"""Where workers are killed: at counts of ops, so that each GPU's is hit, at the same places in each run.

Called by: execution.py. Promises: kills are spread evenly over the steps of the run that was counted, in turn over the
GPUs; each start of the ranks (a launcher may start them again) has its own kills. Pure, but for what it is given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: The steps of a start that are left alone: what comes before the second one is preparation.
FIRST = 1


@dataclass(frozen=True)
class Strike:
    """A worker is to be killed at this op of the session of this GPU."""

    gpu: int
    sequence: int


@dataclass
class Counts:
    """Ops that each GPU had been given whenever rank 0 told of a step; a list for each start of the ranks."""

    starts: list[list[tuple[int, ...]]] = field(default_factory=list)
    _pids: frozenset[int] = frozenset()

    def take(self, status: dict[str, Any]) -> bool:
        """Notes what `jitc status --json` says. True when it is of processes that were not there before."""
        sessions = [gpu["sessions"][0] for gpu in status["gpus"] if gpu["sessions"]]
        if len(sessions) < len(status["gpus"]):  # some rank has ended already
            return False
        pids = frozenset(one["pid"] for one in sessions)
        began = pids.isdisjoint(self._pids)
        if began:
            self.starts.append([])
        self._pids = pids
        self.starts[-1].append(tuple(one["ops_executed"] for one in sessions))
        return began

    def strikes(self, kills: int) -> list[list[Strike]]:
        """For each start of the ranks where the worker of each GPU is killed, so often."""
        return [self._spread(steps, kills) for steps in self.starts]

    @staticmethod
    def _spread(steps: list[tuple[int, ...]], kills: int) -> list[Strike]:
        if len(steps) <= FIRST + 1:
            return []
        first, last = steps[FIRST], steps[-1]
        count = kills * len(first)
        found = []
        for number in range(count):
            gpu = number % len(first)
            part = (last[gpu] - first[gpu]) * (2 * number + 1) // (2 * count)
            found.append(Strike(gpu, first[gpu] + part))
        return found
