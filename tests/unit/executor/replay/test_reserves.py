"""Reserves: older boundaries that are kept whole in peer mode, for when all ranks with some state are lost at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from executor_rig import MIB, wait_for
from rank_rig import CLASSES, Rank, contents, minibatch, start_two, stop
from recovery_rig import RESTORED, Recoveries

MINIBATCHES = 10


def policy(ranks: list[Rank], **reserves: int) -> None:
    for one in ranks:
        one.command("SetPolicy", copy_all=False, barrier=True, **CLASSES, **reserves)


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    made = start_two()
    policy(made)
    yield made
    stop(made)


@pytest.fixture(scope="module")
def expected() -> list[list[str]]:
    """Contents after each minibatch of a run without a fault."""
    ranks = start_two()
    policy(ranks)
    found = []
    for _ in range(MINIBATCHES):
        minibatch(ranks)
        found.append(contents(ranks))
    stop(ranks)
    return found


def run(ranks: list[Rank], until: int) -> None:
    while ranks[0].client.boundaries < until:
        minibatch(ranks)


def kept(ranks: list[Rank]) -> list[list[int]]:
    return [one.stats()["reserves"] for one in ranks]


def caught_up(ranks: list[Rank], boundary: int) -> None:
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == boundary)


def with_reserve(ranks: list[Rank]) -> None:
    """Boundary 3 is one, and the newest boundary is 6."""
    policy(ranks, next_reserve=3)
    run(ranks, 4)
    caught_up(ranks, 4)
    assert kept(ranks) == [[3], [3]]
    policy(ranks, reserve=3)
    run(ranks, 6)
    caught_up(ranks, 6)
    assert kept(ranks) == [[3], [3]]


def test_all_ranks_lost_at_once_go_back_to_it(expected: list[list[str]], ranks: list[Rank]) -> None:
    with_reserve(ranks)
    recoveries = Recoveries(ranks)
    assert recoveries.run([0, 1], peer_mode=True) == RESTORED
    assert recoveries.boundary == 3
    assert "go back to boundary 3" in recoveries.notes[0]
    recoveries.resume()
    caught_up(ranks, 6)
    assert contents(ranks) == expected[5]
    run(ranks, 8)
    assert contents(ranks) == expected[7]


def test_without_one_it_is_said_what_is_missing(ranks: list[Rank]) -> None:
    run(ranks, 6)
    assert "held by no other rank" in Recoveries(ranks).run([0, 1], peer_mode=True)


def test_one_lost_rank_needs_no_reserve(expected: list[list[str]], ranks: list[Rank]) -> None:
    with_reserve(ranks)
    recoveries = Recoveries(ranks)
    assert recoveries.run([1], peer_mode=True) == RESTORED
    assert recoveries.boundary == 6
    recoveries.resume()
    run(ranks, 7)
    assert contents(ranks) == expected[6]
    assert kept(ranks) == [[3], [3]]
    assert recoveries.run([0, 1], peer_mode=True) == RESTORED
    assert recoveries.boundary == 3


@pytest.mark.parametrize("again", [[0], [1], [0, 1]])
def test_lost_again_on_the_way(again: list[int], expected: list[list[str]], ranks: list[Rank]) -> None:
    """Before they are resumed, and when some boundaries have been made again: those are no older ones."""
    with_reserve(ranks)
    recoveries = Recoveries(ranks)
    assert recoveries.run([0, 1], peer_mode=True) == RESTORED
    assert recoveries.run(again, peer_mode=True) == RESTORED
    assert recoveries.boundary == 3
    recoveries.resume()
    caught_up(ranks, 6)
    run(ranks, 7)
    assert recoveries.run([1], peer_mode=True) == RESTORED
    assert recoveries.boundary == 7
    recoveries.resume()
    run(ranks, 8)
    assert contents(ranks) == expected[7]


def test_the_next_one_takes_its_place(expected: list[list[str]], ranks: list[Rank]) -> None:
    with_reserve(ranks)
    policy(ranks, reserve=3, next_reserve=7)
    run(ranks, 8)
    assert kept(ranks) == [[3, 7], [3, 7]]  # until all ranks are known to have it
    contents(ranks)  # what a program has not read stays in the journal
    for one in ranks:
        one.client.drain()  # those results are in the journal when a later one is there
    before = ranks[0].stats()["journal_bytes"]
    policy(ranks, reserve=7)
    run(ranks, 10)  # a rank that had boundary 8 last knew at once that all have it, and lets 3 go at the next commit
    assert kept(ranks) == [[7], [7]]
    wait_for(lambda: ranks[0].stats()["journal_bytes"] < before)
    recoveries = Recoveries(ranks)
    assert recoveries.run([0, 1], peer_mode=True) == RESTORED
    assert recoveries.boundary == 7
    recoveries.resume()
    caught_up(ranks, 10)
    assert contents(ranks) == expected[9]


def test_ranks_that_have_different_ones_use_the_one_that_both_have(ranks: list[Rank]) -> None:
    with_reserve(ranks)
    policy(ranks[:1], reserve=3, next_reserve=7)
    policy(ranks[1:], reserve=3)
    run(ranks, 8)
    assert kept(ranks) == [[3, 7], [3]]
    recoveries = Recoveries(ranks)
    assert recoveries.run([0, 1], peer_mode=True) == RESTORED
    assert recoveries.boundary == 3


def test_it_is_given_up_when_the_journal_is_half_full() -> None:
    """The job stays protected against the loss of one rank."""
    ranks = start_two(journal=20 * MIB)
    policy(ranks)
    with_reserve(ranks)
    for _ in range(6):
        for one in ranks:
            for _ in range(3):
                one.client.op("copy_h2d", one.client.base + MIB, MIB // 2, payload=bytes(MIB // 2))
        minibatch(ranks)
    assert kept(ranks) == [[], []]
    assert all(one.stats()["protected"] for one in ranks)
    assert Recoveries(ranks).run([1], peer_mode=True) == RESTORED
    stop(ranks)
