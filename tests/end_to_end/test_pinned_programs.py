"""Memory shared with the worker, in PyTorch programs that copy pinned and pageable memory: the same results with and
without it, and with faults."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from toolkit.job import PRELOAD
from toolkit.service import Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

PROGRAM = Path(__file__).with_name("pinned_steps.py")
STEPS = 6


def start(service: Service, steps: int = STEPS) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAM), str(steps)]
    env = service.env | {"LD_PRELOAD": str(PRELOAD)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def lines(service: Service) -> list[str]:
    with start(service) as program:
        output, errors = program.communicate(timeout=120)
        assert program.returncode == 0, errors
        return output.splitlines()


@pytest.fixture
def expected(workplace: Workplace) -> list[str]:
    """Without sharing: every byte travels through the socket."""
    service = workplace.service(1, ("--pinned-limit", "0"))
    without = lines(service)
    assert without[-1] == "not shared" and len(without) == STEPS + 1
    service.stop()
    return without[:-1]


def test_results_are_the_same_and_stay_so_under_kills(workplace: Workplace, expected: list[str]) -> None:
    service = workplace.service(1)
    assert lines(service) == [*expected, "shared"]
    faults = [kill_at(1, "copy"), kill_at(2, "forward", 3), kill_at(3, "copy", 1), kill_at(4, "optimizer")]
    for fault in faults:
        service.inject(fault, 0)
    assert lines(service) == [*expected, "shared"]
    service.survived(len(faults))


@pytest.mark.sampled
def test_what_does_not_fit_goes_through_the_socket(workplace: Workplace, expected: list[str]) -> None:
    service = workplace.service(1, ("--pinned-limit", "1MiB"))
    service.inject(kill_at(2, "copy"), 0)
    with start(service) as program:
        output, errors = program.communicate(timeout=120)
    assert program.returncode == 0
    assert output.splitlines()[:-1] == expected
    assert "--pinned-limit" in errors
    service.survived(1)


def pinned_bytes(service: Service) -> int:
    """Taken by all pinned memory that the service holds."""
    folder = Path(f"/proc/{service.process.pid}/fd")
    held = [one for one in folder.iterdir() if "memfd:jitc-pinned" in os.readlink(one)]
    return sum(os.stat(one).st_blocks * 512 for one in held)


@pytest.mark.sampled
def test_a_killed_program_leaves_nothing(workplace: Workplace) -> None:
    service = workplace.service(1)
    with start(service, 1000) as program:
        assert program.stdout is not None
        program.stdout.readline()
        assert pinned_bytes(service) > 1 << 20
        program.send_signal(signal.SIGKILL)
        program.communicate(timeout=30)
    until(lambda: pinned_bytes(service) == 0, 30, "the pinned memory is given back")
    assert lines(service)[-1] == "shared"  # and the next program has its own
