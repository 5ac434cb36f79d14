"""The fault matrix: five jobs, a worker lost at every kind of place, results identical to the last bit.

Every test asserts that its fault fired once and was recovered once: a fault that never fires shows nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from toolkit.job import Script
from toolkit.jobs import JOBS, OPS
from toolkit.record import Record, assert_identical
from toolkit.service import Service, attempts, kill_at, kill_at_op
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

Reference = Callable[[Script, str], list[Record]]
PHASES = ("forward", "backward", "collective", "optimizer", "boundary", "copy")
#: In the quick run: every phase once, every job at least once.
QUICK = {
    ("gpt", "backward"),
    ("gpt", "optimizer"),
    ("gpt", "collective"),
    ("cnn", "boundary"),
    ("cnn", "copy"),
    ("amp", "forward"),
    ("accumulate", "backward"),
    ("fsdp", "optimizer"),
}
#: What a job's gradients are summed with, and how many collectives of a minibatch come before the first one.
REDUCES = {
    "gpt": ("all_reduce", 0),
    "cnn": ("all_reduce", 2),
    "amp": ("all_reduce", 0),
    "accumulate": ("all_reduce", 0),
    "fsdp": ("reduce_scatter", 5),
}
RANDOM_OPS = 20
BOUNDARY = 2
GPU = 1


def matrix() -> list[Any]:
    cases = [(job, phase) for job in JOBS for phase in PHASES]
    return [pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow) for case in cases]


def run_with(workplace: Workplace, script: Script, *faults: control_pb2.Fault) -> tuple[Service, list[Record]]:
    """The job with these faults armed on GPU 1; each must fire."""
    service = workplace.service(script.ranks)
    for fault in faults:
        workplace.note(f"fault on GPU {GPU}: {str(fault).strip()}")
        service.inject(fault, GPU)
    return service, workplace.run(script, service).records


def assert_recovered(service: Service, count: int) -> None:
    """Each of the faults has fired, and each was recovered at once."""
    told = service.survived(count)
    assert len(service.injected()) == count, service.injected()
    assert {(one["gpu"], one["outcome"]) for one in told} == {(GPU, "recovered")}, told


@pytest.mark.parametrize(("job", "phase"), matrix())
def test_worker_lost_in_phase(job: str, phase: str, workplace: Workplace, reference: Reference) -> None:
    expected = reference(JOBS[job], "cuda")
    boundary = BOUNDARY if job != "amp" else 1  # its first step is skipped: fewer boundaries
    skip = REDUCES[job][1] if phase == "collective" else 0 if phase in ("boundary", "copy") else 5
    service, records = run_with(workplace, JOBS[job], kill_at(boundary, phase, skip))
    assert_recovered(service, 1)
    if phase == "collective":
        assert f"({REDUCES[job][0]})" in service.injected()[0]["detail"], service.injected()
    assert_identical(records, expected)


def test_pytorchs_entry_points_are_off(workplace: Workplace, reference: Reference) -> None:
    """Steps are boundaries all the same: the job goes back to the newest one."""
    expected = reference(JOBS["gpt"], "cuda")
    service = workplace.service(2)
    service.inject(kill_at(BOUNDARY, "backward", 5), GPU)
    job = workplace.job(JOBS["gpt"], service, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    records = job.finish().successful().records
    assert_recovered(service, 1)
    assert [one["boundary"] for one in service.report()] == [BOUNDARY]
    assert_identical(records, expected)


def random_cases() -> list[Any]:
    """Ops anywhere from the first to the last steps, the same in every run of the tests."""
    cases = []
    for number, (job, ops) in enumerate(OPS.items()):
        source = random.Random(number)
        cases += [(job, source.randrange(1, ops)) for _ in range(RANDOM_OPS)]
    quick = {cases[0], cases[RANDOM_OPS]}
    return [pytest.param(*case, marks=() if case in quick else pytest.mark.slow) for case in cases]


@pytest.mark.sampled
@pytest.mark.parametrize(("job", "op"), random_cases())
def test_worker_lost_at_op(job: str, op: int, workplace: Workplace, reference: Reference) -> None:
    expected = reference(JOBS[job], "cuda")
    service, records = run_with(workplace, JOBS[job], kill_at_op(op))
    assert_recovered(service, 1)
    assert_identical(records, expected)


@pytest.mark.sampled
@pytest.mark.parametrize("phase", ["backward", pytest.param("optimizer", marks=pytest.mark.slow)])
def test_sticky_error(phase: str, workplace: Workplace, reference: Reference) -> None:
    expected = reference(JOBS["gpt"], "cuda")
    service, records = run_with(workplace, JOBS["gpt"], kill_at(BOUNDARY, phase, 5, kind="sticky-error"))
    assert_recovered(service, 1)
    assert "sticky" in service.report()[0]["cause"]
    assert_identical(records, expected)


@pytest.mark.sampled
def test_two_faults_in_one_job(workplace: Workplace, reference: Reference) -> None:
    expected = reference(JOBS["gpt"], "cuda")
    faults = (kill_at(1, "backward", 3), kill_at(3, "optimizer", 3))
    service, records = run_with(workplace, JOBS["gpt"], *faults)
    assert_recovered(service, 2)
    assert_identical(records, expected)


def test_fault_that_always_returns_is_the_programs(workplace: Workplace) -> None:
    """The same op fails in every replay: the program gets the CUDA error, and the service goes on."""
    script = JOBS["gpt"]
    service = workplace.service(script.ranks)
    for _ in range(4):
        service.inject(kill_at_op(700, kind="sticky-error"), GPU)
    # PyTorch gives its other ranks a minute to write their dumps; nobody reads them here.
    result = workplace.job(script, service, TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC="500").finish()
    assert result.status != 0
    # Of PyTorch's threads the one that asks about the communicator may be first: "NCCL error: unhandled cuda error".
    assert "cuda error" in result.output.lower()
    report = service.report()
    others = sum("communicator-ended" in one["cause"] for one in report)  # its peer has ended
    assert attempts(report) - others == 3, "two replays, and no more"
    assert any(one["outcome"].startswith("the program's own error") for one in report), report
    workplace.run(script, service)  # nobody else is disturbed: the next job works
