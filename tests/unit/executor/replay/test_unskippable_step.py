"""A step that peers cannot finish for a rank: then all ranks keep the boundary before it, whole.

A block that came up after the last measurement has no class: only its own rank is taken to know it. When each step
changes it, no copy from before the step says what it is after the step, and a lost rank has to run the step again.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from executor_rig import wait_for
from job_rig import digest
from rank_rig import BLOCK, CLASSES, GRADIENTS, STATISTICS, Rank, minibatch, start_two, stop
from recovery_rig import RESTORED, Recoveries

COUNTER, COUNTER_BYTES = 4 * BLOCK, 2048


class CountingRank(Rank):
    """Has one block more, which each step changes."""

    def blocks(self) -> list[tuple[int, int, int]]:
        parameters, statistics, batch = super().blocks()
        return [parameters, statistics, (self.client.base + COUNTER, COUNTER_BYTES, 2), batch]  # by their ordinals

    def update(self) -> None:
        base = self.client.base
        self.client.op("copy_d2d", base + COUNTER, base + GRADIENTS, COUNTER_BYTES, phase=2)
        super().update()

    def content(self) -> str:
        base = self.client.base
        return digest(
            self.client, [(base, BLOCK, 0), (base + STATISTICS, BLOCK, 1), (base + COUNTER, COUNTER_BYTES, 2)]
        )


def start() -> list[Rank]:
    return start_two(kind=CountingRank)


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    made = start()
    yield made
    stop(made)


@pytest.fixture
def expected() -> list[str]:
    """Contents after three minibatches without a fault."""
    made = start()
    for _ in range(3):
        minibatch(made)
    found = [one.content() for one in made]
    stop(made)
    return found


@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("done", ["nobody", "the healthy rank"])
def test_a_rank_lost_in_it_takes_all_back(expected: list[str], ranks: list[Rank], lost: int, done: str) -> None:
    for one in ranks:
        one.command("SetPolicy", copy_all=False, barrier=True, **CLASSES)
    for _ in range(2):
        minibatch(ranks)
    for one in ranks:
        one.forward()
        one.step()
    healthy = ranks[1 - lost]
    if done == "the healthy rank":
        healthy.finish()
        wait_for(lambda: healthy.stats()["boundary"] == 3)
    wait_for(lambda: all(one.stats()["executed"] >= one.client.sequence - 1 for one in ranks))
    recoveries = Recoveries(ranks)
    waiting = [one for one in ranks if one is not healthy or done == "nobody"]

    def programs_go_on(method: str, request: object) -> None:
        while waiting and method in ("FinishStep", "SkipStep"):
            waiting.pop().finish()

    recoveries.calls.before = programs_go_on
    assert recoveries.run([lost], peer_mode=True) == RESTORED
    assert (recoveries.boundary, waiting) == (2, [])
    recoveries.resume()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == 3)
    assert [one.content() for one in ranks] == expected


def test_other_steps_are_finished_without_copies(ranks: list[Rank]) -> None:
    """Only while there is such a block: a boundary without it copies what no peer has, and no more."""
    for one in ranks:
        one.command("SetPolicy", copy_all=False, barrier=True, **{**CLASSES, "known_ordinals": [0, 1, 2]})
    for _ in range(3):
        minibatch(ranks)
    rows = {row["ordinal"]: row for row in ranks[0].command("BoundaryTable", boundary=3)["rows"]}
    assert not rows[0]["copied"] and rows[1]["copied"]
    for one in ranks:
        one.forward()
        one.step()
    wait_for(lambda: all(one.stats()["executed"] >= one.client.sequence - 1 for one in ranks))
    rows = {row["ordinal"]: row for row in ranks[0].command("BoundaryTable", boundary=3)["rows"]}
    assert not rows[0]["copied"]
