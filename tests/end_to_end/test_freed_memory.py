"""Memory that is freed while work uses it is no other block's before that work is done.

Each rank steps by itself, so boundaries wait for no collective that the other one comes to later: they order nothing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.job import ROOT
from toolkit.lockstep import Lockstep, finish_all
from toolkit.workplace import Workplace

PROGRAM = ROOT / "tests" / "end_to_end" / "freed_steps.py"
Start = Callable[..., Lockstep]


def told(rank: Lockstep, what: str) -> str:
    rank.tell(what)
    return rank.answer()


@pytest.mark.parametrize("size", [4 << 10, 3 << 20])
@pytest.mark.parametrize("way", ["cudaFree", "cudaFreeAsync"])
@pytest.mark.sampled
def test_what_is_freed_is_used_to_the_end(
    workplace: Workplace, start: Start, tmp_path: Path, way: str, size: int
) -> None:
    """Also when all of it is run again: the order that came of waiting is in the journal."""
    service = workplace.service(2)
    ranks = [start(service, PROGRAM, rank, tmp_path, way, size) for rank in range(2)]
    first, second = ranks
    assert told(first, "free") == "freed"
    assert told(first, "use") == "used"
    assert told(second, "come") == "came"
    assert told(first, "check") == "0"
    worker = service.worker_pid(0)
    assert worker
    os.kill(worker, signal.SIGKILL)
    assert told(first, "check") == "0"
    service.survived(1)
    for one in ranks:
        one.close()
    finish_all(ranks)
