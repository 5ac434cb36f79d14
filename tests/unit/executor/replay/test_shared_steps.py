"""A step in which another thread of the program has a part, of a job that relies on peers: nobody finishes it for a
rank, and no rank is taken past it; all go back to what is kept whole, and run it again.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from executor_rig import wait_for
from rank_rig import CLASSES, STATISTICS, Rank, contents, minibatch, start_two, stop
from recovery_rig import RESTORED, Recoveries

#: kFlagOtherThread of jitc/shared_steps.h.
OTHER_THREAD = 1 << 3
SHARED = "several threads of the program have a part in the optimizer step"


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    made = start_two()
    yield made
    stop(made)


def two_minibatches(ranks: list[Rank]) -> None:
    """The first one's boundary is the job's reserve."""
    for policy in ({"next_reserve": 1}, {"reserve": 1}):
        for one in ranks:
            one.command("SetPolicy", copy_all=False, barrier=True, **CLASSES, **policy)
        minibatch(ranks)


def third_minibatch(ranks: list[Rank], sharing: Rank) -> None:
    """Up to its boundary, which comes later."""
    for one in ranks:
        one.forward()
        one.step()
    client = sharing.client
    client.op("fill", client.base + STATISTICS + 8192, 4096, 5, 4, flags=OTHER_THREAD)
    client.flush()


@pytest.fixture
def expected(sharing: int) -> list[str]:
    made = start_two()
    two_minibatches(made)
    third_minibatch(made, made[sharing])
    for one in made:
        one.finish()
    found = contents(made)
    stop(made)
    return found


@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("sharing", [0, 1])
def test_all_go_back(expected: list[str], ranks: list[Rank], sharing: int, lost: int) -> None:
    two_minibatches(ranks)
    third_minibatch(ranks, ranks[sharing])
    wait_for(lambda: all(one.stats()["executed"] >= one.client.sequence - 1 for one in ranks))
    recoveries, waiting = Recoveries(ranks), list(ranks)

    def programs_go_on(method: str, request: object) -> None:
        while waiting and method in ("FinishStep", "SkipStep"):
            waiting.pop().finish()

    recoveries.calls.before = programs_go_on
    assert recoveries.run([lost], peer_mode=True) == RESTORED
    refused = "SkipStep" if lost == sharing else "FinishStep"
    assert (refused, SHARED) in recoveries.calls.refusals
    assert recoveries.boundary == 1 and not waiting
    recoveries.resume()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == 3)
    assert contents(ranks) == expected
