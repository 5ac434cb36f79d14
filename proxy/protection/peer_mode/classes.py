"""Classes of live blocks, found by comparing measured tables of all ranks at two consecutive boundaries.

Called by: the policies. Pure. *Stable*: unchanged from a boundary until the next optimizer step starts; otherwise
*mutable* between steps. *Replicated*: another rank holds the same bytes at the same ordinal; otherwise *rank-local*.
Nothing is assumed: a block that was not measured counts as mutable and changed. Small blocks are counters, flags and
scales: whether they change in a minibatch, and whether they are equal on all ranks, varies from boundary to boundary.
So they are always mutable and never rank-local, and workers treat them as if they were both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Workers copy blocks up to this size at each boundary and before each step (executor/boundary/policy.h).
SMALL = 1024


@dataclass(frozen=True)
class Row:
    """A live block: its hash at the boundary, and at the start of the optimizer step before it."""

    ordinal: int
    size: int
    hash: bytes
    before: bytes
    address: int = 0

    def changed_in_step(self) -> bool:
        return not self.before or self.hash != self.before


@dataclass(frozen=True)
class Table:
    """The live blocks of one rank at one boundary."""

    rows: tuple[Row, ...]
    waits: bool = False  # the step waits for results
    collectives: bool = False
    variables: bool = False  # a device variable changes: after a step no peer could give its value
    label: str = "a rank"  # for people
    measured: bool = True  # else what it was before the step is not known


@dataclass(frozen=True)
class Classes:
    """The classes of one rank's blocks, by ordinal. Both are copied at each boundary; rank-local ones also before a
    step."""

    mutable: frozenset[int]
    rank_local: frozenset[int]
    #: Blocks that have a class, because they outlive a minibatch. Others come and go.
    classified: frozenset[int] = field(default=frozenset(), compare=False)


@dataclass(frozen=True)
class Finding:
    """The classes of each rank; obstacle: why peers cannot supply the state ("" if they can)."""

    classes: Mapping[int, Classes] = field(default_factory=dict)
    obstacle: str = ""


def classify(earlier: Mapping[int, Table], later: Mapping[int, Table]) -> Finding:
    """Derives classes from the tables of boundaries n and n + 1 of all ranks of a group."""
    replicated = replicas(later)
    classes: dict[int, Classes] = {}
    for rank, table in later.items():
        own = {row.ordinal for row in table.rows} - replicated[rank]
        # Blocks that come and go (a prefetched batch) are left unclassified: workers copy unclassified blocks.
        classified = frozenset({row.ordinal for row in table.rows} & {row.ordinal for row in earlier[rank].rows})
        small = frozenset(row.ordinal for row in table.rows if row.size <= SMALL) & classified
        rank_local = (classified & own) - small
        classes[rank] = Classes(_mutable(earlier[rank], table) | rank_local | small, rank_local, classified)
        changed = [row for row in table.rows if row.ordinal in own and row.changed_in_step()]
        if changed:
            size = sum(row.size for row in changed)
            return Finding(obstacle=f"{table.label} has {size} bytes of its own that its optimizer step changes")
        passing = {row.ordinal for row in table.rows} - {row.ordinal for row in earlier[rank].rows}
        if any(row.ordinal in passing and row.changed_in_step() for row in table.rows):
            return Finding(obstacle=f"the optimizer step of {table.label} changes blocks that are new in each step")
        if table.waits or table.collectives:
            what = "waits for results" if table.waits else "runs collectives"
            return Finding(obstacle=f"the optimizer step of {table.label} {what}")
        if table.variables:
            return Finding(obstacle=f"device variables of {table.label} change")
    return Finding(classes)


def replicas(tables: Mapping[int, Table]) -> dict[int, set[int]]:
    """Returns, per rank, the ordinals of blocks that some other rank has too, with the same size and content.

    Equal bytes elsewhere, such as zeroed buffers, do not count: a restore may know only ordinal and size
    (block_match.py).
    """
    holders: dict[tuple[int, int, bytes], list[int]] = {}
    for rank, table in tables.items():
        for row in table.rows:
            if row.hash:
                holders.setdefault((row.ordinal, row.size, row.hash), []).append(rank)
    found: dict[int, set[int]] = {rank: set() for rank in tables}
    for (ordinal, _, _), ranks in holders.items():
        for rank in ranks if len(ranks) > 1 else ():
            found[rank].add(ordinal)
    return found


def _mutable(earlier: Table, later: Table) -> frozenset[int]:
    begun = {row.ordinal: row for row in later.rows}
    return frozenset(
        row.ordinal
        for row in earlier.rows
        if row.ordinal in begun
        and (not row.hash or begun[row.ordinal].size != row.size or begun[row.ordinal].before != row.hash)
    )
