"""Programs whose optimizer steps come from several threads lose workers, and results are those without a loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.job import ROOT
from toolkit.kills import Killer
from toolkit.lockstep import Lockstep
from toolkit.peer_mode import PEERS, boundary_of, compared
from toolkit.service import RECOVERY_SECONDS, Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

PROGRAM = ROOT / "tests" / "end_to_end" / "threaded_steps.py"
RANKS = ROOT / "tests" / "end_to_end" / "threaded_ranks.py"
ON_ONE_GPU = ("streams", "stream", "overlap", "backward", "engine", "copier", "turns")
ON_TWO_GPUS = ("gpus", "gpus-overlap")
ALL = ON_ONE_GPU + ON_TWO_GPUS
ITERATIONS = 5
#: Before this iteration a fault is armed: after so many ops. Iterations have a hundred on each GPU.
LOSSES = {1: 5, 2: 47, 3: 61, 4: 23}
#: Workers that kill -9 ends, one after the other.
KILLS = 4
KILLED_QUICK = ("overlap", "engine", "gpus-overlap")
Start = Callable[..., Lockstep]


@pytest.fixture(scope="module")
def service(shared_workplace: Workplace) -> Service:
    return shared_workplace.service(2)


def until_told(service: Service, count: int) -> None:
    until(lambda: len(service.report()) >= count, RECOVERY_SECONDS, "the loss is told of")


def result(program: Lockstep) -> str:
    """A hash of what the program has at its end."""
    program.close()
    found = program.answer()
    status, errors = program.finish()
    assert status == 0, errors
    return found


def iterate(program: Lockstep, number: int) -> None:
    assert program.step() == str(number), program.finish()


def run(start: Start, service: Service, shape: str, losses: dict[int, int], gpus: int = 1) -> str:
    program = start(service, PROGRAM, shape)
    for number in range(ITERATIONS):
        with service.losing((number % gpus, losses[number]) if number in losses else None):
            iterate(program, number)
    return result(program)


@pytest.mark.sampled
@pytest.mark.parametrize("shape", ALL)
def test_workers_are_lost(service: Service, start: Start, shape: str) -> None:
    calm = run(start, service, shape, {})
    before = len(service.report())
    assert run(start, service, shape, LOSSES, 1 + (shape in ON_TWO_GPUS)) == calm
    assert [one["outcome"] for one in service.report()[before:]] == ["recovered"] * len(LOSSES)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "shape", [pytest.param(one, marks=() if one in KILLED_QUICK else pytest.mark.slow) for one in ALL]
)
def test_workers_are_killed_at_any_time(service: Service, start: Start, shape: str) -> None:
    gpus = tuple(number % (1 + (shape in ON_TWO_GPUS)) for number in range(KILLS))
    before = len(service.report())
    struck, made = start(service, PROGRAM, shape), 0
    with Killer(service, gpus, ALL.index(shape)) as killer:
        for made in killer.rounds():
            iterate(struck, made)
    found = result(struck)
    assert [one["outcome"] for one in service.report()[before:]] == ["recovered"] * KILLS
    calm = start(service, PROGRAM, shape)
    for number in range(made + 1):
        iterate(calm, number)
    assert found == result(calm)


class Job:
    """Two ranks, in lockstep. They make steps of which one thread makes all until peers are relied on."""

    MOST_EVEN = 100

    def __init__(self, start: Start, service: Service, folder: Path) -> None:
        folder.mkdir()
        self.service, self.made = service, 0
        self._ranks = [start(service, RANKS, rank, folder) for rank in range(2)]

    def iterate(self, line: str = "even") -> None:
        for one in self._ranks:
            one.tell(line)
        assert [one.answer() for one in self._ranks] == [str(self.made)] * 2
        self.made += 1

    def until_peers_are_relied_on(self) -> None:
        while PEERS not in self.service.said():
            assert self.made < self.MOST_EVEN, self.service.said()
            self.iterate()
            until(lambda: PEERS in self.service.said() or compared(self.service), RECOVERY_SECONDS, "it is looked at")

    def finish(self) -> tuple[list[str], str]:
        """The hashes of what they have, and what they wrote on standard error."""
        for one in self._ranks:
            one.close()
        hashes, said = [one.answer() for one in self._ranks], ""
        for one in self._ranks:
            status, errors = one.finish()
            assert status == 0, errors
            said += errors
        return hashes, said


@pytest.mark.sampled
@pytest.mark.parametrize("line", ["feeds", "steps"])
def test_a_thread_takes_part_once_peers_are_relied_on(
    workplace: Workplace, start: Start, tmp_path: Path, line: str
) -> None:
    """A lost rank is not taken past a step of which its peers know as little what it did there: all ranks go back."""
    service = workplace.service(2)
    struck = Job(start, service, tmp_path / "struck")
    struck.until_peers_are_relied_on()
    even = struck.made
    service.inject(kill_at(boundary_of(service), "optimizer", 8), 1)
    for _ in range(3):
        struck.iterate(line)
    until_told(service, 1)
    found, said = struck.finish()
    assert [one["outcome"] for one in service.report()] == ["recovered"]
    assert "other threads of this program make steps, too" in said
    calm = Job(start, service, tmp_path / "calm")
    for number in range(even + 3):
        calm.iterate("even" if number < even else line)
    assert found == calm.finish()[0]
    assert not service.divergences()
