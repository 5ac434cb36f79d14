"""Boundaries of ranks on two nodes: committed, and gone back to, as on one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from boards_rig import NodeRecoveries, Nodes, ranks_on_two_nodes
from executor_rig import wait_for
from rank_rig import CLASSES, SLOT, Rank, contents, minibatch, start_two, stop
from recovery_rig import RESTORED

#: Places of words in a slot of the board (struct JobSlot).
EPOCH, BEGUN = 8, 32


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    with ranks_on_two_nodes() as made:
        yield made


@pytest.fixture(scope="module")
def expected() -> list[str]:
    """The contents after five minibatches on one node."""
    made = start_two()
    for _ in range(5):
        minibatch(made)
    found = contents(made)
    stop(made)
    return found


def nodes_of(ranks: list[Rank]) -> Nodes:
    nodes = ranks[0].control
    assert isinstance(nodes, Nodes)
    return nodes


def word(rank: Rank, place: int) -> int:
    """A word of the rank's own slot, on its node's board."""
    return int.from_bytes(os.pread(rank.board.fds["board"], 8, SLOT * rank.rank + place), "little")


def wait_until_shown(ranks: list[Rank], boundary: int) -> None:
    nodes = nodes_of(ranks)
    wait_for(lambda: all(nodes.prepared(node, 1 - node) == boundary for node in (0, 1)))


def train(ranks: list[Rank], first: int, last: int) -> None:
    """Minibatches, each after the one before has been shown on both nodes; so that one is committed."""
    for number in range(first, last + 1):
        wait_until_shown(ranks, number - 1)
        minibatch(ranks)
        assert all(int(one.stats()["committed"]) >= number - 1 for one in ranks)
    wait_until_shown(ranks, last)


def finish_minibatch(ranks: list[Rank], number: int) -> None:
    """What follows the forward pass."""
    for one in ranks:
        one.step()
        one.finish()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == number)


def test_ranks_commit_what_belongs_together(ranks: list[Rank], expected: list[str]) -> None:
    train(ranks, 1, 5)
    assert contents(ranks) == expected
    assert not nodes_of(ranks).faults


def test_a_rank_alone_commits_nothing_of_which_the_other_has_no_part(ranks: list[Rank]) -> None:
    train(ranks, 1, 2)
    for one in ranks:
        one.forward()
    ranks[0].step()
    ranks[0].finish()
    wait_for(lambda: ranks[0].stats()["boundary"] == 3 and nodes_of(ranks).prepared(1, 0) == 3)
    assert int(ranks[0].stats()["committed"]) == 2
    ranks[1].step()
    ranks[1].finish()
    wait_for(lambda: ranks[1].stats()["committed"] == 3)
    train(ranks, 4, 4)


@pytest.mark.parametrize("lost", [[0], [1], [0, 1]], ids=str)
def test_lost_workers_come_back(ranks: list[Rank], expected: list[str], lost: list[int]) -> None:
    recoveries = NodeRecoveries(ranks)
    train(ranks, 1, 2)
    for one in ranks:
        one.forward()
    assert recoveries.run(lost) == RESTORED
    assert [word(one, EPOCH) for one in ranks] == [0, 0]  # what they say until they continue is of before
    recoveries.resume()
    assert [word(one, EPOCH) for one in ranks] == [1, 1]
    finish_minibatch(ranks, 3)
    train(ranks, 4, 5)
    assert contents(ranks) == expected


@pytest.mark.parametrize("lost", [0, 1])
def test_ranks_are_peers_that_wait_for_each_other_before_a_step(
    ranks: list[Rank], expected: list[str], lost: int
) -> None:
    recoveries = NodeRecoveries(ranks)
    for one in ranks:
        one.command("SetPolicy", copy_all=False, barrier=True, **CLASSES)
    train(ranks, 1, 2)
    for one in ranks:
        one.forward()
    ranks[0].step()
    wait_for(lambda: ranks[0].reached() == 3)
    assert word(ranks[0], BEGUN) == 2  # the other one has not come
    assert recoveries.run([lost], peer_mode=True) == RESTORED
    assert recoveries.boundary == 2
    recoveries.resume()
    ranks[1].step()
    for one in ranks:
        one.finish()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == 3)
    train(ranks, 4, 5)
    assert contents(ranks) == expected
    assert not any(one.stats()["uneven"] for one in ranks)


def test_a_cut_connection_costs_a_minibatch(ranks: list[Rank], expected: list[str]) -> None:
    nodes, recoveries = nodes_of(ranks), NodeRecoveries(ranks)
    train(ranks, 1, 2)
    nodes.cut("node n1 does not answer")
    for one in ranks:
        one.forward()
    wait_for(lambda: len(nodes.faults) == 2)
    for *_, cause, text in nodes.faults:
        assert cause == "collective-error"
        assert "the connection to the other ranks is cut (node n1 does not answer)" in text
    assert recoveries.run([]) == RESTORED
    recoveries.resume()
    finish_minibatch(ranks, 3)
    train(ranks, 4, 5)
    assert contents(ranks) == expected
    assert len(nodes.faults) == 2
