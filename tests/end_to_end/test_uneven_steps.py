"""Jobs whose ranks make different optimizer steps: each rank is lost, and results are those of a run without a loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.job import ROOT
from toolkit.lockstep import Lockstep
from toolkit.service import RECOVERY_SECONDS, Service
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

PROGRAM = ROOT / "tests" / "end_to_end" / "uneven_steps.py"
SHAPES = ("ahead", "uneven", "joined", "local", "pipeline", "server", "groups")
ITERATIONS = 12
#: Before this iteration a fault is armed: on this GPU, after so many ops.
LOSSES = {3: (1, 20), 6: (0, 25), 8: (1, 3), 10: (0, 12)}
Start = Callable[..., Lockstep]


@pytest.fixture(scope="module")
def service(shared_workplace: Workplace) -> Service:
    return shared_workplace.service(2)


def run(start: Start, service: Service, folder: Path, shape: str, losses: dict[int, tuple[int, int]]) -> list[str]:
    """The hashes of both ranks. A fault has fired when the iteration after it is over."""
    folder.mkdir()
    ranks = [start(service, PROGRAM, rank, folder, shape) for rank in range(2)]
    for number in range(ITERATIONS):
        before = len(service.report())
        if number in losses:
            gpu, operations = losses[number]
            service.inject(control_pb2.Fault(kind="kill-worker", operations=operations), gpu)
        for one in ranks:
            one.tell()
        assert [one.answer() for one in ranks] == [str(number)] * 2
        if number in losses:
            until(lambda before=before: len(service.report()) > before, RECOVERY_SECONDS, "the rank is recovered")
    for one in ranks:
        one.close()
    hashes = [one.answer() for one in ranks]
    assert [one.finish()[0] for one in ranks] == [0, 0]
    return hashes


@pytest.mark.parametrize("shape", SHAPES)
def test_each_rank_is_lost(service: Service, start: Start, tmp_path: Path, shape: str) -> None:
    calm = run(start, service, tmp_path / "calm", shape, {})
    before = len(service.report())
    assert run(start, service, tmp_path / "struck", shape, LOSSES) == calm
    outcomes = [one["outcome"] for one in service.report()[before:]]
    assert outcomes == ["recovered"] * len(LOSSES)
    assert not service.divergences()
