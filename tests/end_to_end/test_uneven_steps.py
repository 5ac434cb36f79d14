"""Jobs whose ranks make different optimizer steps: each rank is lost, and results are those of a run without a loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toolkit.job import ROOT
from toolkit.kills import Killer
from toolkit.lockstep import Lockstep
from toolkit.peer_mode import PEERS, compared
from toolkit.service import RECOVERY_SECONDS, Service
from toolkit.waiting import until
from toolkit.workplace import Workplace

PROGRAM = ROOT / "tests" / "end_to_end" / "uneven_steps.py"
SHAPES = ("ahead", "uneven", "joined", "local", "pipeline", "server", "groups")
ITERATIONS = 12
#: Before this iteration a fault is armed: on this GPU, after so many ops.
LOSSES = {3: (1, 20), 6: (0, 25), 8: (1, 3), 10: (0, 12)}
#: Boundaries of a rank that are made again at most: those of two iterations, of which none has more than four.
GONE_BACK = 8
#: Even steps in which the service has come to rely on peers.
MOST_EVEN = 100
#: By kill -9, one after the other: the workers of these GPUs.
KILLED = (1, 0, 0, 1)
KILLED_QUICK = ("uneven", "pipeline", "server")
SLOW = ((0, 12), (0, 30), (1, 2), (1, 30))
Start = Callable[..., Lockstep]


@pytest.fixture(scope="module")
def service(shared_workplace: Workplace) -> Service:
    return shared_workplace.service(2)


class Ranks:
    """Both ranks of a job, in lockstep."""

    def __init__(self, start: Start, service: Service, folder: Path, shape: str) -> None:
        folder.mkdir()
        self.service, self.made = service, 0
        self._ranks = [start(service, PROGRAM, rank, folder, shape) for rank in range(2)]

    def iterate(self, line: str = "", loss: tuple[int, int] | None = None) -> None:
        """loss: as of losing()."""
        with self.service.losing(loss):
            for one in self._ranks:
                one.tell(line)
            assert [one.answer() for one in self._ranks] == [str(self.made)] * 2
            self.made += 1

    def finish(self) -> list[str]:
        """The hashes of what they have."""
        for one in self._ranks:
            one.close()
        hashes = [one.answer() for one in self._ranks]
        self.said = ""
        for one in self._ranks:
            status, errors = one.finish()
            assert status == 0, errors
            self.said += errors
        return hashes


def run(start: Start, service: Service, folder: Path, shape: str, losses: dict[int, tuple[int, int]]) -> list[str]:
    ranks = Ranks(start, service, folder, shape)
    for number in range(ITERATIONS):
        ranks.iterate(loss=losses.get(number))
    return ranks.finish()


def gone_back(report: dict[str, Any]) -> list[int]:
    """Boundaries of each rank that were made again."""
    decided = {one["session"]: one["boundary"] for one in report["boundaries"]}
    return [one["prepared"] - decided[one["session"]] for one in report["standings"]]


@pytest.mark.sampled
@pytest.mark.parametrize("shape", SHAPES)
def test_each_rank_is_lost(service: Service, start: Start, tmp_path: Path, shape: str) -> None:
    calm = run(start, service, tmp_path / "calm", shape, {})
    before = len(service.report())
    assert run(start, service, tmp_path / "struck", shape, LOSSES) == calm
    reports = service.report()[before:]
    assert [one["outcome"] for one in reports] == ["recovered"] * len(LOSSES)
    # However few steps a rank makes: each goes back by some of its boundaries, not to its start.
    assert max(max(gone_back(one)) for one in reports) <= GONE_BACK, reports
    assert not service.divergences()


@pytest.mark.sampled
@pytest.mark.parametrize(
    "shape", [pytest.param(one, marks=() if one in KILLED_QUICK else pytest.mark.slow) for one in SHAPES]
)
def test_each_rank_is_killed_at_any_time(service: Service, start: Start, tmp_path: Path, shape: str) -> None:
    before = len(service.report())
    struck = Ranks(start, service, tmp_path / "struck", shape)
    with Killer(service, KILLED, SHAPES.index(shape)) as killer:
        for _ in killer.rounds():
            struck.iterate()
    found = struck.finish()
    assert [one["outcome"] for one in service.report()[before:]] == ["recovered"] * len(KILLED)
    calm = Ranks(start, service, tmp_path / "calm", shape)
    for _ in range(struck.made):
        calm.iterate()
    assert found == calm.finish()
    assert not service.divergences()


@pytest.mark.sampled
@pytest.mark.parametrize(
    "loss", [(0, 2), (1, 12), *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW)], ids=str
)
def test_steps_become_uneven_when_peers_are_relied_on(
    workplace: Workplace, start: Start, tmp_path: Path, loss: tuple[int, int]
) -> None:
    """A rank that makes no step is found out by its collectives: its peers do not wait for it, and keep copies."""
    service = workplace.service(2, ("--reserve-budget", "0"))
    struck = Ranks(start, service, tmp_path / "struck", "late")
    while PEERS not in service.said():
        assert struck.made < MOST_EVEN, service.said()
        struck.iterate("even")
        until(lambda: PEERS in service.said() or compared(service), RECOVERY_SECONDS, "the service has looked at it")
    even = struck.made
    struck.iterate(loss=loss)
    struck.iterate()
    struck.iterate(loss=(1 - loss[0], 8))
    found = struck.finish()
    assert "make different optimizer steps" in struck.said and "did not reach this optimizer step" not in struck.said
    assert [one["outcome"] for one in service.report()] == ["recovered"] * 2
    calm = Ranks(start, service, tmp_path / "calm", "late")
    for number in range(even + 3):
        calm.iterate("even" if number < even else "")
    assert found == calm.finish()
    assert not service.divergences()
