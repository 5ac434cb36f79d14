"""Where the matrix of third-party programs kills workers: each GPU's, at counts of ops, for each start of the ranks."""

from __future__ import annotations

from typing import Any

from third_party.counts import Counts, Strike


def status(*sessions: tuple[int, int]) -> dict[str, Any]:
    """Of each GPU: the process of its session, and its ops. A process of 0: there is none."""
    return {"gpus": [{"sessions": [{"pid": pid, "ops_executed": ops}] if pid else []} for pid, ops in sessions]}


def counted(*steps: tuple[tuple[int, int], ...]) -> Counts:
    counts = Counts()
    for one in steps:
        counts.take(status(*one))
    return counts


def test_each_gpu_is_struck_in_turn_within_its_own_steps() -> None:
    counts = counted(*(((7, 100 * step), (8, 10 * step)) for step in range(10)))
    assert counts.strikes(2) == [[Strike(0, 200), Strike(1, 40), Strike(0, 600), Strike(1, 80)]]


def test_ranks_that_are_started_again_are_struck_again() -> None:
    first = [((7, 10 * step), (8, 10 * step)) for step in range(5)]
    second = [((17, 20 * step), (18, 20 * step)) for step in range(5)]
    counts = counted(*first, ((0, 0), (8, 50)), *second)
    assert [len(one) for one in counts.starts] == [5, 5]
    assert [[one.gpu for one in start] for start in counts.strikes(1)] == [[0, 1], [0, 1]]
    assert [[one.sequence for one in start] for start in counts.strikes(1)] == [[17, 32], [35, 65]]


def test_a_start_without_steps_has_no_strikes() -> None:
    assert counted(((7, 10), (8, 10))).strikes(2) == [[]]
    assert Counts().strikes(2) == []
