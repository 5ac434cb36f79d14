"""An abort of a communicator: it ends what a boundary waits for, and a replay has the same outcome."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

import pytest
from executor_rig import Completion, wait_for
from rank_rig import Rank, contents, minibatch, start_two, stop
from recovery_rig import RESTORED, Recoveries

COMMUNICATOR = 5
#: Where rank 0 says in how many rounds of the communicator it has given its part (software device, segment.h).
ROUNDS = 4096 + 64


def begin() -> list[Rank]:
    made = start_two()
    minibatch(made)
    made[0].forward()
    made[0].step()
    made[0].finish()
    [segment] = made[0].control.segments.values()
    wait_for(lambda: os.pread(segment, 8, ROUNDS) == struct.pack("<Q", 2))
    return made


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    """After two minibatches, the second of which rank 0 has alone: its boundary is behind a sum that waits."""
    made = begin()
    yield made
    stop(made)


def abort(rank: Rank) -> Completion:
    found = rank.client.call("communicator_abort", COMMUNICATOR)
    wait_for(lambda: rank.stats()["boundary"] == rank.client.boundaries)
    return found


def follow(rank: Rank) -> None:
    """The second minibatch of the other rank: it has what the first one has given to the sum."""
    rank.forward()
    rank.step()
    rank.finish()
    wait_for(lambda: rank.stats()["boundary"] == rank.client.boundaries)


def at_boundary(ranks: list[Rank]) -> None:
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == 2)


@pytest.fixture
def expected() -> list[str]:
    """What both hold after it without a fault."""
    made = begin()
    abort(made[0])
    follow(made[1])
    found = contents(made)
    stop(made)
    return found


def test_the_boundary_behind_it_is_made(ranks: list[Rank]) -> None:
    wait_for(lambda: ranks[0].stats()["received"] == ranks[0].client.sequence)
    assert ranks[0].stats()["boundary"] == 1
    found = abort(ranks[0])
    assert found.status == 0
    _, index, *steps = struct.unpack(f"<{len(found.payload) // 8}Q", found.payload)
    assert (index, steps) == (0, [1])
    assert ranks[0].client.call("communicator_abort", COMMUNICATOR).status == 400


@pytest.mark.parametrize("lost", [[0], [1], [0, 1]])
@pytest.mark.parametrize("when", ["before the other one comes", "when it has come"])
def test_a_replay_ends_it_where_it_ended(lost: list[int], when: str, expected: list[str], ranks: list[Rank]) -> None:
    """The sum could be whole in the replay: both ranks are there from the beginning."""
    abort(ranks[0])
    if when == "when it has come":
        follow(ranks[1])
    recoveries = Recoveries(ranks)
    assert recoveries.run(lost) == RESTORED
    recoveries.resume()
    if when != "when it has come":
        follow(ranks[1])
    at_boundary(ranks)
    assert contents(ranks) == expected
    assert ranks[0].control.faults == []


def test_twice(expected: list[str], ranks: list[Rank]) -> None:
    """Also by a worker that has never seen it live."""
    abort(ranks[0])
    recoveries = Recoveries(ranks)
    for _ in range(2):
        assert recoveries.run([0]) == RESTORED
        assert recoveries.boundary == 1
        recoveries.resume()
        wait_for(lambda: ranks[0].stats()["boundary"] == 2)
    follow(ranks[1])
    assert contents(ranks) == expected
