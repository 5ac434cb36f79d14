"""Ranks that do not fit on one GPU together take turns at it, on the fake libraries: whatever fails, the same bytes.

The program is cuda_training.py, as in test_cuda_training.py. Nothing here says anything about a real GPU.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from test_cuda_training import ALL_BOUNDARIES, Hashes, Start, begin, finish, serve, steps
from toolkit.service import Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

STEPS = 12
#: Of a GPU. Each rank has one unit of 2 MiB: two do not fit.
GPU_BYTES = 3 << 20
RECOVERED_SECONDS = 60.0


def turns(service: Service) -> list[dict[str, Any]]:
    return [one["turns"] for gpu in service.status()["gpus"] for one in gpu["sessions"]]


@pytest.fixture
def expected(workplace: Workplace, environment: dict[str, str], start: Start) -> Hashes:
    service = serve(workplace, environment, *ALL_BOUNDARIES)
    programs = begin(service, start, 0, 1)
    hashes = steps(programs, STEPS)
    finish(programs)
    return hashes


def test_ranks_take_turns(expected: Hashes, workplace: Workplace, environment: dict[str, str], start: Start) -> None:
    """Through the loss of a GPU, and of the worker whose memory is elsewhere."""
    service = serve(workplace, environment, *ALL_BOUNDARIES, JITC_FAKE_MEMORY=str(GPU_BYTES))
    service.inject(kill_at(2, "backward", 1, kind="lose-gpu"), 1)
    programs = begin(service, start, 0, 1)
    got = steps(programs, 6)
    until(lambda: service.report() or None, RECOVERED_SECONDS, "rank 1 is recovered")
    assert all(one["moved_out"] > 0 for one in turns(service)), turns(service)
    chosen = [one for gpu in service.status()["gpus"] for one in gpu["sessions"]]
    os.kill(next((one for one in chosen if one["turns"]["waits"]), chosen[0])["worker_pid"], signal.SIGKILL)
    got += steps(programs, STEPS - 6)
    finish(programs)
    assert got == expected
    assert {one["outcome"] for one in service.report()} == {"recovered"}, service.report()
