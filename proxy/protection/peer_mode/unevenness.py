"""Jobs whose ranks make different optimizer steps, and ranks whose boundaries find none that belong with them.

A rank that makes no steps (an evaluation, an actor, a parameter server) has no boundaries. Its peers then keep all of
theirs, and a fault takes the job back to the newest ones that belong together, however old. Called by: the policies.
Promises: once found, a job stays uneven; ranks that are alone are reported to a job once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ranks.rank import Rank

#: Counters of workers, by session.
Stats = Mapping[int, Mapping[str, Any]]
#: Boundaries of a rank that find no others; in jobs whose ranks make the same steps there are one or two.
MANY = 8


@dataclass(eq=False)
class Unevenness:
    """The unevenness of one job."""

    found: bool = False
    told: bool = False

    def begins(self, group: Sequence[Rank], stats: Stats) -> bool:
        """Returns whether a worker has just found that the ranks make different steps."""
        before, self.found = self.found, self.found or any(one.get("uneven") for one in stats.values())
        for session in group:
            session.uneven = self.found
        return self.found and not before

    def alone(self, group: Sequence[Rank], stats: Stats) -> str:
        """Returns a message for the programs about ranks without boundaries; empty: none, or already reported."""
        waiting = {one.number: int(stats.get(one.number, {}).get("uncommitted", 0)) for one in group}
        if self.told or max(waiting.values(), default=0) < MANY:
            return ""
        self.told = True
        without = [one.label() for one in group if not waiting[one.number]] or ["none"]
        return (
            f"{max(waiting.values())} boundaries of a rank belong with none of the others' (ranks without newer ones: "
            f"{', '.join(without)}): a fault would run again all that came since. A rank that trains without an "
            "optimizer of torch.optim marks its steps with jitc_step_begin and jitc_step_end"
        )
