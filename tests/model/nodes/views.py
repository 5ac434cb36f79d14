"""Views of three nodes: what a rank commits by histories that reach it late, each by a way of its own.

Ranks A, B and C are on a node each and run a short program: collectives of some of them, and boundaries. Each rank
sees the others' histories as they were at some time. The rule for pairs of boundaries is the product's (`newest_cut`);
versions, and views that are closed, are transcribed from proxy/native/base/shared/job_board.cpp and
proxy/native/executor/pairing/view.cpp.

Called by: test_model_views.py. Promises: every order of ops and updates is explored; a rank commits as soon as it can.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from jitc.proxy.ranks.cuts import Membership, RankHistory, Tally, newest_cut

RANKS = range(3)
#: In a rank's program, beside the members of a collective: it makes a boundary.
BOUNDARY: frozenset[int] = frozenset()
#: Ops of a rank.
Program = tuple[frozenset[int], ...]
#: A version that could not be read, as Version::kUnknown.
UNKNOWN = -1


class History(NamedTuple):
    """What a rank shows: where its kept boundaries are in its program, and how far it is."""

    version: int = 0
    seen: tuple[int | None, ...] = (None,) * 3  # versions of the ranks that communicators connect with it
    kept: tuple[int, ...] = (0,)
    at: int = 0
    joins: bool = False  # the communicator of its next op is shown: another rank may join it from now on


class World(NamedTuple):
    at: tuple[int, ...]  # ops that each rank has run
    shown: tuple[History, ...]
    views: tuple[tuple[History | None, ...], ...]  # by reader, of each rank


class Wrong(Exception):
    """A rank has committed what others do not have."""


class Views:
    """All worlds of three programs. late: ranks that see others late; the rest see all at once. closed: views that
    are not closed commit nothing. What a rank publishes for a collective reaches a node after its history."""

    def __init__(self, programs: Sequence[Program], late: Collection[int], closed: bool = True) -> None:
        self.programs, self._late, self._closed = tuple(programs), late, closed
        none: tuple[History | None, ...] = (None,) * 3
        self.first = self._all_show(World((0,) * 3, (History(),) * 3, (none,) * 3))

    def explore(self) -> tuple[int, int]:
        """Returns how many worlds there are, and the greatest number of boundaries that all ranks have committed.
        Raises Wrong with the way there."""
        came: dict[World, tuple[World | None, str]] = {self.first: (None, "")}
        queue, committed = deque([self.first]), 0
        while queue:
            world = queue.popleft()
            committed = max(committed, min(one.kept[0] for one in world.shown))
            try:
                self._check(world)
                following = list(self.next(world))
            except Wrong as wrong:
                raise Wrong("\n".join([str(wrong), *_way(came, world)])) from None
            for what, after in following:
                if after not in came:
                    came[after] = world, what
                    queue.append(after)
        return len(came), committed

    def next(self, world: World) -> Iterator[tuple[str, World]]:
        for rank in RANKS:
            if (ran := self._run(world, rank)) is not None:
                yield f"rank {'ABC'[rank]} runs op {world.at[rank] + 1}", self._at_once(ran)
            for other in RANKS if rank in self._late else ():
                if other != rank and world.views[rank][other] != world.shown[other]:
                    seen = self._update(world, rank, other)
                    yield (
                        f"rank {'ABC'[rank]}'s node is shown rank {'ABC'[other]}",
                        self._at_once(self._commit(seen, rank)),
                    )

    # -- parts --------------------------------------------------------------------------------------

    def _at_once(self, world: World) -> World:
        """All updates of those that see everything at once."""
        due = [(rank, other) for rank in RANKS if rank not in self._late for other in RANKS if rank != other]
        before = None
        while world != before:
            before = world
            for rank, other in due:
                if world.views[rank][other] != world.shown[other]:
                    world = self._commit(self._update(world, rank, other), rank)
        return world

    def _run(self, world: World, rank: int) -> World | None:
        at = world.at[rank]
        if at == len(self.programs[rank]):
            return None
        op = self.programs[rank][at]
        if op:
            done = self.programs[rank][:at].count(op)
            for other in op - {rank}:
                if not self._given(world, rank, other, op, done):
                    return None
        world = world._replace(at=_put(world.at, rank, at + 1))
        if not op:
            shown = world.shown[rank]
            world = self._show(world, rank, (*shown.kept, at + 1))
            return self._commit(world, rank)
        return self._show(world, rank, world.shown[rank].kept) if self._joins(rank, at + 1) else world

    def _given(self, world: World, rank: int, other: int, op: frozenset[int], done: int) -> bool:
        """Whether another rank's part of its collective number `done` has come: it has got there."""
        before = self.programs[other][: world.at[other]]
        upcoming = self.programs[other][world.at[other] : world.at[other] + 1]
        there = before.count(op) > done or (before.count(op) == done and upcoming == (op,))
        # What it had shown when it got there is here before its part.
        view = world.views[rank][other]
        places = [at for at, one in enumerate(self.programs[other]) if one == op]
        return there and view is not None and view.version >= self._version(other, places[done])

    def _show(self, world: World, rank: int, kept: tuple[int, ...]) -> World:
        """Shows the boundaries, and the next op's communicator before it is joined."""
        at = world.at[rank]
        shown = History(self._version(rank, at), (None,) * 3, kept, at, self._joins(rank, at))
        view = [shown if one == rank else seen for one, seen in enumerate(world.views[rank])]
        group = self._group(view, rank)
        versions = [UNKNOWN if one is None else one.version for one in view]
        seen = tuple(versions[one] if one in group and one != rank else None for one in RANKS)
        return world._replace(shown=_put(world.shown, rank, shown._replace(seen=seen)))

    def _version(self, rank: int, at: int) -> int:
        """What a rank shows there: another version for each boundary, and for each communicator that it is to join."""
        program = self.programs[rank]
        return program[:at].count(BOUNDARY) + sum(self._joins(rank, one) for one in range(at + 1))

    def _joins(self, rank: int, at: int) -> bool:
        program = self.programs[rank]
        return at < len(program) and bool(program[at]) and program[at] not in program[:at]

    def _all_show(self, world: World) -> World:
        for rank in RANKS:
            world = self._show(world, rank, (0,))
        return self._at_once(world)

    def _update(self, world: World, rank: int, other: int) -> World:
        view = _put(world.views[rank], other, world.shown[other])
        return world._replace(views=_put(world.views, rank, view))

    def _commit(self, world: World, rank: int) -> World:
        shown = world.shown[rank]
        seen = [shown if at == rank else one for at, one in enumerate(world.views[rank])]
        group = self._group(seen, rank)
        if self._closed and not _is_closed(seen, group, rank):
            return world
        if any(seen[at] is None for at in group):
            return world
        cut = self._cut(tuple((at, seen[at]) for at in group))  # type: ignore[misc]
        committed = dict(cut).get(rank, 0) if cut else 0
        kept = tuple(one for one in shown.kept if one >= committed)
        if kept == shown.kept:
            return world
        return world._replace(shown=_put(world.shown, rank, shown._replace(kept=kept)))

    def _group(self, seen: Sequence[History | None], rank: int) -> list[int]:
        """Those that communicators connect with it, by their names on its board; the service enters those that a rank
        shares with it."""
        found, rest = [rank], [at for at in RANKS if at != rank]
        for one in found:
            names = self._names(seen[one], one, rank)
            for other in [at for at in rest if names & self._names(seen[at], at, rank)]:
                found.append(other)
                rest.remove(other)
        return sorted(found)

    def _names(self, one: History | None, rank: int, reader: int) -> frozenset[frozenset[int]]:
        entered = frozenset(op for op in self.programs[reader] if op and rank in op)
        if one is None:
            return entered
        return entered | frozenset(op for op in self.programs[rank][: one.at + one.joins] if op)

    def _cut(self, seen: tuple[tuple[int, History], ...]) -> tuple[tuple[int, int], ...] | None:
        return _cut_of(self.programs, tuple((at, one.kept, one.at + one.joins) for at, one in seen))

    def _check(self, world: World) -> None:
        """There are boundaries that belong together, of all ranks, among those that they still have."""
        if self._cut(tuple(enumerate(world.shown))) is None:
            kept = ", ".join(f"{'ABC'[at]} has those after ops {one.kept}" for at, one in enumerate(world.shown))
            raise Wrong(f"no boundaries belong together: {kept}")


