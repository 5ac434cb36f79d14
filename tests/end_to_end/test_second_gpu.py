"""A rank that uses another rank's GPU, on purpose or by accident: it shares the boundaries of its process there too.

The session that it has there is opened late, and nothing may happen in it; both GPUs lose their workers afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from toolkit.job import ROOT
from toolkit.lockstep import Lockstep
from toolkit.service import Service
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

PROGRAM = ROOT / "tests" / "end_to_end" / "second_gpu_steps.py"
STEPS, LOST = 9, {4: 0, 6: 1}  # before this step the worker of this GPU
QUICK = ("thread", "free")
MODES = ("main", "thread", "pin", "free", "load", "save")
Start = Callable[..., Lockstep]


def run(start: Start, service: Service, folder: Path, mode: str, lost: dict[int, int]) -> list[list[str]]:
    """What both ranks say after each step."""
    folder.mkdir()
    ranks = [start(service, PROGRAM, rank, folder, mode) for rank in range(2)]
    said = []
    for step in range(STEPS):
        if step in lost:
            service.inject(control_pb2.Fault(kind="kill-worker"), lost[step])
        for one in ranks:
            one.tell()
        said.append([one.answer() for one in ranks])
    if mode == "busy":
        ranks[1].close()
        said.append([ranks[1].answer()])
    assert [one.finish()[0] for one in ranks] == [0, 0]
    return said


@pytest.fixture(scope="module")
def service(shared_workplace: Workplace) -> Service:
    return shared_workplace.service(2)


@pytest.fixture(scope="module")
def expected(shared_workplace: Workplace, service: Service) -> Iterator[list[list[str]]]:
    """Without a second GPU, without a loss."""
    programs: list[Lockstep] = []

    def start(*arguments: object) -> Lockstep:
        programs.append(Lockstep(*arguments))  # type: ignore[arg-type]
        return programs[-1]

    try:
        yield run(start, service, shared_workplace.folder / "calm", "none", {})
    finally:
        for one in programs:
            one.kill()


@pytest.mark.parametrize("mode", [pytest.param(one, marks=[] if one in QUICK else pytest.mark.slow) for one in MODES])
def test_both_gpus_are_lost(
    service: Service, expected: list[list[str]], start: Start, tmp_path: Path, mode: str
) -> None:
    before = len(service.report())
    assert run(start, service, tmp_path / "job", mode, LOST) == expected
    until(lambda: len(service.report()) >= before + len(LOST), 30, "both losses are told of")
    outcomes = [one["outcome"] for one in service.report()[before:]]
    assert set(outcomes) == {"recovered"}, outcomes


def test_a_thread_computes_there_all_the_time(service: Service, start: Start, tmp_path: Path) -> None:
    """Each boundary has all that the thread has made until then, wherever it is."""
    calm = run(start, service, tmp_path / "calm", "busy", {})
    assert run(start, service, tmp_path / "struck", "busy", {3: 0, 4: 0, 5: 0, 7: 0}) == calm
