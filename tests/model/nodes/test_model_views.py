"""Three nodes: a rank commits only by views that are closed; by others it commits what the rest of the job lacks."""

from __future__ import annotations

import itertools

import pytest

from model.nodes.views import BOUNDARY, RANKS, Program, Views, Wrong

X, Y, Z = frozenset({0, 1}), frozenset({0, 2}), frozenset({1, 2})
#: A and B share X, in which C has no part; A and C share Y.
CHAIN: list[Program] = [(Y, BOUNDARY, X, Y, BOUNDARY), (X, BOUNDARY), (Y, BOUNDARY, Y, BOUNDARY)]


def programs(order: tuple[frozenset[int], ...]) -> list[Program]:
    """Each rank's part of these collectives, with a boundary after each op of its own."""
    return [tuple(one for op in order if rank in op for one in (op, BOUNDARY)) for rank in range(3)]


def test_a_rank_that_has_no_part_in_a_communicator_commits_no_boundary_too_far() -> None:
    worlds, committed = Views(CHAIN, late=[2]).explore()
    assert worlds > 20
    assert committed > 0, "nothing is ever committed"


def test_without_closed_views_it_does() -> None:
    """And the way there is a shortest one."""
    with pytest.raises(Wrong, match="no boundaries belong together") as wrong:
        Views(CHAIN, late=[2], closed=False).explore()
    assert "rank C's node is shown rank A" in str(wrong.value)
    assert "rank C's node is shown rank B" not in str(wrong.value)


@pytest.mark.parametrize("late", RANKS)
def test_every_order_of_two_collectives_of_two_ranks(late: int) -> None:
    for order in itertools.product((X, Y, Z), repeat=2):
        Views(programs(order), late=[late]).explore()


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("late", RANKS)
def test_every_order_of_three_collectives_of_two_ranks(late: int) -> None:
    for order in itertools.product((X, Y, Z), repeat=3):
        Views(programs(order), late=[late]).explore()
