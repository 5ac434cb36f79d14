"""Matching of blocks: which block of a healthy rank holds the bytes that a lost rank is missing.

Called by: restores. Pure. Blocks are matched by content hash where it is known (the surest way). The blocks that a rank
is missing after an optimizer step that it has not run are known only as they were before the step; they are matched by
ordinal and size, with a rank that had the same before the step. Blocks are never matched by address.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """A live block (BlockRow of worker.proto)."""

    address: int
    size: int
    ordinal: int
    hash: bytes = b""
    before: bytes = b""  # its hash right before the step
    in_place: bool = False  # of a missing one: the content from before the step is there

    def unchanged(self) -> bool:
        """Returns whether the step of the rank that has the block left it alone."""
        return bool(self.before) and self.before == self.hash


@dataclass(frozen=True)
class Pair:
    """A block on the peer (source) and its target on the lost rank."""

    source: Block
    target: Block


@dataclass(frozen=True)
class Plan:
    pairs: list[Pair]
    unserved: list[Block]


def plan(missing: Iterable[Block], peer: Iterable[Block]) -> Plan:
    """Assigns each missing block one of the peer's, where the peer has it."""
    rows = list(peer)
    by_hash: dict[tuple[bytes, int], Block] = {}
    for row in reversed(rows):
        if row.hash:
            by_hash[row.hash, row.size] = row
    by_step = {(row.ordinal, row.size, row.before): row for row in rows if row.before}
    pairs: list[Pair] = []
    unserved: list[Block] = []
    for block in missing:
        by_place = by_step.get((block.ordinal, block.size, block.before))
        source = by_hash.get((block.hash, block.size)) if block.hash else by_place
        if source is None:
            unserved.append(block)
        elif not (block.in_place and source.unchanged()):
            pairs.append(Pair(source, block))
    return Plan(pairs, unserved)


def is_its_own(block: Block, peers: Iterable[Iterable[Block]]) -> bool:
    """Returns whether the rank already has what it is missing after the step: the content from before is in place, and
    each of the peers that has such a block, with a content of its own, has found that the step leaves it alone."""
    same = [row for rows in peers for row in rows if (row.ordinal, row.size) == (block.ordinal, block.size)]
    return block.in_place and bool(same) and all(row.unchanged() for row in same)
