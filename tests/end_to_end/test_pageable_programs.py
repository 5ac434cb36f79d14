"""Pageable memory, which passes through a ring that the worker shares: the same results as through the socket, at
every fault, and the journal keeps no copy of what the program saves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from toolkit.job import PRELOAD
from toolkit.service import Service, kill_at
from toolkit.workplace import Workplace

PROGRAM = Path(__file__).with_name("pageable_steps.py")
STEPS = 5


def environment(service: Service) -> dict[str, str]:
    return service.env | {"LD_PRELOAD": str(PRELOAD)}


def run(service: Service, *arguments: str, seconds: float = 200) -> subprocess.CompletedProcess[str]:
    """Python with these arguments, to its end, which is a good one."""
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, env=environment(service), capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def lines(service: Service) -> list[str]:
    return run(service, str(PROGRAM), str(STEPS)).stdout.splitlines()


@pytest.fixture
def expected(workplace: Workplace) -> list[str]:
    """Without sharing: every byte travels through the socket."""
    service = workplace.service(1, ("--pinned-limit", "0"))
    without = lines(service)
    assert without[-1] == "not shared" and len(without) == 2 * STEPS + 1
    service.stop()
    return without[:-1]


def test_results_are_the_same_and_stay_so_under_kills(workplace: Workplace, expected: list[str]) -> None:
    service = workplace.service(1)
    assert lines(service) == [*expected, "shared"]
    survived = 0
    for first in (0, 9):  # each minibatch has some twenty copies
        faults = [kill_at(boundary, "copy", first + boundary) for boundary in range(1, STEPS)]
        for fault in faults:
            service.inject(fault, 0)
        assert lines(service) == [*expected, "shared"]
        survived += len(faults)
        service.survived(survived)


@pytest.mark.sampled
def test_a_ring_of_one_slot_is_enough(workplace: Workplace, expected: list[str]) -> None:
    service = workplace.service(1, ("--pinned-limit", "8MiB"))
    service.inject(kill_at(2, "copy", 3), 0)
    assert lines(service) == [*expected, "shared"]
    service.survived(1)


SAVING = """
import hashlib, torch
weight = torch.nn.Parameter(torch.arange(10 << 20, dtype=torch.float32, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.1)
weight.grad = torch.ones_like(weight)
optimizer.step()
for _ in range(4):
    print(hashlib.sha256(weight.detach().cpu().numpy().tobytes()).hexdigest(), flush=True)
input()
"""


@pytest.mark.sampled
def test_what_the_program_saves_does_not_fill_the_journal(workplace: Workplace) -> None:
    """160 MiB come back in one minibatch: the journal has 16 bytes of each, and a fault after them is survived."""
    service = workplace.service(1)
    command = [sys.executable, "-c", SAVING]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    service.inject(kill_at(1, "", 150), 0)  # among the last copies
    with subprocess.Popen(command, env=environment(service), **pipes) as program:  # type: ignore[call-overload]
        assert len({program.stdout.readline() for _ in range(4)}) == 1
        (session,) = service.status()["gpus"][0]["sessions"]
        assert session["journal_bytes"] < 1 << 20
        program.communicate("\n", timeout=60)
    assert program.returncode == 0
    service.survived(1)


LARGE = """
import torch
weight = torch.nn.Parameter(torch.zeros(256 << 20, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(2):
    weight.grad = torch.ones_like(weight)
    optimizer.step()
    for _ in range(10):
        torch.save({"weight": weight}, "/dev/null")
        print(step, weight[5].item(), flush=True)
"""


@pytest.mark.slow
def test_ten_gib_saved_in_a_minibatch_leave_it_protected(workplace: Workplace) -> None:
    service = workplace.service(1)
    service.inject(kill_at(1, "", 5000), 0)  # a copy has 1,024 pieces
    done = run(service, "-c", LARGE, seconds=280)
    assert "cannot be recovered" not in done.stderr, done.stderr
    assert len(done.stdout.splitlines()) == 20 and len({line.split()[1] for line in done.stdout.splitlines()}) == 2
    service.survived(1)
