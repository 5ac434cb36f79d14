"""A boundary that one rank has and the other has not: nobody may forget what came before it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from executor_rig import wait_for
from rank_rig import Rank, start_two, stop


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    made = start_two()
    yield made
    stop(made)


def until_boundary(rank: Rank) -> None:
    wait_for(lambda: rank.stats()["boundary"] == rank.client.boundaries)


def test_a_rebuilt_rank_keeps_what_the_other_one_still_needs(ranks: list[Rank]) -> None:
    """Its client comes back, with results to forget, before the group has gone back to the start."""
    ahead, behind = ranks
    for one in ranks:
        one.forward()
        one.step()
    ahead.finish()
    ahead.client.drain()
    until_boundary(ahead)
    assert behind.stats()["boundary"] == 0
    assert ahead.stats()["committed"] == 0

    ahead.lose()
    ahead.rebuild(epoch=1)
    assert ahead.client.received > 0
    ahead.client.op("fill", ahead.client.base + (1 << 20), 4096, 3, 1)
    ahead.client.flush()
    for one in ranks:
        one.command("Fence", epoch=1)
    for one in ranks:
        reply = one.command("Rollback", epoch=1, boundary=0)
        assert reply["complete"], reply
    for one in ranks:
        one.command("Resume", epoch=1, slots=[0, 1])
    behind.finish()
    for one in ranks:
        until_boundary(one)
    wait_for(lambda: ahead.stats()["executed"] == ahead.client.sequence)
    assert ahead.content() != behind.content()  # each has statistics of its own
    parameters = [one.client.call("copy_d2h", one.client.base, 64 << 10).payload for one in ranks]
    assert parameters[0] == parameters[1]
