"""Ranks whose boundaries find none of other ranks that belong with them, and what that costs.

A rank that makes no optimizer steps (an evaluation, an actor, a parameter server) has no boundaries. Its peers keep
all of theirs then, and a fault takes the job back to the newest ones that belong together, however long ago they were
made. Called by: the policies. Promise: a job is told once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...node.session import Session

#: Boundaries of a rank that find no others; in jobs whose ranks make the same steps there are one or two.
MANY = 8


@dataclass(eq=False)
class Lonely:
    """Of one job."""

    told: bool = False

    def look(self, group: Sequence[Session], stats: Mapping[int, Mapping[str, Any]]) -> str:
        """What the programs are to be told; empty: nothing, or they have been told."""
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
