"""Which boundaries ranks commit: those that belong together, however they are numbered and connected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from executor_rig import wait_for
from rank_rig import UNIQUE_ID, Rank, minibatch, start_two, step_alone, stop
from recovery_rig import RESTORED, Recoveries


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    made = start_two()
    yield made
    stop(made)


def get_ahead(ranks: list[Rank]) -> None:
    """The first one makes its second boundary, the other one only the collective before it."""
    minibatch(ranks)
    for one in ranks:
        one.forward()
    ranks[0].step()
    ranks[0].finish()
    wait_for(lambda: ranks[0].stats()["boundary"] == 2)


def committed(ranks: list[Rank]) -> list[int]:
    return [int(one.stats()["committed"]) for one in ranks]


def test_a_rank_that_is_ahead_commits_what_belongs_together(ranks: list[Rank]) -> None:
    for _ in range(2):
        step_alone(ranks[0])
    assert committed(ranks)[0] == 0  # the other one has only its start, before it joined
    minibatch(ranks)
    step_alone(ranks[1])
    minibatch(ranks)
    for one, newest in ((1, 4), (0, 5)):
        step_alone(ranks[one])  # it looks then
        wait_for(lambda one=one, newest=newest: committed(ranks)[one] == newest)
        assert ranks[one].stats()["uneven"]


def uneven_job(ranks: list[Rank], recoveries: Recoveries | None, lost: list[int]) -> list[str]:
    """The contents at its end. lost: in the third minibatch."""
    step_alone(ranks[0])
    minibatch(ranks)
    step_alone(ranks[1])
    step_alone(ranks[1])
    minibatch(ranks)
    for one in ranks:
        one.forward()
    if recoveries:
        assert recoveries.run(lost) == RESTORED
        assert recoveries.boundaries == {1: 3, 2: 4}
        recoveries.resume()
    for one in ranks:
        one.step()
        one.finish()
    minibatch(ranks)
    return [one.content() for one in ranks]


@pytest.fixture(scope="module")
def expected() -> list[str]:
    made = start_two()
    found = uneven_job(made, None, [])
    stop(made)
    return found


@pytest.mark.parametrize("lost", [[0], [1], [0, 1]], ids=str)
def test_each_goes_back_to_its_own(expected: list[str], ranks: list[Rank], lost: list[int]) -> None:
    assert uneven_job(ranks, Recoveries(ranks), lost) == expected


def test_boundaries_between_two_collectives_are_one_to_others(ranks: list[Rank]) -> None:
    """Only the newest of them need be kept."""
    minibatch(ranks)
    for _ in range(5):
        step_alone(ranks[0])
        wait_for(lambda: committed(ranks)[0] == ranks[0].client.boundaries)


def test_what_a_peer_has_not_come_to_is_not_committed(ranks: list[Rank]) -> None:
    get_ahead(ranks)
    wait_for(lambda: committed(ranks)[0] == 1)
    wait_for(lambda: ranks[0].stats()["uncommitted"] == 1)
    ranks[1].step()
    ranks[1].finish()
    wait_for(lambda: ranks[1].stats()["boundary"] == 2 and committed(ranks)[1] == 2)


def test_many_communicators_connect_as_one_does(ranks: list[Rank]) -> None:
    """Whatever the number of those that were made before."""
    stop(ranks)
    ranks[:] = start_two(kind=Crowded)
    get_ahead(ranks)
    wait_for(lambda: committed(ranks)[0] == 1)


class Crowded(Rank):
    """Its communicator with the other rank comes after many in which it waits for nobody."""

    OTHERS = 60

    @classmethod
    def start(cls, rank: int, *arguments: object, **more: object) -> Rank:  # type: ignore[override]
        made = super().start(rank, *arguments, **more)  # type: ignore[arg-type]
        client = made.client
        client.op("communicator_destroy", 5)
        for number in range(cls.OTHERS):
            client.op("communicator_create", 100 + number, 2, rank, b"%d" % number + UNIQUE_ID[8:])
        client.op("communicator_create", 5, 2, rank, b"late" + UNIQUE_ID[4:])
        client.flush()
        return made


def test_communicators_that_all_have_left_are_forgotten(ranks: list[Rank]) -> None:
    """So that what ranks show each other does not grow."""
    for number in range(12):
        for one in ranks:
            one.client.op("communicator_create", 50 + number, 2, one.rank, b"%03d" % number + UNIQUE_ID[3:])
            one.client.op("communicator_destroy", 50 + number)
            one.client.flush()
        minibatch(ranks)
    epoch = 1
    for one in ranks:
        now = one.command("Fence", epoch=epoch)["history"]["now"]["memberships"]
        assert len(now) <= 4, now
