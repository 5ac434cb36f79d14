"""Where the matrix of third-party programs kills workers: each GPU's, at counts of ops, for each start of the ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from third_party.counts import Counts, Strike
from third_party.execution import Blows, Wrong
from toolkit.service import Service


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


class Told:
    """A service that says what it is given."""

    gpus = 2

    def __init__(self, fired: list[int], replaced: tuple[int, int], outcome: str = "recovered") -> None:
        """replaced: how often each rank's worker was, in one recovery; a rank that kept its own helped meanwhile."""
        ranks = [
            {"lost": bool(times), "spans": [{"phase": "fence"}, *[{"phase": "rebuild"}] * max(times, 1)]}
            for times in replaced
        ]
        self._fired, self._report = fired, [{"outcome": outcome, "ranks": ranks}]

    def inject(self, fault: Any, gpu: int) -> None:
        pass

    def injected(self) -> list[dict[str, Any]]:
        return [{"gpu": gpu} for gpu in self._fired]

    def report(self) -> list[dict[str, Any]]:
        return self._report


PLANNED = [[Strike(0, 10), Strike(1, 20)]]


def test_a_run_is_right_when_each_planned_kill_was_made_and_recovered(tmp_path: Path) -> None:
    assert Blows(cast(Service, Told([0, 1], (1, 1))), PLANNED).check(tmp_path) == (1, 1)
    twice = [[Strike(0, 10), Strike(1, 20), Strike(0, 30)]]  # one of them again while the recovery went on
    assert Blows(cast(Service, Told([0, 1, 0], (2, 1))), twice).check(tmp_path) == (2, 1)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (Told([0, 0], (2, 0)), r"kills of GPUs: \{0: 2\} instead of \{0: 1, 1: 1\}"),
        (Told([0], (1, 0)), r"kills of GPUs: \{0: 1\}"),
        (Told([0, 1], (0, 1)), "1 workers replaced, 2 killed"),
        (Told([0, 1], (1, 1), "given up: lost"), "given up: lost"),
    ],
)
def test_a_gpu_that_is_spared_is_wrong(tmp_path: Path, told: Told, why: str) -> None:
    with pytest.raises(Wrong, match=why):
        Blows(cast(Service, told), PLANNED).check(tmp_path)
