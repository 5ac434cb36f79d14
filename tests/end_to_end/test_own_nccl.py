"""Programs that load NCCL by its path and call it themselves: served, and recovered like any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.job import ROOT
from toolkit.lockstep import Lockstep, all_steps
from toolkit.service import Service
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

PROGRAM = ROOT / "tests" / "end_to_end" / "own_nccl_steps.py"
STEPS, LOST = 8, {3: 0, 5: 1}  # before this step the worker of this GPU
Start = Callable[..., Lockstep]


def run(start: Start, service: Service, folder: Path, mode: str, lost: dict[int, int]) -> list[list[str]]:
    """What both ranks say after each step."""
    folder.mkdir()
    ranks = [start(service, PROGRAM, rank, folder, mode) for rank in range(2)]
    said = []
    for step in range(STEPS):
        if step in lost:
            service.inject(control_pb2.Fault(kind="kill-worker"), lost[step])
        said += all_steps(ranks, 1)
    ends = [one.finish() for one in ranks]
    assert [status for status, _ in ends] == [0, 0], ends
    return said


@pytest.mark.parametrize("mode", ["train", "serve"])
def test_workers_are_lost(workplace: Workplace, start: Start, tmp_path: Path, mode: str) -> None:
    service = workplace.service(2)
    calm = run(start, service, tmp_path / "calm", mode, {})
    assert len({line for step in calm for line in step}) >= STEPS  # each step changes what is held
    assert run(start, service, tmp_path / "struck", mode, LOST) == calm
    service.survived(len(LOST))
