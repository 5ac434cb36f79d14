"""A second fault before the first one's recovery is over: what a rank has taken over counts, and late calls do not."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from executor_rig import wait_for
from rank_rig import BLOCK, CLASSES, Rank, contents, minibatch, start_two, stop
from recovery_rig import RESTORED, Recoveries

from jitc.proxy.common.executor import ExecutorError


def in_peer_mode() -> list[Rank]:
    """Two ranks after two minibatches; what both have has no copies."""
    ranks = start_two()
    for one in ranks:
        one.command("SetPolicy", copy_all=False, barrier=True, **CLASSES)
    for _ in range(2):
        minibatch(ranks)
    return ranks


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    made = in_peer_mode()
    yield made
    stop(made)


@pytest.fixture
def expected() -> list[list[str]]:
    """Contents after the third and the fourth minibatch of a run without a fault."""
    ranks = in_peer_mode()
    found = []
    for _ in range(2):
        minibatch(ranks)
        found.append(contents(ranks))
    stop(ranks)
    return found


def taken_over(ranks: list[Rank]) -> Recoveries:
    """Rank 1 is lost in step 3, and takes the state after it from rank 0. Nobody has been resumed."""
    for one in ranks:
        one.forward()
        one.step()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["executed"] == one.client.sequence)
    ranks[1].client.boundary(ranks[1].blocks())  # sent once it has a worker again
    recoveries = Recoveries(ranks)

    def keeps() -> None:
        """As survivors do: what only they hold goes to memory of the node."""
        ranks[0].finish()
        assert ranks[0].command("Keep", epoch=1, timeout_ms=20_000)["complete"]

    assert recoveries.run([1], peer_mode=True, damage=keeps) == RESTORED
    assert recoveries.boundary == 3
    return recoveries


@pytest.mark.parametrize("resumed", [False, True])
def test_the_peer_is_lost_before_a_skipped_step_has_its_boundary(
    resumed: bool, expected: list[list[str]], ranks: list[Rank]
) -> None:
    """Only the rank that took over, and the copies of the other one, have the job's state now."""
    recoveries = taken_over(ranks)
    if resumed:
        ranks[1].command("Resume", epoch=1, slots=[0, 1])
    assert recoveries.run([0], peer_mode=True) == RESTORED
    assert recoveries.boundary == 3
    recoveries.resume()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == 3)
    assert contents(ranks) == expected[0]
    minibatch(ranks)
    assert contents(ranks) == expected[1]


def test_a_boundary_that_was_taken_over_serves_the_next_lost_rank(expected: list[list[str]], ranks: list[Rank]) -> None:
    """FinishStep makes it, so that the rank has a table of it for others."""
    recoveries = taken_over(ranks)
    ranks[1].command("Fence", epoch=2)
    assert ranks[1].command("FinishStep", boundary=3, epoch=2, timeout_ms=20_000)["complete"]
    assert (ranks[1].stats()["boundary"], ranks[1].stats()["state"]) == (3, "fenced")
    assert [row["ordinal"] for row in ranks[1].command("BoundaryTable", boundary=3)["rows"]][:2] == [0, 1]
    recoveries.epoch = 2
    assert recoveries.run([0], peer_mode=True) == RESTORED
    recoveries.resume()
    assert contents(ranks) == expected[0]


def test_what_a_rebuilt_rank_has_got_counts_before_it_is_resumed(expected: list[list[str]], ranks: list[Rank]) -> None:
    """The peer that gave it is lost next, and has no copies of that: its memory is the only one left."""
    for one in ranks:
        one.forward()
        one.step()
    ranks[1].finish()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["executed"] == one.client.sequence)
    recoveries = Recoveries(ranks)
    assert recoveries.run([1], peer_mode=True, damage=ranks[0].finish) == RESTORED
    assert recoveries.run([0], peer_mode=True) == RESTORED
    recoveries.resume()
    assert contents(ranks) == expected[0]
    minibatch(ranks)
    assert contents(ranks) == expected[1]


def test_a_transfer_of_an_earlier_recovery_is_refused(ranks: list[Rank]) -> None:
    """Its memory is gone, and its path may be that of another by now: nothing of it may be written."""
    for one in ranks:
        one.client.drain()
        one.command("Fence", epoch=2)
        assert one.command("Rollback", boundary=2, epoch=2)["complete"]
    fd = os.memfd_create("test-transfer")
    os.ftruncate(fd, BLOCK)
    path = f"/proc/{os.getpid()}/fd/{fd}"
    block = {"address": ranks[1].client.base, "bytes": BLOCK, "offset": 0, "hash": "11" * 16}
    for method in ("Import", "Export"):
        with pytest.raises(ExecutorError, match="a newer recovery has begun"):
            ranks[1].command(method, epoch=1, path=path, boundary=2, blocks=[block])
    os.close(fd)
    assert ranks[1].command("Rollback", boundary=2, epoch=2)["missing"] == []
