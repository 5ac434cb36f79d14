"""CUDA graphs on the software device: a training whose steps are graphs gives what it gives without, to the last bit,
also when its worker is lost before, in and after the capture, and while a graph runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from toolkit.lockstep import Lockstep
from toolkit.service import Service, kill_at
from toolkit.workplace import Workplace

PROGRAM = Path(__file__).with_name("graph_steps.py")
STEPS = 5
POINTS = ("warm", "capturing", "captured", *["launched"] * STEPS)
Start = Callable[..., Lockstep]
#: What happens at a point: its name and how many of that name went by before.
Harm = Callable[[str, int], None]


def nothing(_point: str, _number: int) -> None:
    pass


def kill(service: Service) -> None:
    """The worker of GPU 0; the recovery may still be under way when the program goes on."""
    pid = service.worker_pid(0)
    assert pid
    os.kill(pid, signal.SIGKILL)


def lines(ranks: list[Lockstep], harm: Harm = nothing) -> list[str]:
    """What the ranks say of their steps."""
    said: list[str] = []
    for index, point in enumerate(POINTS):
        for rank in ranks:
            rank.tell()
        for rank in ranks:
            assert rank.answer() == point, rank.finish()
        harm(point, POINTS[:index].count(point))
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
    yield service, lambda what, kind, harm=nothing: lines([start(service, PROGRAM, what, kind, STEPS)], harm)


@pytest.mark.parametrize("what", ["step", "optimizer", "callables"])
def test_a_graph_gives_what_the_same_gives_without(
    what: str, one: tuple[Service, Callable[..., list[str]]]
) -> None:
    service, run = one
    expected = run(what, "eager")
    assert len(set(expected)) == STEPS
    assert run(what, "graph") == expected
    assert service.report() == []


#: Where the worker is lost.
PLACES = [("warm", 0), ("capturing", 0), ("captured", 0), ("launched", 0), ("launched", 3)]


@pytest.mark.parametrize("what", ["step", "optimizer", "callables"])
def test_a_worker_lost_at_every_point(what: str, one: tuple[Service, Callable[..., list[str]]]) -> None:
    """One after the other, in one program."""
    service, run = one
    expected = run(what, "eager")
    lost = 0

    def harm(point: str, number: int) -> None:
        nonlocal lost
        if (point, number) not in PLACES:
            return
        service.survived(lost)  # the one before
        kill(service)
        lost += 1

    assert run(what, "graph", harm) == expected
    assert lost == len(PLACES)
    service.survived(lost)
