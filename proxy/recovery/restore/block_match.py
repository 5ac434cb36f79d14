"""Which block of a healthy rank holds the bytes that a lost rank is missing.

Called by: restores. Pure. Blocks are matched by content hash where it is known (the surest way), else by ordinal and
size; never by address.
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


@dataclass(frozen=True)
class Pair:
    """source on the peer, target on the lost rank, and the offset in the transfer memory."""

    source: Block
    target: Block
    offset: int


@dataclass(frozen=True)
class Plan:
    pairs: list[Pair]
    unserved: list[Block]
    total: int


ALIGNMENT = 4096


def plan(missing: Iterable[Block], peer: Iterable[Block], start: int = 0) -> Plan:
    """Serves each missing block from the peer, where the peer has it."""
    rows = list(peer)
    by_hash: dict[tuple[bytes, int], Block] = {}
    for row in reversed(rows):
        if row.hash:
            by_hash[row.hash, row.size] = row
    by_place = {(row.ordinal, row.size): row for row in rows}
    pairs: list[Pair] = []
    unserved: list[Block] = []
    offset = start
    for block in missing:
        source = by_hash.get((block.hash, block.size)) if block.hash else by_place.get((block.ordinal, block.size))
        if source is None:
            unserved.append(block)
            continue
        pairs.append(Pair(source, block, offset))
        offset += -(-block.size // ALIGNMENT) * ALIGNMENT
    return Plan(pairs, unserved, offset)
