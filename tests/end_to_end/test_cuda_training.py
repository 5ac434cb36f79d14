"""A training loop of kernels, graphs, cuBLAS and NCCL calls on the fake libraries: whatever fails, the same bytes.

The program is cuda_training.py; after each step it tells a hash of all its device memory. Every test asserts that
each fault fired and was recovered. Nothing here says anything about a real GPU; what the fakes are is in tests/fakes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from toolkit.fakes import fake_library, fake_system
from toolkit.job import ROOT
from toolkit.lockstep import Lockstep
from toolkit.service import Service, kill_at, kill_at_op
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

TRAINING = ROOT / "tests" / "end_to_end" / "cuda_training.py"
STEPS = 9
PHASES = ("forward", "backward", "optimizer", "boundary", "copy", "collective")
#: Ops that every run surely reaches.
OPS = {1: 330, 2: 340}
RANDOM_OPS = 20
#: Longer than anything here takes on a busy machine, shorter than a test's patience.
HANG_SECONDS = "4"
Start = Callable[..., Lockstep]
Hashes = list[list[str]]


def libraries() -> tuple[str, ...]:
    names = ("nccl", "cublas", "cublaslt")
    return tuple(word for name in names for word in (f"--{name}", str(fake_library(name))))


def serve(workplace: Workplace, environment: dict[str, str], *options: str, gpus: int = 2) -> Service:
    settings = environment | {"JITC_FAKE_FIXED_VARIABLES": "1"}
    return workplace.service(gpus, ("--device", "cuda", *libraries(), *options), **settings)


def begin(service: Service, start: Start, *gpus: int) -> list[Lockstep]:
    """A rank on each of the GPUs."""
    programs = [start(service, TRAINING, gpu, len(gpus), rank) for rank, gpu in enumerate(gpus)]
    if len(gpus) > 1:
        identity = programs[0].answer()
        for program in programs:
            program.tell(identity)
    return programs


def steps(programs: list[Lockstep], count: int = STEPS) -> Hashes:
    """The lines of all ranks, step by step."""
    lines = []
    for _ in range(count):
        for program in programs:
            program.tell()
        lines.append([program.answer() for program in programs])
    return lines


def finish(programs: list[Lockstep]) -> None:
    assert [program.finish() for program in programs] == [(0, "")] * len(programs)


@pytest.fixture(scope="module")
def expected(
    shared_workplace: Workplace, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[int], Hashes]]:
    """The lines of a run without a fault, by number of ranks."""
    environment = fake_system(tmp_path_factory.mktemp("driver"), shared_workplace.env, DEVICES="2")
    service = serve(shared_workplace, environment)
    known: dict[int, Hashes] = {}
    programs: list[Lockstep] = []

    def start(*arguments: Any) -> Lockstep:
        programs.append(Lockstep(*arguments))
        return programs[-1]

    def undisturbed(ranks: int) -> Hashes:
        if ranks not in known:
            known[ranks] = steps(begin(service, start, *range(ranks)))
            finish(programs[-ranks:])
        return known[ranks]

    yield undisturbed
    for program in programs:
        program.kill()


def causes(report: list[dict[str, Any]]) -> list[str]:
    assert all(one["outcome"] == "recovered" for one in report), report
    return [one["cause"] for one in report]


def test_a_step_changes_all_that_it_should(expected: Callable[[int], Hashes]) -> None:
    for ranks in (1, 2):
        lines = [line for step in expected(ranks) for line in step]
        assert len(set(lines)) == len(lines) == STEPS * ranks


class Run:
    """The training on a service, in which each step may have a fault on the GPU of the last rank."""

    def __init__(self, service: Service, start: Start, ranks: int) -> None:
        self.service, self.ranks = service, ranks
        self.programs = begin(service, start, *range(ranks))
        self.lines = steps(self.programs, 1)
        self.faults: list[str] = []

    def step(self, phase: str, kind: str = "kill-worker", recoveries: int = 1) -> None:
        """A step with the fault; returns when all is recovered."""
        service, before = self.service, len(self.service.report())
        service.inject(kill_at(len(self.lines), phase, kind=kind), self.ranks - 1)
        self.lines += steps(self.programs, 1)
        until(lambda: len(service.report()) >= before + recoveries, 60, f"the recovery of {kind} in {phase}")
        self.faults += [kind] * recoveries

    def finish(self, expected: Callable[[int], Hashes]) -> list[str]:
        """The causes of the recoveries; all results are those of a run without a fault."""
        self.lines += steps(self.programs, STEPS - len(self.lines))
        finish(self.programs)
        report = self.service.report()
        assert len(report) == len(self.faults), report
        assert self.lines == expected(self.ranks)
        return causes(report)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_worker_lost_in_every_phase(
    ranks: int, workplace: Workplace, environment: dict[str, str], start: Start, expected: Callable[[int], Hashes]
) -> None:
    job = Run(serve(workplace, environment), start, ranks)
    for phase in PHASES[: 4 + ranks]:
        job.step(phase)
    assert set(job.finish(expected)) == {"worker-death"}


def test_errors_of_the_device(
    workplace: Workplace, environment: dict[str, str], start: Start, expected: Callable[[int], Hashes]
) -> None:
    """An illegal access is a kernel's, and the driver's error 700."""
    job = Run(serve(workplace, environment), start, 1)
    job.step("forward", "illegal-access")
    job.step("optimizer", "illegal-access")
    job.step("backward", "sticky-error")
    job.step("forward", "xid")
    assert job.finish(expected) == ["sticky-error"] * 3 + ["xid"]
    messages = [one["message"] for one in job.service.report()]
    assert all("CUDA_ERROR_ILLEGAL_ADDRESS (700)" in message for message in messages[:2]), messages


def test_work_that_hangs(
    workplace: Workplace, environment: dict[str, str], start: Start, expected: Callable[[int], Hashes]
) -> None:
    """A rank that leaves a communicator costs no worker; a kernel that never ends costs its own."""
    service = serve(workplace, environment, "--hang-seconds", HANG_SECONDS)
    job = Run(service, start, 2)
    workers = [service.worker_pid(gpu) for gpu in range(2)]
    job.step("collective", "hung-collective")
    assert [service.worker_pid(gpu) for gpu in range(2)] == workers
    job.step("forward", "endless-kernel")
    now = [service.worker_pid(gpu) for gpu in range(2)]
    assert (now[0] == workers[0], now[1] == workers[1]) == (True, False)
    found = job.finish(expected)
    assert [cause.split(", ")[0] for cause in found] == ["hung-collective", "hung-kernel"]
