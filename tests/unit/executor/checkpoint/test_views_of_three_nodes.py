"""A rank on a third node sees a boundary before operations of others on which it depends: nothing is committed by that.

Nodes 0 and 2 train together. Then nodes 0 and 1 make an all-reduce of their own, of which node 2 has not heard: what
node 1 shows is on its way. The next boundary of node 0 belongs with none of node 1, so it may not count anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from boards_rig import NodeRecoveries, Nodes, ranks_on_nodes
from executor_rig import wait_for
from rank_rig import BATCH, BLOCK, STATISTICS, UNIQUE_ID, Rank, contents, minibatch
from recovery_rig import RESTORED

PAIR = b"pair".ljust(128, b"\0")
MEMBERS = {UNIQUE_ID: (0, 2), PAIR: (0, 1)}


@contextmanager
def job() -> Iterator[list[Rank]]:
    with ranks_on_nodes(MEMBERS, Rank.open) as made:
        first, second, third = made
        for place, one in enumerate((first, third)):
            one.join(5, UNIQUE_ID, place)
        for one in made:
            one.fill()
        second.client.op("fill", second.client.base + BATCH, 2 * BLOCK, 5, 4)  # it has no forward pass
        minibatch([first, third])
        wait_for(lambda: nodes_of(made).prepared(2, 0) == 1)
        assert second.stats()["boundary"] == 0
        yield made


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    with job() as made:
        yield made


def nodes_of(ranks: list[Rank]) -> Nodes:
    nodes = ranks[0].control
    assert isinstance(nodes, Nodes)
    return nodes


def get_ahead(ranks: list[Rank]) -> None:
    """Nodes 0 and 2 come to their third step; node 1 has made no boundary since the all-reduce with node 0."""
    first, second, third = ranks
    for place, one in enumerate((first, second)):
        one.join(6, PAIR, place)
        one.all_reduce(6, STATISTICS)
    minibatch([first, third])
    wait_for(lambda: nodes_of(ranks).prepared(2, 0) == 2)
    for one in (first, third):
        one.forward()
    third.step()
    wait_for(lambda: third.reached() == 3)


def finish(ranks: list[Rank]) -> None:
    """The third minibatch of nodes 0 and 2, and the first one of node 1."""
    for one in ranks[:2]:
        one.step()
    for one in ranks:
        one.finish()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == one.client.boundaries)


@pytest.mark.parametrize("unseen", [True, False], ids=["on its way", "seen"])
def test_a_boundary_counts_once_all_that_it_depends_on_is_seen(ranks: list[Rank], unseen: bool) -> None:
    third, carrier = ranks[2], nodes_of(ranks).carriers[1, 2]
    if unseen:
        carrier.stop()
    get_ahead(ranks)
    assert int(third.stats()["committed"]) < 2
    if unseen:
        carrier.start()
    finish(ranks)
    wait_for(lambda: nodes_of(ranks).prepared(2, 0) == 3 and nodes_of(ranks).prepared(2, 1) == 1)
    minibatch([ranks[0], third])
    wait_for(lambda: third.stats()["committed"] >= 2)


@pytest.fixture(scope="module")
def expected() -> list[str]:
    """The contents without a fault."""
    with job() as made:
        get_ahead(made)
        finish(made)
        return contents(made)


@pytest.mark.parametrize("lost", [[0], [1], [2], [0, 1, 2]], ids=str)
def test_all_go_back_to_what_each_has_kept(ranks: list[Rank], expected: list[str], lost: list[int]) -> None:
    recoveries, carrier = NodeRecoveries(ranks), nodes_of(ranks).carriers[1, 2]
    carrier.stop()
    get_ahead(ranks)
    assert recoveries.run(lost) == RESTORED
    assert recoveries.boundaries == {1: 1, 2: 0, 3: 1}
    carrier.start()
    recoveries.resume()
    finish(ranks)
    assert contents(ranks) == expected
