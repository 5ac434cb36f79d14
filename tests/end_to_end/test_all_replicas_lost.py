"""All workers of a job in peer mode killed in the same instant: the job goes back to its reserve, and is identical.

What it computes meanwhile it has computed before; a fault in that replay is one like any other.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from toolkit.job import Job, Script
from toolkit.jobs import JOBS
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


def has_reserve(service: Service, job: Job, after: int = 0) -> int:
    """One that is not the newest boundary any more, when the next one is still far."""

    def there() -> bool:
        sessions = [one for gpu in service.status()["gpus"] for one in gpu["sessions"]]
        kept = [int(one["reserve"]["boundary"]) for one in sessions]
        passed = [one["boundary"] - min(kept) for one in sessions]
        return bool(kept) and min(kept) > after and min(passed) > 1 and max(passed) < NEAR

    until(lambda: there() or job.process.poll() is not None, 120, f"a reserve after {after}")
    return reserve(service)


def relies_on_peers(service: Service, job: Job) -> None:
    """The newest boundary has no copies of what replicas hold."""

    def newest() -> int:
        return min((one["boundary"] for gpu in service.status()["gpus"] for one in gpu["sessions"]), default=0)

    until(lambda: "peers give back" in service.said() or job.process.poll() is not None, 120, "peer mode")
    told = newest()
    until(lambda: newest() > told + 2 or job.process.poll() is not None, 60, "boundaries that need peers")


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
    job = workplace.job(script, service)
    relies_on_peers(service, job)
    boundary = has_reserve(service, job)
    for count in (1, 2):
        kill_all(service)
        recovered(service, count)
        one = service.report()[-1]
        assert one["outcome"] == "recovered", one
        assert (one["decision"], one["boundary"]) == ("roll-back", boundary), one
        assert any(f"all ranks go back to boundary {boundary}" in note for note in one["notes"]), one
        boundary = has_reserve(service, job, boundary)
    record_property("seconds", max(one["seconds"] for one in service.report()))
    assert_identical(job.finish().successful().records, reference(script, "cuda"))


def test_without_reserves_the_job_ends_with_the_reason(workplace: Workplace) -> None:
    service = workplace.service(2, ("--reserve-budget", "0"))
    script = JOBS["gpt"].with_arguments(*STEPS)
    job = workplace.job(script, service, TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC="500")
    relies_on_peers(service, job)
    kill_all(service)
    assert job.finish().status != 0
    (one,) = service.report()
    assert one["outcome"].startswith("given up"), one
    assert "held by no other rank" in one["outcome"], one
