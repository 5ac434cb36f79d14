"""When reserves are made: how far apart, who must have one, and what becomes of one that a rank has missed."""

from __future__ import annotations

from histories import in_step

from jitc.proxy.protection.peer_mode.reserves import (
    AHEAD,
    LEAST_APART,
    MOST_AHEAD,
    MOST_APART,
    PATIENCE,
    Reserve,
    Standing,
)
from jitc.proxy.ranks.cuts import Boundaries
from jitc.proxy.recovery.decide import RankPosition, newest_reserves


def standing(boundary: int, *reserves: int, seconds: float = 0.0) -> Standing:
    return Standing(boundary, frozenset(reserves), seconds)


def made(reserve: Reserve, boundary: int, now: float = 0.0, seconds: float = 0.0) -> None:
    """The ranks have come to the boundary that is wanted, and have it whole."""
    assert reserve.advance([standing(boundary), standing(boundary)], now)
    wanted = reserve.wanted
    both = [standing(wanted, wanted, seconds=seconds)] * 2
    assert reserve.advance(both, now)
    assert (reserve.boundary, reserve.wanted) == (wanted, 0)


def test_it_counts_once_all_ranks_have_it() -> None:
    reserve = Reserve(0.01)
    assert reserve.advance([standing(7), standing(8)], 0.0)
    assert (reserve.boundary, reserve.wanted) == (0, 8 + AHEAD)
    assert not reserve.advance([standing(10, 10), standing(9)], 0.0)
    assert not reserve.advance([standing(10, 10), standing(10)], 0.0)  # its copies are under way
    assert reserve.advance([standing(11, 10), standing(10, 10)], 0.0)
    assert (reserve.boundary, reserve.wanted) == (10, 0)


def test_one_that_a_rank_has_missed_is_wished_for_again_and_further_ahead() -> None:
    reserve = Reserve(0.01)
    reserve.advance([standing(8), standing(8)], 0.0)
    assert reserve.advance([standing(11, 10), standing(11)], 0.0)
    assert (reserve.boundary, reserve.wanted) == (0, 11 + 2 * AHEAD)
    assert reserve.advance([standing(20), standing(20)], 0.0)
    assert reserve.wanted == 20 + 4 * AHEAD


def test_it_is_wished_for_no_further_ahead_than_the_limit() -> None:
    reserve, ahead = Reserve(0.01), list[int]()
    reserve.advance([standing(8), standing(8)], 0.0)
    while ahead[-2:] != [MOST_AHEAD] * 2:
        newest = reserve.wanted + 1
        assert reserve.advance([standing(newest)] * 2, 0.0)
        ahead.append(reserve.wanted - newest)
        assert ahead[-1] <= MOST_AHEAD
    assert ahead == [*(AHEAD << missed for missed in range(1, len(ahead))), MOST_AHEAD]


def test_peers_are_relied_on_with_one_or_where_there_is_no_room_for_any() -> None:
    assert Reserve(0.0).ready()
    reserve, boundary = Reserve(0.01), 0
    for _ in range(PATIENCE + 2):
        assert not reserve.ready()
        reserve.advance([standing(boundary), standing(boundary)], 0.0)
        boundary = reserve.wanted + 1
    assert reserve.ready()
    reserve = Reserve(0.01)
    made(reserve, 3)
    assert reserve.ready()


def test_the_one_before_stays_until_then() -> None:
    reserve = Reserve(0.01)
    made(reserve, 0)
    first = reserve.boundary
    at = first + LEAST_APART
    assert not reserve.advance([standing(at - 1, first)] * 2, 0.0)
    assert reserve.advance([standing(at, first)] * 2, 0.0)
    assert (reserve.boundary, reserve.wanted) == (first, at + AHEAD)


def test_they_are_as_far_apart_as_the_budget_says() -> None:
    """A step takes 0.1 s, and making one 0.2 s: 1 % of 200 steps."""
    reserve = Reserve(0.01)
    made(reserve, 0, 0.0, seconds=0.2)
    reserve.advance([standing(2 + LEAST_APART, 2, seconds=0.2)] * 2, LEAST_APART * 0.1 + 0.2)
    assert reserve.apart == 200


def test_there_are_limits_to_that() -> None:
    for seconds, apart in ((0.0, LEAST_APART), (100.0, MOST_APART)):
        reserve = Reserve(0.01)
        made(reserve, 0, 0.0, seconds=seconds)
        reserve.advance([standing(100, 2, seconds=seconds)] * 2, 10.0)
        assert reserve.apart == apart


def test_a_job_that_went_back_is_measured_anew() -> None:
    reserve = Reserve(0.01)
    made(reserve, 98, 0.0, seconds=0.2)
    assert not reserve.advance([standing(100, 100, seconds=0.2)] * 2, 50.0)
    assert not reserve.advance([standing(99, 100, seconds=0.2)] * 2, 60.0)
    reserve.advance([standing(99 + LEAST_APART, 100, seconds=0.2)] * 2, 60.0 + LEAST_APART * 0.1)
    assert reserve.apart == 200


def test_none_without_a_budget() -> None:
    reserve = Reserve(0.0)
    assert not reserve.advance([standing(1000)] * 2, 0.0)


def test_a_worker_that_does_not_answer_has_none() -> None:
    assert Standing.told({}) == standing(0)
    assert Standing.told({"boundary": 5, "reserves": [3], "reserve_seconds": 0.5}) == standing(5, 3, seconds=0.5)


def test_a_recovery_takes_the_newest_that_all_ranks_have() -> None:
    def newest(*reserves: set[int]) -> Boundaries | None:
        ranks = {n: RankPosition(9, 9, True, in_step(3, 7, 9), reserves=tuple(one)) for n, one in enumerate(reserves)}
        return newest_reserves(ranks, dict.fromkeys(ranks, 9))

    assert newest({3, 7}, {3, 7}) == {0: 7, 1: 7}
    assert newest({3, 7}, {3}) == {0: 3, 1: 3}
    assert newest({3}, {7}) is None
    assert newest({3, 9}, {3, 9}) == {0: 3, 1: 3}


def test_reserves_of_a_rank_that_is_ahead() -> None:
    """Its number 8 is the other's 7; reserves of one number do not belong together."""

    def newest(*reserves: set[int]) -> Boundaries | None:
        histories = in_step(3, 7, 9), in_step(4, 7, 8, 10, ahead=1)
        ranks = {n: RankPosition(9 + n, 9 + n, True, histories[n], reserves=tuple(reserves[n])) for n in range(2)}
        return newest_reserves(ranks, {0: 9, 1: 10})

    assert newest({3, 7}, {4, 8}) == {0: 7, 1: 8}
    assert newest({3, 7}, {4, 7}) == {0: 3, 1: 4}
    assert newest({7}, {7}) is None
    assert newest({9}, {10}) is None, "the boundaries that are to be left"