@functools.cache
def _cut_of(
    programs: tuple[Program, ...], seen: tuple[tuple[int, tuple[int, ...], int], ...]
) -> tuple[tuple[int, int], ...] | None:  # fmt: skip
    cut = newest_cut({at: _history(programs[at], at, kept, far) for at, kept, far in seen})
    return tuple(sorted(cut.items())) if cut else None


def _history(program: Program, rank: int, kept: tuple[int, ...], far: int) -> RankHistory:
    return RankHistory(tuple((at, _tally(program[:at], rank)) for at in kept), _tally(program[:far], rank))


def _tally(ops: Program, rank: int) -> Tally:
    names = sorted({op for op in ops if op}, key=sorted)
    return Tally(tuple(Membership(_number(op), ops.count(op), sorted(op).index(rank)) for op in names))


def _number(op: frozenset[int]) -> int:
    return sum(1 << rank for rank in op)


def _is_closed(seen: Sequence[History | None], group: Sequence[int], reader: int) -> bool:
    """Whether the view has at least what each rank of it had seen: View::is_closed, where what is not known counts."""
    for at in group:
        one = seen[at]
        if at == reader or one is None:
            continue
        for other, version in enumerate(one.seen):
            known = seen[other] if other in group else None
            if version is not None and other != reader and (known is None or known.version < version or version < 0):
                return False
    return True


def _put(values: tuple, at: int, value: object) -> tuple:  # type: ignore[type-arg]
    return (*values[:at], value, *values[at + 1 :])


def _way(came: dict[World, tuple[World | None, str]], world: World) -> list[str]:
    words: list[str] = []
    at: World | None = world
    while at is not None:
        at, what = came[at]
        if what:
            words.append(what)
    return [f"  {number:3}. {one}" for number, one in enumerate(reversed(words), 1)]
