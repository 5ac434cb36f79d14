"""Programs in a PID namespace of their own, as in a container: neither they nor the service see the other's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from toolkit.job import PRELOAD, Script
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.peer_mode import PacedJob
from toolkit.record import Record, assert_identical
from toolkit.sandbox import pid_namespace
from toolkit.service import Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
PINNED = Path(__file__).with_name("pinned_steps.py")
STEPS = 80


@pytest.fixture
def apart() -> tuple[str, ...]:
    words = pid_namespace()
    if not words:
        pytest.skip("no namespace of processes can be made here")
    return words


def sessions(service: Service) -> int:
    return sum(len(gpu["sessions"]) for gpu in service.status()["gpus"])


def test_workers_and_services_die(apart: tuple[str, ...], workplace: Workplace, reference: Reference) -> None:
    """A worker, then the service, then both: the job is identical."""
    script = replace(JOBS["gpt"].with_arguments("--steps", str(STEPS)), around=PACED)
    service = workplace.service(2)
    service.inject(kill_at(2, "backward"), 1)
    running = PacedJob(workplace, script, service, apart)
    running.go_to(4)
    service.survived(1)
    service.kill()
    running.go_to(6)
    service.restart()
    running.go_to(9)
    worker = service.worker_pid(0)
    assert worker is not None
    service.kill()
    running.grant(12)
    os.kill(worker, signal.SIGKILL)
    service.restart()
    assert [one["outcome"] for one in service.survived(2)] == ["recovered"] * 2
    running.let_go()
    assert_identical(running.job.finish().successful().records, reference(script, "cuda"))
    until(lambda: sessions(service) == 0, 30, "its sessions have ended")


@pytest.mark.sampled
@pytest.mark.parametrize("there", ["with the service", "without the service"])
def test_a_killed_job_leaves_nothing(there: str, apart: tuple[str, ...], workplace: Workplace) -> None:
    """Nobody says good-bye: the kernel closes what the processes had open."""
    service = workplace.service(2)
    script = replace(JOBS["gpt"].with_arguments("--steps", str(STEPS)), around=PACED)
    running = PacedJob(workplace, script, service, apart)
    running.go_to(2)
    assert sessions(service) == 2
    if there == "without the service":
        service.kill()
    running.job.process.kill()  # which ends the namespace, and all that is in it
    if there == "without the service":
        until(lambda: not Path(f"{service.socket}.d").exists(), 30, "the keeper has ended, and removed what was there")
        service.restart()
    until(lambda: sessions(service) == 0, 30, "its sessions have ended")
    assert [gpu["memory_used"] for gpu in service.status()["gpus"]] == [0, 0]


@pytest.mark.sampled
def test_pinned_memory_is_shared(apart: tuple[str, ...], workplace: Workplace) -> None:
    """And holds the same as without a namespace, whatever is lost."""
    service = workplace.service(1)
    env = service.env | {"LD_PRELOAD": str(PRELOAD)}

    def lines(*before: str) -> list[str]:
        command = [*before, sys.executable, str(PINNED), "6"]
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    expected = lines()
    assert expected[-1] == "shared"
    faults = [kill_at(1, "copy"), kill_at(3, "copy", 1), kill_at(4, "optimizer")]
    for fault in faults:
        service.inject(fault, 0)
    assert lines(*apart) == expected
    service.survived(len(faults))
