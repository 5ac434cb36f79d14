"""A collective that waits for a living rank, and an abort that ends the wait: training goes on, with equal numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.job import ROOT
from toolkit.lockstep import Lockstep
from toolkit.service import Service
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

PROGRAM = ROOT / "tests" / "end_to_end" / "abort_steps.py"
STEPS, STUCK = 5, 2
Start = Callable[..., Lockstep]


def run(start: Start, service: Service, folder: Path, lost: tuple[int, ...]) -> list[list[str]]:
    """What both ranks say. lost: GPUs that lose their workers right after the abort, in its minibatch."""
    folder.mkdir()
    ranks = [start(service, PROGRAM, rank, folder / "store") for rank in range(2)]
    said = [[one.answer() for one in ranks]]
    for step in range(STEPS):
        for middle in (True, False):
            for one in ranks:
                one.tell()
            said.append([one.answer() for one in ranks])
            for gpu in lost if middle and step == STUCK else ():
                service.inject(control_pb2.Fault(kind="kill-worker"), gpu)
    for one in ranks:
        one.tell()
    assert [one.finish()[0] for one in ranks] == [0, 0]
    return said


@pytest.mark.parametrize("lost", [(0,), (1,)])
def test_the_minibatch_of_the_abort_is_replayed(workplace: Workplace, start: Start, lost: tuple[int, ...]) -> None:
    service = workplace.service(2)
    expected = run(start, service, workplace.folder / "calm", ())
    assert service.report() == []
    assert [one.count("") for one in expected] == [0] * (2 * STEPS + 1)
    assert run(start, service, workplace.folder / "lost", lost) == expected
    service.survived(len(lost))
