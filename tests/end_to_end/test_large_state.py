"""A second kill while gigabytes come back: the recovery begins again at once, wherever the first one was.

How far it was is seen by the memory that the new worker has filled. JITC_TEST_STATE is the state in MiB; the host needs
three times that. The limit for hangs is far above that of the test.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toolkit.lockstep import Lockstep
from toolkit.service import Service
from toolkit.waiting import until
from toolkit.workplace import Workplace

PROGRAM = Path(__file__).with_name("large_steps.py")
STATE = int(os.environ.get("JITC_TEST_STATE", "2048"))
POINTS = 20
WITHOUT_FAULT = 3


def program(service: Service, start: Callable[..., Lockstep], mebibytes: int) -> Lockstep:
    one = start(service, PROGRAM, mebibytes)
    assert one.answer() == "ready"
    return one


def session(service: Service) -> dict[str, Any]:
    [found] = service.status()["gpus"][0]["sessions"]
    return dict(found)


def lose(service: Service, before: int = 0) -> int:
    """Kills the worker, once it is another one than before."""

    def other() -> int | None:
        pid: int | None = session(service)["worker_pid"]
        return pid if pid != before else None

    pid = until(other, 100, "the session has a worker")
    os.kill(pid, signal.SIGKILL)
    return pid


def resident(pid: int) -> int:
    """Pages of a process; 0 once it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def lose_on_the_way(service: Service, lost: int, whole: int, share: float) -> int:
    """Kills the worker that has taken over from the lost one, once it has so much of what makes it whole, or has
    recovered."""
    over = len(service.report())
    taken = until(lambda: pid if (pid := session(service)["worker_pid"]) not in (None, lost) else None, 100, "a worker")
    first = resident(taken)
    goal = first + share * (whole - first)
    until(lambda: resident(taken) >= goal or len(service.report()) > over, 300, f"it has {share:.2f} of its memory")
    return lose(service, lost)


def run(workplace: Workplace, start: Callable[..., Lockstep], mebibytes: int, points: int) -> None:
    steps = points + 2 * WITHOUT_FAULT
    options = ("--memory-limit", f"{mebibytes + 1024}MiB", "--spares", "2", "--hang-seconds", "900")
    alone = program(workplace.service(1, options), start, mebibytes)
    expected = [alone.step() for _ in range(steps)]
    alone.kill()
    service = workplace.service(1, options)
    one = program(service, start, mebibytes)
    said = [one.step() for _ in range(WITHOUT_FAULT)]
    whole = resident(session(service)["worker_pid"])
    lost = lose(service)
    said.append(one.step())
    for point in range(points):
        lost = lose(service, lost)  # the answer may have come from the one that was killed second
        one.tell()
        lost = lose_on_the_way(service, lost, whole, point / points)
        said.append(one.answer())
    said += [one.step() for _ in range(WITHOUT_FAULT - 1)]
    assert said == expected
    assert all(found["outcome"] == "recovered" for found in service.report()), service.report()


def test_second_kill_with_little_state(workplace: Workplace, start: Callable[..., Lockstep]) -> None:
    run(workplace, start, 128, 2)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_second_kill_at_every_point(workplace: Workplace, start: Callable[..., Lockstep]) -> None:
    run(workplace, start, STATE, POINTS)
