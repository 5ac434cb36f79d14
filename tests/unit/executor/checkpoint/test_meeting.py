"""A rank that makes no optimizer steps has boundaries all the same: where it meets those of a rank that does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from executor_rig import wait_for
from rank_rig import Rank, contents, start_two, step_alone, stop
from recovery_rig import RESTORED, Recoveries

ITERATIONS = 6
#: Boundaries of a rank that belong with none of others, before they look out for them; and one under way.
FEW = 3 + 1


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    made = start_two()
    yield made
    stop(made)


def begin(ranks: list[Rank]) -> None:
    for one in ranks:
        one.forward()


def end(ranks: list[Rank]) -> None:
    """The first rank makes a step, the other one takes what was reduced without one."""
    ranks[0].step()
    ranks[0].finish()
    ranks[1].update()
    wait_for(lambda: ranks[0].stats()["boundary"] == ranks[0].client.boundaries)


def iterate(ranks: list[Rank], count: int) -> None:
    for _ in range(count):
        begin(ranks)
        end(ranks)


def job(ranks: list[Rank], recoveries: Recoveries | None, lost: list[int]) -> list[str]:
    """The contents at its end. lost: between a collective and the step after it."""
    iterate(ranks, ITERATIONS)
    for _ in range(2):
        begin(ranks)
        if recoveries:
            assert recoveries.run(lost) == RESTORED
            first, second = recoveries.boundaries[1], recoveries.boundaries[2]
            assert first >= ranks[0].client.boundaries - FEW and 0 < second < first
            recoveries.resume()
        end(ranks)
        iterate(ranks, 3)
    step_alone(ranks[1])  # its program counts its own boundaries from 1
    begin(ranks)
    if recoveries:
        assert recoveries.run(lost) == RESTORED
        recoveries.resume()
    end(ranks)
    return contents(ranks)


@pytest.fixture(scope="module")
def expected() -> list[str]:
    made = start_two()
    found = job(made, None, [])
    stop(made)
    return found


def test_boundaries_are_committed(ranks: list[Rank]) -> None:
    iterate(ranks, ITERATIONS)
    wait_for(lambda: ranks[0].stats()["committed"] >= ITERATIONS - FEW)
    assert ranks[1].stats()["boundary"] >= 1 and ranks[1].client.boundaries == 0
    wait_for(lambda: all(one.stats()["uncommitted"] <= FEW for one in ranks))


def test_a_rank_that_is_given_one_makes_other_steps(ranks: list[Rank]) -> None:
    """Also where its boundary happens to have the number of the other's: a number says nothing then."""
    for _ in range(2):
        step_alone(ranks[1])
    iterate(ranks, 4)
    wait_for(lambda: ranks[1].stats()["boundary"] == 3 and ranks[0].stats()["committed"] == 3)
    assert ranks[1].stats()["uneven"]


@pytest.mark.parametrize("lost", [[0], [1], [0, 1]], ids=str)
def test_each_goes_back_to_them(expected: list[str], ranks: list[Rank], lost: list[int]) -> None:
    assert job(ranks, Recoveries(ranks), lost) == expected


def test_a_rank_that_does_not_come_is_not_waited_for_without_end(ranks: list[Rank]) -> None:
    """It may come only after something that nobody here can see."""
    for _ in range(FEW):
        step_alone(ranks[0])
    ranks[1].forward()
    newest = ranks[1].client.sequence
    wait_for(lambda: ranks[1].stats()["under_way"]["sequence"] == newest)  # in its collective
    assert ranks[1].stats()["boundary"] == 0
    ranks[0].forward()
    ranks[0].client.op("device_synchronize")
