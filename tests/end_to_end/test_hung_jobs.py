"""A rank that hangs is found by its peers, long before --hang-seconds; a slow but healthy step is no hang.

--hang-seconds is the default, 240 s: far more than the time that these jobs are given. Each job stands still after a
few steps, until the service says that it knows how long the job's ranks usually stand still.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.peer_mode import PacedJob, boundary_of
from toolkit.record import Record, assert_identical
from toolkit.service import Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
Property = Callable[[str, object], None]
HANG_SECONDS = 240.0
JOB_SECONDS = 120.0
KNOWN_AT = 5
GPU = 1
SCRIPT = replace(JOBS["gpt"].with_arguments("--steps", "12"), around=PACED)


def known(workplace: Workplace, service: Service, **env: str) -> PacedJob:
    """A job that stands still, and that the service knows."""
    running = PacedJob(workplace, SCRIPT, service, **env)
    running.go_to(KNOWN_AT)

    def limits() -> list[float]:
        return [one["hang_seconds"] for gpu in service.status()["gpus"] for one in gpu["sessions"]]

    until(lambda: all(0 < one < HANG_SECONDS for one in limits()), 60, "the service knows the job")
    return running


@pytest.mark.sampled
@pytest.mark.parametrize(
    "fault",
    [
        ("stop-worker", "backward", "hung-worker"),
        ("endless-kernel", "forward", "hung-kernel"),
        pytest.param(("hung-collective", "", "hung-collective"), marks=pytest.mark.slow),
    ],
    ids=lambda fault: fault[2],
)
def test_rank_that_hangs(
    fault: tuple[str, str, str], workplace: Workplace, reference: Reference, record_property: Property
) -> None:
    kind, phase, cause = fault
    expected = reference(SCRIPT, "cuda")
    service = workplace.service(2)
    running = known(workplace, service)
    service.inject(kill_at(boundary_of(service) + 1, phase, 3 if phase else 0, kind=kind), GPU)
    running.let_go()
    records = running.job.finish(JOB_SECONDS).successful().records
    [found] = service.survived(1)
    assert (found["cause"], found["gpus"], found["outcome"]) == (cause, [GPU], "recovered"), found
    record_property("seconds", found["seconds"])
    [culprit] = found["culprits"]
    assert culprit.startswith("rank 1 (pid ")
    assert_identical(records, expected)


@pytest.mark.sampled
@pytest.mark.parametrize("way", ["device", "host"])
def test_slow_step_is_no_hang(way: str, workplace: Workplace, reference: Reference) -> None:
    """One rank evaluates while the other one waits in the next collective."""
    expected = reference(SCRIPT, "cuda")
    service = workplace.service(2)
    running = known(workplace, service, EVALUATE=f"0 {KNOWN_AT} {way}")
    running.let_go()
    records = running.job.finish(JOB_SECONDS).successful().records
    assert service.report() == []
    assert_identical(records, expected)


@pytest.mark.slow
def test_single_operator_that_is_slow_costs_one_recovery(workplace: Workplace, reference: Reference) -> None:
    """Nobody can tell it from one that hangs, the first time; in the replay it is waited for."""
    expected = reference(SCRIPT, "cuda")
    service = workplace.service(2)
    running = known(workplace, service, EVALUATE=f"0 {KNOWN_AT} operator")
    running.let_go()
    records = running.job.finish(JOB_SECONDS).successful().records
    [found] = service.survived(1)
    assert (found["cause"], found["outcome"]) == ("hung-kernel", "recovered"), found
    assert_identical(records, expected)
