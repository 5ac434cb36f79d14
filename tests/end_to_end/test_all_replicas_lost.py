"""All workers of a job in peer mode killed in the same instant: the job goes back to its reserve, and is identical.

What it computes meanwhile it has computed before; a fault in that replay is one like any other.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace

import pytest
from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.peer_mode import PEERS, PacedJob
from toolkit.record import Record, assert_identical
from toolkit.service import RECOVERY_SECONDS, Service
from toolkit.waiting import until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
STEPS = ("--steps", "400")
#: Boundaries after a reserve in which the next one is still far.
NEAR = 10
#: Jobs whose ranks hold the same; those of others have copies of everything at each boundary.
REPLICATED = ("gpt", "cnn", "amp", "accumulate")


def reserve(service: Service) -> int:
    """The boundary that all ranks keep whole; 0 before there is one."""
    sessions = [one for gpu in service.status()["gpus"] for one in gpu["sessions"]]
    return min((int(one["reserve"]["boundary"]) for one in sessions), default=0)


def has_reserve(service: Service, running: PacedJob, after: int = 0) -> int:
    """One that is not the newest boundary any more, when the next one is still far."""

    def there() -> bool:
        sessions = [one for gpu in service.status()["gpus"] for one in gpu["sessions"]]
        kept = [int(one["reserve"]["boundary"]) for one in sessions]
        passed = [one["boundary"] - min(kept) for one in sessions]
        return bool(kept) and min(kept) > after and min(passed) > 1 and max(passed) < NEAR

    running.go_until(there, f"a reserve after {after}")
    return reserve(service)


def relies_on_peers(workplace: Workplace, script: Script, service: Service, **env: str) -> PacedJob:
    """A job whose newest boundary has no copies of what replicas hold."""
    running = PacedJob(workplace, replace(script, around=PACED), service, **env)
    running.until_settled(PEERS)
    running.go_to(running.granted + 3)
    return running


def kill_all(service: Service) -> None:
    for pid in [one["worker_pid"] for gpu in service.status()["gpus"] for one in gpu["sessions"]]:
        os.kill(pid, signal.SIGKILL)


def recovered(service: Service, count: int) -> None:
    until(lambda: len(service.report()) >= count, RECOVERY_SECONDS, f"{count} recoveries are over")


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=() if one == "gpt" else pytest.mark.slow) for one in REPLICATED]
)
def test_again_and_again(
    name: str, workplace: Workplace, reference: Reference, record_property: Callable[[str, object], None]
) -> None:
    script = JOBS[name].with_arguments(*STEPS)
    service = workplace.service(2)
    running = relies_on_peers(workplace, script, service)
    boundary = has_reserve(service, running)
    for count in (1, 2):
        running.grant(running.granted + 1)
        kill_all(service)
        recovered(service, count)
        one = service.report()[-1]
        assert one["outcome"] == "recovered", one
        assert (one["decision"], one["boundary"]) == ("roll-back", boundary), one
        assert any(f"all ranks go back to boundary {boundary}" in note for note in one["notes"]), one
        boundary = has_reserve(service, running, boundary)
    record_property("seconds", max(one["seconds"] for one in service.report()))
    running.let_go()
    assert_identical(running.job.finish().successful().records, reference(script, "cuda"))


def test_without_reserves_the_job_ends_with_the_reason(workplace: Workplace) -> None:
    service = workplace.service(2, ("--reserve-budget", "0"))
    script = JOBS["gpt"].with_arguments(*STEPS)
    running = relies_on_peers(workplace, script, service, TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC="500")
    kill_all(service)
    running.let_go()
    assert running.job.finish().status != 0
    (one,) = service.report()
    assert one["outcome"].startswith("given up"), one
    assert "held by no other rank" in one["outcome"], one
