"""Monitors blocks that are equal on several ranks, and finds those that no longer are.

Called by: the policies, with tables of all ranks at one boundary. Pure. A block is monitored once it has been equal on
the same ranks at several successive comparisons; if their bytes then differ, that is reported once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .classes import Row, Table

#: Looks in a row at which ranks must have held the same bytes.
AGREEING = 3
#: Blocks up to this size that no optimizer step writes are not watched: a program's own counters and sums begin with
#: the same value on all ranks, and may differ at any time.
SMALL = 1024
#: In the ordinal of a whole allocation of which nobody says what is live (jitc_follow_memory): what lies in it beside
#: replicas, small tensors of a rank's own or what was freed, may differ at any time.
WHOLE = 1 << 61

#: Of sessions.
Numbers = frozenset[int]


@dataclass(frozen=True)
class Split:
    """A block that was equal on several ranks and no longer is."""

    ordinal: int
    size: int
    #: The ranks by what they hold now, most ranks first.
    parts: tuple[Numbers, ...]
    #: The optimizer step writes the block, and wrote the same bytes on all of these ranks.
    stepped: bool
    addresses: Mapping[int, int]

    @property
    def majority(self) -> Numbers:
        """Returns more than half of the ranks; empty if there is no such part."""
        ranks = sum(map(len, self.parts))
        return self.parts[0] if 2 * len(self.parts[0]) > ranks else frozenset()

    @property
    def odd(self) -> Numbers:
        """Returns the ranks that differ from the majority."""
        return frozenset().union(*self.parts[1:]) if self.majority else frozenset()

    @property
    def concerned(self) -> Numbers:
        """Returns the odd ranks; all ranks if no majority shows which are odd."""
        return self.odd or frozenset().union(*self.parts)


@dataclass
class _Kept:
    """Ranks on which a block is equal."""

    ranks: Numbers
    size: int
    hash: bytes
    looks: int
    stepped: bool
    changed: bool  # its content was another one at an earlier of these looks

    def watched(self) -> bool:
        return self.looks >= AGREEING and (self.stepped or self.size > SMALL)

    def is_filled(self, held: Mapping[int, Row]) -> bool:
        """Returns whether each rank has written its own content to a block that none had written before: a zeroed
        buffer is no replica. A bit that flips changes only one rank's. Blocks that an optimizer step has written, or
        may have, are excluded: weights may be trained only from some step on."""
        mine = [held[rank] for rank in self.ranks]
        return (
            not self.stepped
            and not self.changed
            and all(row.hash != self.hash and not row.changed_in_step() for row in mine)
        )


class Replicas:
    """The watched blocks of one group."""

    def __init__(self) -> None:
        self._kept: dict[int, list[_Kept]] = {}  # by ordinal
        self._splits: dict[int, Split] = {}  # reported, and not over

    def look(self, tables: Mapping[int, Table]) -> list[Split]:
        """Records the tables of a boundary. Returns the blocks that have split since the last comparison."""
        rows: dict[int, dict[int, Row]] = {}
        for rank, table in tables.items():
            for row in (one for one in table.rows if not one.ordinal & WHOLE):
                rows.setdefault(row.ordinal, {})[rank] = row
        found = [split for ordinal, held in rows.items() for split in self._apart(ordinal, held)]
        self._kept = {ordinal: self._together(ordinal, held) for ordinal, held in rows.items()}
        self._splits = {n: one for n, one in self._splits.items() if _still(one, rows.get(n, {}))}
        self._splits |= {one.ordinal: one for one in found}
        return found

    def splits(self) -> list[Split]:
        """Returns splits that were reported and still exist at the newest comparison."""
        return list(self._splits.values())

    def watched(self) -> int:
        """Returns the number of blocks that have been equal for long enough, up to the newest comparison."""
        return sum(any(one.watched() for one in kept) for kept in self._kept.values())

    def healed(self, ordinals: Iterable[int]) -> None:
        """Records that these blocks are equal again."""
        for ordinal in ordinals:
            self._splits.pop(ordinal, None)

    def count(self, rank: int) -> int:
        """Returns the number of blocks in which the rank differs from others."""
        return sum(rank in one.concerned for one in self._splits.values())

    def _apart(self, ordinal: int, held: Mapping[int, Row]) -> list[Split]:
        """Returns the splits among ranks on which the block was equal and that still have it."""
        found = []
        for one in self._kept.get(ordinal, []):
            parts = _parts(held, [rank for rank in one.ranks if rank in held and held[rank].size == one.size])
            if len(parts) > 1 and one.watched() and not (one.ranks <= held.keys() and one.is_filled(held)):
                addresses = {rank: held[rank].address for part in parts for rank in part}
                found.append(Split(ordinal, one.size, tuple(parts), one.stepped, addresses))
        return found

    def _together(self, ordinal: int, held: Mapping[int, Row]) -> list[_Kept]:
        """Returns the ranks on which the block is equal now, and for how many comparisons."""
        old = self._kept.get(ordinal, [])
        kept = []
        for part in _parts(held, held):
            if len(part) < 2:
                continue
            row, same = held[min(part)], next((one for one in old if one.ranks == part), None)
            stepped = _stepped(held, part) or any(one.stepped for one in old if part <= one.ranks)
            changed = same is not None and (same.changed or same.hash != row.hash)
            kept.append(_Kept(part, row.size, row.hash, (same.looks if same else 0) + 1, stepped, changed))
        return kept


def _parts(held: Mapping[int, Row], ranks: Iterable[int]) -> list[Numbers]:
    """Groups the ranks by size and content, most ranks first."""
    found: dict[tuple[int, bytes], set[int]] = {}
    for rank in ranks:
        found.setdefault((held[rank].size, held[rank].hash), set()).add(rank)
    return sorted(map(Numbers, found.values()), key=lambda part: (-len(part), min(part)))


def _stepped(held: Mapping[int, Row], ranks: Numbers) -> bool:
    """Returns whether the optimizer step of every rank changed the block; False if that was not measured."""
    return all(held[rank].before and held[rank].before != held[rank].hash for rank in ranks)


def _still(split: Split, held: Mapping[int, Row]) -> bool:
    ranks = Numbers().union(*split.parts)
    return ranks <= held.keys() and len(_parts(held, ranks)) > 1
