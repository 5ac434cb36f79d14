"""Ranks that do not fit on one GPU together take turns at it, on the fake libraries: whatever fails, the same bytes.

The program is cuda_training.py, as in test_cuda_training.py. Nothing here says anything about a real GPU.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from toolkit.fakes import fake_options
from toolkit.job import ROOT
from toolkit.lockstep import Lockstep, all_steps, begin_ranks, finish_all
from toolkit.service import RECOVERY_SECONDS, Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

TRAINING = ROOT / "tests" / "end_to_end" / "cuda_training.py"
#: Boundaries at each step, and NVIDIA's libraries.
OPTIONS = ("--device", "cuda", "--boundary-budget", "0", *fake_options("nccl", "cublas", "cublaslt", "nvrtc"))
STEPS = 12
#: Of a GPU. Each rank has one unit of 2 MiB: two do not fit.
GPU_BYTES = 3 << 20
Start = Callable[..., Lockstep]
Hashes = list[list[str]]


def begin(service: Service, start: Start) -> list[Lockstep]:
    """A rank on each of two GPUs."""
    return begin_ranks([start(service, TRAINING, rank, 2, rank) for rank in range(2)])


def sessions(service: Service) -> list[dict[str, Any]]:
    return [one for gpu in service.status()["gpus"] for one in gpu["sessions"]]


@pytest.fixture
def settings(environment: dict[str, str]) -> dict[str, str]:
    return environment | {"JITC_FAKE_VARIABLES": "fixed"}


@pytest.fixture
def expected(workplace: Workplace, settings: dict[str, str], start: Start) -> Hashes:
    """The lines of a run without a fault."""
    programs = begin(workplace.service(2, OPTIONS, **settings), start)
    lines = all_steps(programs, STEPS)
    finish_all(programs)
    return lines


@pytest.mark.parametrize("out", [True, False])
def test_ranks_take_turns(
    out: bool, expected: Hashes, workplace: Workplace, settings: dict[str, str], start: Start
) -> None:
    """Through the loss of a GPU, and of a worker: whose memory is elsewhere, or who has the turn."""
    service = workplace.service(2, OPTIONS, **settings | {"JITC_FAKE_MEMORY": str(GPU_BYTES)})
    service.inject(kill_at(2, "backward", 1, kind="lose-gpu"), 1)
    programs = begin(service, start)
    got = all_steps(programs, STEPS // 2)
    until(lambda: service.report() or None, RECOVERY_SECONDS, "rank 1 is recovered")
    assert all(one["turns"]["moved_out"] > 0 for one in sessions(service)), sessions(service)
    (chosen,) = (one for one in sessions(service) if one["turns"]["waits"] is out)
    os.kill(chosen["worker_pid"], signal.SIGKILL)
    got += all_steps(programs, STEPS - STEPS // 2)
    finish_all(programs)
    assert got == expected
    assert {one["outcome"] for one in service.report()} == {"recovered"}, service.report()
    assert len(service.report()) == 2
