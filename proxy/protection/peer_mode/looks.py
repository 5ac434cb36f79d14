"""Compares the blocks of a group's ranks at one boundary, and follows blocks that were equal.

Called by: the policies, in the coordinator's thread, repeatedly and after each recovery. Promises: blocks that are no
longer equal are reported once, and passed to the healings; only boundaries that belong together are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...ranks.cuts import Boundaries
from ...ranks.rank import Rank, Ranks
from .classes import Table
from .divergence import Divergence, Divergences
from .group_policy import GroupPolicy
from .healing import Healings
from .tables import tables_of
from .unevenness import Stats


@dataclass(frozen=True)
class Comparison:
    """The result of the first comparison after a recovery."""

    boundary: int  # the newest that all ranks have; of ranks whose numbers differ the largest
    blocks: int = 0  # that ranks had held equal, and hold equal
    unlike: list[Divergence] = field(default_factory=list)
    without: str = ""  # why no blocks were compared


def newer(boundaries: Boundaries, stats: Stats, counter: str) -> dict[int, int] | None:
    """Returns the newest boundary of each session by this counter of its worker. None: not each has one after the
    given."""
    newest = {number: int(stats.get(number, {}).get(counter, 0)) for number in boundaries}
    return newest if all(newest[number] > boundary for number, boundary in boundaries.items()) else None


class Looks:
    """The comparisons of all groups."""

    def __init__(self, ranks: Ranks, divergences: Divergences, healings: Healings) -> None:
        self._ranks, self._divergences, self._healings = ranks, divergences, healings

    def look(self, group: Sequence[Rank], policy: GroupPolicy, boundary: int, tables: Mapping[int, Table]) -> None:
        policy.looked_at = boundary
        splits = policy.replicas.look(tables)
        if splits:
            sessions, job = {one.number: one for one in group}, self._ranks.job_of(group[0])
            found = Divergence(job, sessions, boundary, splits, self._healings.enabled)
            policy.divergences.append(found)
            self._divergences.add(found)
        self.note_splits(group, policy, boundary)
        for one in policy.divergences:
            self._healings.want(one)

    def note_splits(self, group: Sequence[Rank], policy: GroupPolicy, boundary: int) -> None:
        for session in group:
            session.diverged = policy.replicas.count(session.number)
            session.compared = boundary
        still_split = {split.ordinal for split in policy.replicas.splits()}
        policy.divergences = [one for one in policy.divergences if one.update(still_split, boundary)]

    def compare(
        self, group: Sequence[Rank], policy: GroupPolicy, boundaries: Boundaries, stats: Stats
    ) -> Comparison | None:
        """Compares the ranks at a boundary after the given ones. None: they have none so far."""
        uneven, after = policy.unevenness.found, max(boundaries.values())
        newest = newer(boundaries, stats, "committed" if uneven or policy.spaced else "boundary")
        if newest is None:
            return None
        if uneven:
            return Comparison(max(newest.values()), without="the ranks make different optimizer steps")
        if policy.looked_at <= after:
            tables = tables_of(group, min(newest.values()))
            if tables is None:
                return None
            policy.looking = False
            self.look(group, policy, min(newest.values()), tables)
        unlike = [one for one in policy.divergences if one.boundary > after]
        blocks = policy.replicas.watched()
        none = "" if blocks or unlike else "no block had been equal often enough before"
        return Comparison(policy.looked_at, blocks, unlike, none)
