"""Which rank hangs, and after how long: by what each one is at, and how long ranks of the job usually stand still."""

from __future__ import annotations

import pytest

from jitc.proxy.health.gaps import COLLECTIVE, ENOUGH, LEAST_SECONDS, OP, SILENCE, TIMES, WINDOW, History
from jitc.proxy.health.suspects import Standing, State, suspects

MOST = 240.0
PEERS = {1: frozenset({2}), 2: frozenset({1})}


def usual(seconds: float, kind: str = OP, steps: int = WINDOW) -> History:
    """Of a job whose ranks stand still so long in each step."""
    history = History(MOST)
    for boundary in range(1, steps + 1):
        history.stood(kind, seconds)
        history.at(boundary)
    return history


def test_nothing_is_a_hang_before_the_job_is_known() -> None:
    assert usual(0.1, steps=ENOUGH - 1).limit(OP) == MOST
    assert usual(0.1, steps=ENOUGH).limit(OP) == LEAST_SECONDS


def test_limit_follows_the_median_of_the_same_kind() -> None:
    history = usual(10.0)
    assert history.limit(OP) == TIMES * 10.0
    assert history.limit(SILENCE) == history.limit(COLLECTIVE) == LEAST_SECONDS
    history.stood(OP, 100.0)  # an evaluation now and then is not what is usual
    history.at(WINDOW + 1)
    assert history.limit(OP) == TIMES * 10.0
    assert usual(200.0).limit(OP) == MOST


def test_a_boundary_that_is_made_again_is_no_step() -> None:
    history = History(MOST)
    for boundary in (1, 1, 2, 1, 2):
        history.at(boundary)
    assert history.limit(OP) == MOST


def test_a_wrong_verdict_is_learned_for_good() -> None:
    history = usual(0.1)
    history.wrong(OP, 6.0)
    for boundary in range(WINDOW, 5 * WINDOW):
        history.at(boundary)
    assert history.limit(OP) == TIMES * 6.0
    history.wrong(OP, 300.0)
    assert history.limit(OP) == MOST


def test_silence_is_tolerated_longer_after_each_verdict() -> None:
    """A process without a processor would be silent again and again."""
    history = usual(0.1)
    for times in (1, 2, 3):
        history.judged(SILENCE)
        assert history.limit(SILENCE) == LEAST_SECONDS * 2**times
    history.judged(OP)
    assert history.limit(OP) == LEAST_SECONDS
    for boundary in range(WINDOW, 5 * WINDOW):
        history.at(boundary)
    assert history.limit(SILENCE) == LEAST_SECONDS


def rank(session: int, state: State, still: float = 6.0, gpu: int = 0) -> Standing:
    return Standing(session, state, still, 100 * session, ("", gpu))


def five(one: Standing, kind: str) -> float:
    return LEAST_SECONDS


@pytest.mark.parametrize(
    ("state", "cause"),
    [(State.SILENT, "hung-worker"), (State.COMPUTES, "hung-kernel"), (State.LATE, "hung-collective")],
)
def test_rank_that_others_wait_for(state: State, cause: str) -> None:
    [found] = suspects([rank(1, State.WAITS), rank(2, state)], PEERS, five)
    assert (found.standing.session, found.cause, found.culprit, found.waiting) == (2, cause, True, (1,))


@pytest.mark.parametrize(("state", "cause"), [(State.SILENT, "hung-worker"), (State.COMPUTES, "hung-kernel")])
def test_rank_that_others_need_the_gpu_of(state: State, cause: str) -> None:
    [found] = suspects([rank(1, State.QUEUES), rank(2, state)], PEERS, five)
    assert (found.standing.session, found.cause, found.waiting) == (2, cause, (1,))
    assert suspects([rank(1, State.QUEUES), rank(2, state, gpu=1)], PEERS, five) == [], "it has another GPU"
    assert suspects([rank(1, State.QUEUES), rank(2, State.QUEUES)], PEERS, five) == [], "another job has the turn"


@pytest.mark.parametrize("state", [State.SILENT, State.COMPUTES, State.LATE])
def test_rank_that_nobody_waits_for(state: State) -> None:
    assert suspects([rank(1, State.IDLE), rank(2, state)], PEERS, five) == []
    assert suspects([rank(1, State.WAITS), rank(2, state)], {1: frozenset(), 2: frozenset()}, five) == []


def test_rank_whose_program_gives_it_nothing_to_do_is_never_suspected() -> None:
    assert suspects([rank(1, State.WAITS, 10_000), rank(2, State.IDLE, 10_000)], PEERS, five) == []


def test_rank_that_gets_on_is_never_suspected() -> None:
    assert suspects([rank(1, State.WAITS, 10_000), rank(2, State.COMPUTES, 0.4)], PEERS, five) == []


def test_time_counts_in_which_both_stand_still() -> None:
    assert suspects([rank(1, State.WAITS, 1), rank(2, State.COMPUTES, 100)], PEERS, five) == []


def test_collective_that_all_are_in() -> None:
    [found] = suspects([rank(1, State.WAITS, 9), rank(2, State.WAITS, 7)], PEERS, five)
    assert (found.cause, found.culprit, found.seconds) == ("hung-collective", False, 7)
    assert suspects([rank(1, State.WAITS, 9), rank(2, State.WAITS, 3)], PEERS, five) == []
    three = {1: frozenset({2, 3}), 2: frozenset({1, 3}), 3: frozenset({1, 2})}
    assert suspects([rank(1, State.WAITS), rank(2, State.WAITS)], three, five) == [], "the third is not known"
    assert suspects([rank(1, State.WAITS), rank(2, State.WAITS), rank(3, State.IDLE)], three, five) == []


def test_collective_in_which_one_waits_only_for_a_boundary() -> None:
    """It gives what the others may wait for when it goes on."""
    waits = Standing(2, State.WAITS, 100, 7, will_go_on=True)
    assert suspects([rank(1, State.WAITS, 100), waits], PEERS, five) == []
    [found] = suspects([rank(1, State.COMPUTES, 100), waits], PEERS, five)
    assert (found.standing.session, found.waiting) == (1, (2,)), "it can be waited for all the same"


def test_only_those_wait_that_share_a_communicator() -> None:
    """1 and 2 share one, 2 and 3: a rank that is slow for nobody is left alone."""
    chain = {1: frozenset({2}), 2: frozenset({1, 3}), 3: frozenset({2})}
    found = suspects([rank(1, State.WAITS), rank(2, State.WAITS), rank(3, State.COMPUTES)], chain, five)
    assert [one.standing.session for one in found] == [3]
    found = suspects([rank(1, State.WAITS), rank(2, State.IDLE), rank(3, State.COMPUTES)], chain, five)
    assert found == []
