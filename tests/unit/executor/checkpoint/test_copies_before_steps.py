"""What a rank copies before a step, in peer mode: the boundary after the step shares what the step leaves alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from executor_rig import wait_for
from rank_rig import BLOCK, CLASSES, Rank, contents, minibatch, start_two, stop
from recovery_rig import RESTORED, Recoveries

BATCH, GRADIENT = 4096, 4096
STEPS = 3


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    """After three minibatches."""
    made = start_two()
    for one in made:
        one.command("SetPolicy", copy_all=False, barrier=True, **CLASSES)
    for _ in range(STEPS):
        minibatch(made)
    yield made
    stop(made)


def copied(ranks: list[Rank]) -> list[int]:
    return [one.stats()["boundary_phases"]["copied_bytes"] for one in ranks]


def test_a_boundary_shares_them(ranks: list[Rank]) -> None:
    """Statistics and the batch are copied once in a minibatch; the gradient is gone by the boundary."""
    before = copied(ranks)
    minibatch(ranks)
    assert [late - early for late, early in zip(copied(ranks), before, strict=True)] == [BLOCK + BATCH + GRADIENT] * 2
    rows = {row["ordinal"]: row for row in ranks[0].command("BoundaryTable", boundary=STEPS + 1)["rows"]}
    assert rows[1]["copied"] and not rows[0]["copied"]


@pytest.mark.parametrize("lost", [0, 1])
def test_shared_copies_outlive_the_step_and_the_worker(ranks: list[Rank], lost: int) -> None:
    """Again and again: each takeover claims them anew, and nothing is held twice or given back too early."""
    recoveries = Recoveries(ranks)
    for more in range(3):
        expected = contents(ranks)
        for one in ranks:
            one.forward()  # writes to statistics and batch
        wait_for(lambda: all(one.stats()["executed"] >= one.client.sequence for one in ranks))
        forward = contents(ranks)
        assert forward != expected
        assert recoveries.run([lost], peer_mode=True) == RESTORED
        assert recoveries.boundary == STEPS + more
        recoveries.resume()
        assert contents(ranks) == forward  # the replay has come to where it was
        for one in ranks:
            one.step()
            one.finish()
        for one in ranks:
            wait_for(lambda one=one: one.stats()["boundary"] == one.client.boundaries)
        # Of two boundaries at most, where a rank has not heard yet that the other one has the newer one.
        assert all(one.stats()["snapshot_bytes"] <= 2 * (BLOCK + BATCH) for one in ranks)
