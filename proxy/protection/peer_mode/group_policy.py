"""The findings about one group, and whether they are enough to rely on peers.

Called by: the policies, in the coordinator's thread. Pure except for its own state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .classes import Classes, Finding, Table
from .divergence import Divergence
from .replicas import Replicas
from .reserves import Reserve
from .unevenness import Unevenness

#: Between looks at a group that is as it should be.
REST_SECONDS = 1.0
#: Findings in a row that must agree before peers are relied on.
AGREEING = 3
#: Findings with an obstacle after which the group is not measured any more (it costs time in each step).
OBSTACLES = 5
#: Findings without three that agree, after which that is so too.
UNDECIDED = 100


@dataclass(eq=False)
class GroupPolicy:
    """The findings about one group."""

    members: tuple[int, ...]
    #: Ranks wait for each other before a step, and copies are made then; on for all ranks before peers are relied on.
    barrier: bool = False
    barrier_since: int = 0  # every rank has it from the step after this boundary on
    peer: bool = False
    #: In peer mode: the newest boundary when measuring began again, or was last done.
    measuring: bool = True
    measured_at: int = 0
    #: Peer mode is ending: copies of all blocks are made from the boundary after this one on. Until every rank has
    #: such a boundary, recoveries must assume that only peers hold some blocks.
    leaving_at: int | None = None
    unevenness: Unevenness = field(default_factory=Unevenness)
    settled: bool = False  # no more measuring: copies of everything from now on
    spaced: bool = False  # that is so because they are seldom enough (spacing.py)
    classes: dict[int, Classes] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)  # the newest ones
    found: int = 0  # how many there were
    obstacles: int = 0  # of them, those that had one
    tables: dict[int, dict[int, Table]] = field(default_factory=dict)  # boundary -> session -> table
    replicas: Replicas = field(default_factory=Replicas)
    looked_at: int = 0  # the boundary of the newest look at them
    looking: bool = False  # the next one is due
    divergences: list[Divergence] = field(default_factory=list)  # reported, and not over
    reserve: Reserve = field(default_factory=lambda: Reserve(0.0))
    ticked: float = 0.0  # when it was last looked at

    def due(self, now: float) -> bool:
        """Returns whether to compare the group now: unless it is measured or waited for, each comparison costs a
        healthy job time."""
        waits = self.measuring or self.looking or self.leaving_at is not None or self.reserve.wanted
        if self.peer and not waits and now - self.ticked < REST_SECONDS:
            return False
        self.ticked = now
        return True

    def needs_peers(self) -> bool:
        """Returns whether the newest boundary may lack copies, so that only peers have some of its blocks."""
        return self.peer or self.leaving_at is not None

    def note(self, finding: Finding) -> None:
        self.findings = [*self.findings, finding][-AGREEING:]
        self.found += 1
        self.obstacles += bool(finding.obstacle)

    def agreed(self) -> dict[int, Classes] | None:
        """Returns the classes in which the newest findings agree; classified: the blocks that all of them have
        classified."""
        newest = self.findings[-1].classes
        if len(self.findings) < AGREEING or any(one.obstacle or one.classes != newest for one in self.findings):
            return None
        return {
            number: replace(
                classes,
                classified=frozenset.intersection(*(one.classes[number].classified for one in self.findings)),
            )
            for number, classes in newest.items()
        }

    def hopeless(self) -> str:
        """Returns why further measuring is of no use; empty if it may be."""
        if self.obstacles >= OBSTACLES:
            return next((one.obstacle for one in reversed(self.findings) if one.obstacle), "")
        return "blocks change their class again and again" if self.found >= UNDECIDED else ""

    def covers(self, found: Mapping[int, Classes]) -> bool:
        """Returns whether the blocks that are copied now still include all that must be."""
        relied_on = self.classes
        return all(
            number in relied_on
            and classes.mutable <= relied_on[number].mutable
            and classes.rank_local <= relied_on[number].rank_local
            for number, classes in found.items()
        )

    def forget(self) -> None:
        """Drops the findings so far."""
        self.findings.clear()
        self.tables.clear()
        self.found = self.obstacles = 0


def measured(*tables: dict[int, Table]) -> bool:
    return all(table.measured for one in tables for table in one.values())
