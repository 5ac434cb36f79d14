"""CUDA graphs on the software device: a training whose steps are graphs gives what it gives without, to the last bit,
also when its worker is lost before, in and after the capture, and while a graph runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from toolkit.forge_client import run_python
from toolkit.job import PRELOAD
from toolkit.lockstep import Lockstep
from toolkit.service import Service, kill_at
from toolkit.workplace import Workplace

PROGRAM, CAPTURES = (Path(__file__).with_name(name) for name in ("graph_steps.py", "graph_captures.py"))
STEPS = 5
WARM_UP = 11  # steps of the two ranks before the capture
POINTS = ("warm", "capturing", "captured", *["launched"] * STEPS)
Start = Callable[..., Lockstep]
#: What happens at a point: its name and how many of that name went by before.
Action = Callable[[str, int], None]


def nothing(_point: str, _number: int) -> None:
    pass


def kill(service: Service) -> None:
    """The worker of GPU 0; the recovery may still be under way when the program goes on."""
    pid = service.worker_pid(0)
    assert pid
    os.kill(pid, signal.SIGKILL)


def lines(ranks: list[Lockstep], act: Action = nothing) -> list[str]:
    """What the ranks say of their steps."""
    said: list[str] = []
    for index, point in enumerate(POINTS):
        for rank in ranks:
            rank.tell()
        for rank in ranks:
            assert rank.answer() == point, rank.finish()
        act(point, POINTS[:index].count(point))
        if point == "launched":
            said += [rank.answer() for rank in ranks]
    for rank in ranks:
        status, errors = rank.finish()
        assert status == 0, errors
    return said


@pytest.fixture
def one(workplace: Workplace, start: Start) -> Iterator[tuple[Service, Callable[..., list[str]]]]:
    """A service, and a program on it: what is captured, whether it is, what happens to it."""
    service = workplace.service(1)
    yield service, lambda what, kind, act=nothing: lines([start(service, PROGRAM, what, kind, STEPS)], act)


@pytest.mark.sampled
@pytest.mark.parametrize("what", ["step", "optimizer", "callables"])
def test_a_graph_gives_what_the_same_gives_without(what: str, one: tuple[Service, Callable[..., list[str]]]) -> None:
    service, run = one
    expected = run(what, "eager")
    assert len(set(expected)) == STEPS
    assert run(what, "graph") == expected
    assert service.report() == []


#: Where the worker is lost.
PLACES = [("warm", 0), ("capturing", 0), ("captured", 0), ("launched", 0), ("launched", 3)]


@pytest.mark.sampled
@pytest.mark.parametrize("what", ["step", "optimizer", "callables"])
def test_a_worker_lost_at_every_point(what: str, one: tuple[Service, Callable[..., list[str]]]) -> None:
    """One after the other, in one program."""
    service, run = one
    expected = run(what, "eager")
    lost = 0

    def act(point: str, number: int) -> None:
        nonlocal lost
        if (point, number) not in PLACES:
            return
        service.survived(lost)  # the one before
        kill(service)
        lost += 1

    assert run(what, "graph", act) == expected
    assert lost == len(PLACES)
    service.survived(lost)


def test_two_ranks_with_a_worker_lost_in_the_graphs_all_reduce(workplace: Workplace, start: Start) -> None:
    service = workplace.service(2)

    def run(kind: str, act: Action = nothing) -> list[str]:
        meeting = workplace.folder / f"meeting-{kind}"
        ranks = [start(service, PROGRAM, "data", kind, STEPS, rank, meeting) for rank in range(2)]
        said = lines(ranks, act)
        meeting.unlink(missing_ok=True)
        return said

    expected = run("eager")
    weights = [line.split()[2] for line in expected]
    assert weights[0::2] == weights[1::2] and len(set(expected)) == 2 * STEPS
    assert run("graph") == expected
    assert service.report() == []

    def act(point: str, number: int) -> None:
        if (point, number) == ("warm", 0):
            service.inject(kill_at(WARM_UP + 1, "collective"), 1)  # in the second launch
        if (point, number) in (("capturing", 0), ("launched", 3)):
            kill(service)
            service.survived(1 if point == "capturing" else 3)

    assert run("graph", act) == expected
    service.survived(3)


def said(service: Service, function: str) -> tuple[list[str], str]:
    """What a function of graph_captures.py prints, and what is on standard error."""
    done = run_python([str(CAPTURES), function], service.env | {"LD_PRELOAD": str(PRELOAD)}, 120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def test_captures_of_programs(workplace: Workplace) -> None:
    service = workplace.service(1)
    assert said(service, "first_calls")[0] == [str([True] * 4)]
    assert said(service, "random")[0] == [str([True] * 6), "6"]
    assert said(service, "compiled")[0] == [str([True] * 4)]
    (both, after), errors = said(service, "refused")
    assert "operation not permitted when stream is capturing" in both
    assert "operation failed due to a previous error during capture" in both
    assert "jitc: while a CUDA graph is captured: the process cannot wait for what an operator computes" in errors
    assert after == str([1.0, 2.0, 1.0, 3.0])
    assert service.report() == []
