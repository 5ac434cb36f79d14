"""PyTorch's expandable segments: memory mapped by hand, with and without faults, the same as without them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from toolkit.job import PRELOAD, Script
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.peer_mode import PEERS, PacedJob
from toolkit.record import Record, assert_identical
from toolkit.service import Service, kill_at
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
PROGRAM = Path(__file__).with_name("expandable_steps.py")
STEPS = 5
LONG_STEPS = 80
LIMIT = ("--memory-limit", "256MiB")
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
GPU = 1


def lines(service: Service, **env: str) -> list[str]:
    """What the program prints."""
    command = [sys.executable, str(PROGRAM), str(STEPS)]
    environment = service.env | {"LD_PRELOAD": str(PRELOAD)} | env
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.sampled
def test_memory_that_comes_and_goes(workplace: Workplace) -> None:
    """One program, lost four times, while it maps, unmaps and runs out of memory."""
    service = workplace.service(1, LIMIT)
    *expected, kind = lines(service)
    assert (len(expected), kind) == (STEPS, "not expandable")
    faults = [kill_at(1, "forward", 3), kill_at(2, "backward", 3), kill_at(3, "optimizer", 1), kill_at(4, "boundary")]
    for fault in faults:
        service.inject(fault, 0)
    assert lines(service, **EXPANDABLE) == [*expected, "expandable"]
    service.survived(len(faults))


#: One in the quick run.
CASES = [
    ("gpt", "backward"),
    ("gpt", "forward"),
    ("gpt", "optimizer"),
    ("gpt", "boundary"),
    ("cnn", "backward"),
    ("fsdp", "optimizer"),
]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("job", "phase"), [CASES[0], *(pytest.param(*case, marks=pytest.mark.slow) for case in CASES[1:])]
)
def test_a_job(job: str, phase: str, workplace: Workplace, reference: Reference) -> None:
    """The reference has no expandable segments and no fault."""
    expected = reference(JOBS[job], "cuda")
    service = workplace.service(2)
    service.inject(kill_at(2, phase, 0 if phase == "boundary" else 5), GPU)
    records = workplace.job(JOBS[job], service, **EXPANDABLE).finish().successful().records
    service.survived(1)
    assert_identical(records, expected)


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["backward", "optimizer"])
def test_a_job_whose_state_comes_from_a_peer(phase: str, workplace: Workplace, reference: Reference) -> None:
    script = replace(JOBS["gpt"].with_arguments("--steps", str(LONG_STEPS)), around=PACED)
    expected = reference(script, "cuda")
    service = workplace.service(2)
    running = PacedJob(workplace, script, service, **EXPANDABLE)
    running.kill_once_settled(PEERS, phase)
    records = running.job.finish().successful().records
    [found] = service.survived(1)
    assert found["bytes_restored"] > 0
    assert_identical(records, expected)
