"""`--shuffle`: whatever comes late, a program that relies on what CUDA promises gets the same; another one is found.

Each program runs without it, with several seeds, and with workers lost meanwhile.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.job import PRELOAD, Script
from toolkit.jobs import JOBS
from toolkit.record import Record, assert_identical
from toolkit.service import Service, kill_at
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
SEEDS = ("1", "2", "3")
PROMISED, LUCKY = (Path(__file__).with_name(name) for name in ("promised_steps.py", "lucky_steps.py"))
STEPS = 5
GPU = 1


def lines(service: Service, program: Path, *arguments: object) -> list[str]:
    """What the program prints."""
    command = [sys.executable, str(program), *map(str, arguments)]
    environment = service.env | {"LD_PRELOAD": str(PRELOAD)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_is_the_same_with_any_seed(seed: str, workplace: Workplace, reference: Reference) -> None:
    """Nothing that comes late is taken for a fault."""
    service = workplace.service(2, ("--shuffle", seed))
    assert_identical(workplace.run(JOBS["gpt"], service).records, reference(JOBS["gpt"], "cuda"))
    assert service.report() == []


@pytest.mark.parametrize(
    ("job", "phase"),
    [
        ("gpt", "backward"),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in (
            ("gpt", "optimizer"), ("cnn", "copy"), ("accumulate", "collective"), ("fsdp", "forward"),
            ("cnn", "boundary"),
        )),
    ],
)  # fmt: skip
def test_a_worker_is_lost_meanwhile(job: str, phase: str, workplace: Workplace, reference: Reference) -> None:
    service = workplace.service(2, ("--shuffle", "4"))
    service.inject(kill_at(2, phase), GPU)
    assert_identical(workplace.run(JOBS[job], service).records, reference(JOBS[job], "cuda"))
    service.survived(1)


@pytest.fixture(scope="module")
def promised(shared_workplace: Workplace) -> list[str]:
    """Without anything that comes late."""
    service = shared_workplace.service(1)
    return lines(service, PROMISED, STEPS)


def test_what_cuda_promises_holds(promised: list[str]) -> None:
    assert [line for line in promised if line.startswith("broken")] == []
    assert len(promised) == STEPS


@pytest.mark.parametrize("seed", SEEDS)
def test_what_cuda_promises_holds_with_any_seed(seed: str, workplace: Workplace, promised: list[str]) -> None:
    assert lines(workplace.service(1, ("--shuffle", seed)), PROMISED, STEPS) == promised


def test_what_cuda_promises_holds_though_workers_are_lost(workplace: Workplace, promised: list[str]) -> None:
    service = workplace.service(1, ("--shuffle", "5"))
    faults = [kill_at(1, "copy", 4), kill_at(2, "forward", 7), kill_at(3, "copy", 9), kill_at(4, "optimizer")]
    for fault in faults:
        service.inject(fault, 0)
    assert lines(service, PROMISED, STEPS) == promised
    service.survived(len(faults))


def test_a_program_that_counts_on_luck_is_found(workplace: Workplace) -> None:
    [said] = lines(workplace.service(1, ("--shuffle", "1")), LUCKY, 400)
    assert said != "wrong 0 times"
