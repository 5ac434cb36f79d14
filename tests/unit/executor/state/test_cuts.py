"""Consistent cuts: what workers commit (base/tally.cpp) and what a recovery goes back to (cuts.py) are the same.

Programs are made up: ranks do collectives, send and receive, make and leave communicators, make boundaries and forget
old ones, each at its own pace. JITC_TEST_CUTS names another build of the native side.
"""

from __future__ import annotations

import itertools
import os
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from jitc.proxy.ranks.cuts import Exchange, Membership, RankHistory, Tally, newest_cut

PROGRAM = Path(
    os.environ.get("JITC_TEST_CUTS") or Path(__file__).resolve().parents[4] / "build" / "tests" / "jitc_cuts_test"
)
JOBS = 300


@dataclass
class Program:
    """One rank of a made-up job: what it does in order, and how far it has got."""

    ops: list[tuple[str, int, int]] = field(default_factory=list)  # kind, communicator, peer
    rank: dict[int, int] = field(default_factory=dict)  # in each communicator

    def places(self) -> list[Tally]:
        """What it has done before each op, and after all of them."""
        members: dict[int, Membership] = {}
        exchanged: dict[tuple[int, int, bool], int] = {}
        found = [Tally()]
        for kind, communicator, peer in self.ops:
            one = members.get(communicator)
            if kind == "join":
                members[communicator] = Membership(communicator, 1, self.rank[communicator])
            elif kind == "leave" and one:
                members[communicator] = Membership(communicator, one.collectives, one.rank, left=True)
            elif kind == "collective" and one:
                members[communicator] = Membership(communicator, one.collectives + 1, one.rank)
            elif kind in ("send", "receive"):
                key = communicator, peer, kind == "receive"
                exchanged[key] = exchanged.get(key, 0) + 1
            exchanges = tuple(Exchange(*key, count) for key, count in sorted(exchanged.items()))
            found.append(Tally(tuple(members[name] for name in sorted(members)), exchanges))
        return found


class Maker:
    """Makes up the programs of a job. A communicator that ranks leave has another one after it."""

    def __init__(self, chance: random.Random, ranks: int) -> None:
        self.chance, self.programs = chance, [Program() for _ in range(ranks)]
        self.groups: dict[int, list[int]] = {}
        self.names = itertools.count(1)
        for _ in range(chance.randint(3, 25)):
            getattr(
                self, chance.choice(["join", "collective", "collective", "exchange", "exchange", "step", "leave"])
            )()

    def join(self) -> None:
        name, ranks = next(self.names), len(self.programs)
        self.groups[name] = sorted(self.chance.sample(range(ranks), self.chance.randint(min(2, ranks), ranks)))
        for at, one in enumerate(self.groups[name]):
            self.programs[one].rank[name] = at
        self._all("join", name)

    def collective(self) -> None:
        if self.groups:
            self._all("collective", self.chance.choice(list(self.groups)))

    def leave(self) -> None:
        if self.groups:
            name = self.chance.choice(list(self.groups))
            self._all("leave", name)
            del self.groups[name]

    def exchange(self) -> None:
        name = self.chance.choice(list(self.groups) or [0])
        members = self.groups.get(name, [])
        if len(members) > 1:
            here, there = self.chance.sample(range(len(members)), 2)
            self.programs[members[here]].ops.append(("send", name, there))
            self.programs[members[there]].ops.append(("receive", name, here))

    def step(self) -> None:
        self.chance.choice(self.programs).ops.append(("step", 0, -1))

    def _all(self, kind: str, name: int) -> None:
        for one in self.groups[name]:
            self.programs[one].ops.append((kind, name, -1))


def histories(chance: random.Random, programs: list[Program]) -> dict[int, RankHistory]:
    """Each rank keeps some of its places, and has got to any of them."""
    found = {}
    for number, one in enumerate(programs):
        places = one.places()
        until = chance.randint(0, len(places) - 1)
        kept = sorted(chance.sample(range(until + 1), chance.randint(1, min(5, until + 1))))
        if chance.random() < 0.5:
            kept = sorted({0, *kept})
        found[number] = RankHistory(tuple((place, places[place]) for place in kept), places[until])
    return found


def words(history: RankHistory) -> list[int]:
    def packed(tally: Tally) -> list[int]:
        list_ = [len(tally.memberships)]
        for one in tally.memberships:
            list_ += [one.communicator, one.left << 32 | one.rank & 0xFFFFFFFF, one.collectives]
        list_.append(len(tally.exchanges))
        for other in tally.exchanges:
            list_ += [other.communicator, other.received << 32 | other.peer, other.count]
        return list_

    kept = [word for number, tally in history.kept for word in (number, *packed(tally))]
    standing = 3 * packed(Tally())
    return [7, 0, 0, len(history.kept), *kept, *packed(Tally()), *packed(history.now), *standing, 1, 5, 9]


@pytest.fixture(scope="module")
def jobs() -> list[dict[int, RankHistory]]:
    chance = random.Random(7)
    return [histories(chance, Maker(chance, chance.randint(1, 4)).programs) for _ in range(JOBS)]


def of_workers(jobs: list[dict[int, RankHistory]]) -> list[str]:
    text = ""
    for job in jobs:
        packed = [words(history) for history in job.values()]
        text += f"{len(packed)} " + " ".join(f"{len(one)} {' '.join(map(str, one))}" for one in packed) + "\n"
    done = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, timeout=100, check=True)
    return done.stdout.splitlines()


def of_service(jobs: list[dict[int, RankHistory]]) -> list[str]:
    cuts = [newest_cut(job) for job in jobs]
    return ["none" if cut is None else " ".join(str(cut[rank]) for rank in sorted(cut)) for cut in cuts]


def test_ranks_that_have_left_in_the_middle() -> None:
    """Each has aborted it where it was: nothing of it runs again once all have, and what one of them lacks counts for
    those that are in it."""
    left = {rank: Tally((Membership(1, count, rank, left=True),)) for rank, count in ((0, 5), (1, 7))}
    jobs = [
        {rank: RankHistory(((3, tally),), tally) for rank, tally in places.items()}
        for places in (left, left | {0: Tally((Membership(1, 5, 0),))})
    ]
    assert of_service(jobs) == of_workers(jobs) == ["3 3", "none"]


def test_workers_and_the_service_find_the_same(jobs: list[dict[int, RankHistory]]) -> None:
    expected = of_service(jobs)
    assert of_workers(jobs) == expected
    assert JOBS // 10 < expected.count("none") < JOBS - JOBS // 10  # both are there


def test_it_is_the_newest_of_all_that_are_consistent(jobs: list[dict[int, RankHistory]]) -> None:
    """Compared with all combinations, each looked at by itself."""
    for job in jobs:
        numbers = [[number for number, _ in history.kept] for history in job.values()]
        consistent = [choice for choice in itertools.product(*numbers) if is_consistent(job, choice)]
        newest = tuple(max(one[rank] for one in consistent) for rank in range(len(job))) if consistent else None
        cut = newest_cut(job)
        assert (cut and tuple(cut[rank] for rank in sorted(cut))) == newest


def is_consistent(job: dict[int, RankHistory], choice: tuple[int, ...]) -> bool:
    only = {rank: at(history, number) for (rank, history), number in zip(job.items(), choice, strict=True)}
    return newest_cut(only) == dict(zip(job, choice, strict=True))


def at(history: RankHistory, number: int) -> RankHistory:
    """The history of a rank that has only this one to go back to."""
    return history.only([number])
