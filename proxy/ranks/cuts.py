"""Consistent cuts: which boundaries of several ranks belong together.

Two ranks can roll back to boundaries together only when, for each communicator that both belong to, both have made the
same collectives before them, and each has received what the other had sent. How many steps a rank has made does not
matter. Workers commit boundaries by the same rule (proxy/native/base/tally.cpp, where the words are explained; tests
compare the two).

Called by: recoveries (decisions, restores), and the policies before they compare ranks. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

#: A boundary of each rank, by session.
Boundaries = Mapping[int, int]


@dataclass(frozen=True)
class Membership:
    """A rank's part in a communicator; the join is its first collective."""

    communicator: int
    collectives: int
    rank: int = -1  # in the communicator; -1: not known
    left: bool = False  # destroyed or aborted


@dataclass(frozen=True)
class Exchange:
    """The traffic that the rank has sent to a peer of a communicator, or received from it."""

    communicator: int
    peer: int
    received: bool
    count: int


@dataclass(frozen=True)
class Tally:
    """The work of a rank's communicators before a place in its ops."""

    memberships: tuple[Membership, ...] = ()
    exchanges: tuple[Exchange, ...] = ()

    @staticmethod
    def told(message: Any) -> Tally:
        """Makes it from worker.proto's message of that name."""
        memberships = (Membership(one.communicator, one.collectives, one.rank, one.left) for one in message.memberships)
        exchanges = (Exchange(one.communicator, one.peer, one.received, one.count) for one in message.exchanges)
        return Tally(tuple(memberships), tuple(exchanges))

    @cached_property
    def by_communicator(self) -> dict[int, Membership]:
        return {one.communicator: one for one in self.memberships}

    @cached_property
    def exchanged(self) -> dict[tuple[int, int, bool], int]:
        """Returns counts by communicator, peer, and whether it was received."""
        return {(one.communicator, one.peer, one.received): one.count for one in self.exchanges}

    def counts(self) -> tuple[dict[int, int], dict[tuple[int, int, bool], int]]:
        """Returns the counts that must agree: of collectives, by communicator, and of what was exchanged."""
        return {one.communicator: one.collectives for one in self.memberships}, self.exchanged


@dataclass(frozen=True)
class RankHistory:
    """The boundaries to which a rank can roll back, oldest first; 0 is the start of the session."""

    kept: tuple[tuple[int, Tally], ...] = ()
    now: Tally = Tally()
    uneven: bool = False  # its worker has found that its steps do not correspond to those of its peers

    @staticmethod
    def told(message: Any) -> RankHistory:
        kept = tuple((one.number, Tally.told(one.tally)) for one in message.kept)
        return RankHistory(kept, Tally.told(message.now), message.uneven)

    def tally(self, boundary: int) -> Tally | None:
        """Returns the tally at the boundary; None: it is not kept."""
        return next((tally for number, tally in self.kept if number == boundary), None)

    def only(self, numbers: Any) -> RankHistory:
        """Returns the history with the boundaries of these numbers alone; what it may join later stays known."""
        return replace(self, kept=tuple(one for one in self.kept if one[0] in numbers))


class _Search:
    """A search in which each rank that is ahead of another goes back by one boundary, until no rank is."""

    def __init__(self, ranks: Mapping[int, RankHistory]) -> None:
        self.ranks = ranks
        self.at = {number: len(history.kept) - 1 for number, history in ranks.items()}
        #: Members by communicator: the rank in it -> its number here.
        self.members: dict[int, dict[int, int]] = {}
        for number, history in ranks.items():
            for tally in (*(tally for _, tally in history.kept), history.now):
                for one in tally.memberships:
                    members = self.members.setdefault(one.communicator, {})
                    if one.rank >= 0:
                        members[one.rank] = number

    def run(self) -> dict[int, int] | None:
        while all(at >= 0 for at in self.at.values()):
            ahead = next(self._ahead(), None)
            if ahead is None:
                return {number: history.kept[self.at[number]][0] for number, history in self.ranks.items()}
            self.at[ahead] -= 1
        return None

    def _tally(self, number: int) -> Tally:
        return self.ranks[number].kept[self.at[number]][1]

    def _standing(self, number: int, communicator: int) -> tuple[int, bool] | None:
        """Returns its collectives, and whether the rank has left it; None: no part in it, or left long before."""
        if one := self._tally(number).by_communicator.get(communicator):
            return one.collectives, one.left
        history, at = self.ranks[number], self.at[number]
        has = [communicator in tally.by_communicator for _, tally in history.kept]
        later = any(has[at + 1 :]) or communicator in history.now.by_communicator
        return (0, False) if later and not any(has[:at]) else None

    def _ahead(self) -> Iterator[int]:
        for communicator, members in self.members.items():
            yield from self._ahead_in_collectives(communicator)
            yield from self._ahead_in_exchanges(communicator, members)

    def _ahead_in_collectives(self, communicator: int) -> Iterator[int]:
        standings = {n: one for n in self.ranks if (one := self._standing(n, communicator)) is not None}
        counts = {number: collectives for number, (collectives, _) in standings.items()}
        if counts and not all(left for _, left in standings.values()) and min(counts.values()) != max(counts.values()):
            yield max(counts, key=lambda number: counts[number])

    def _ahead_in_exchanges(self, communicator: int, members: Mapping[int, int]) -> Iterator[int]:
        for rank, number in members.items():
            standing = self._standing(number, communicator)
            for one in self._tally(number).exchanges if standing else ():
                other = members.get(one.peer)
                if one.communicator != communicator or one.peer == rank or other is None:
                    continue
                theirs = self._standing(other, communicator)
                if theirs is None or (theirs[1] and standing and standing[1]):
                    continue
                count = self._tally(other).exchanged.get((communicator, rank, not one.received), 0)
                if count != one.count:
                    yield number if one.count > count else other


def newest_cut(ranks: Mapping[int, RankHistory]) -> dict[int, int] | None:
    """Returns the newest boundary of each rank such that all of them belong together; None: there are none."""
    return _Search(ranks).run()


def belong_together(places: Mapping[int, Tally]) -> bool:
    """Returns whether ranks can be at these places together, as far as the places say by themselves."""
    return newest_cut({number: RankHistory(((0, tally),), tally) for number, tally in places.items()}) is not None


def named(boundaries: Boundaries) -> str:
    """Returns the boundaries as a text: one number if all ranks have the same."""
    numbers = sorted(set(boundaries.values()))
    if len(numbers) == 1:
        return f"boundary {numbers[0]}"
    return "boundaries " + ", ".join(str(number) for _, number in sorted(boundaries.items())) + " of the ranks"
