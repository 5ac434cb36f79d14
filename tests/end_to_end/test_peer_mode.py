"""Faults after the service has measured which blocks replicas share: state then comes from a peer.

In the first steps of a job copies of everything are made; the fault matrix there is test_faults.py. Here each
test has its job make steps until the service says how it keeps the job's blocks, and only then arms its fault.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.peer_mode import COPIES, PEERS, PacedJob
from toolkit.record import Record, assert_identical
from toolkit.waiting import until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
#: The service measures again 50 boundaries after it has settled.
STEPS = 80
PHASES = ("forward", "backward", "collective", "optimizer", "boundary", "copy")
QUICK = {("gpt", "optimizer"), ("cnn", "backward")}
#: Jobs whose state replicas share.
SHARED = ("gpt", "cnn", "accumulate")
#: Jobs with state that a rank alone has: shards that its optimizer step changes, and the largest loss that it has seen,
#: beside a scale that changes in some minibatches only.
ALONE = {"fsdp": f"{COPIES} (", "amp": PEERS}


def longer(job: str) -> Script:
    return replace(JOBS[job].with_arguments("--steps", str(STEPS)), around=PACED)


def run_and_check(workplace: Workplace, reference: Reference, job: str, line: str, phase: str) -> dict[str, Any]:
    expected = reference(longer(job), "cuda")
    service = workplace.service(2)
    running = PacedJob(workplace, longer(job), service)
    boundary = running.kill_once_settled(line, phase)
    records = running.job.finish().successful().records
    [found] = service.survived(1)
    assert_identical(records, expected)
    if phase in ("forward", "backward"):  # nobody can have begun that minibatch's step; the one before may go on
        assert found["boundary"] <= boundary
    return found


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("job", "phase"),
    [
        pytest.param(job, phase, marks=() if (job, phase) in QUICK else pytest.mark.slow)
        for job in SHARED
        for phase in PHASES
    ],
)
def test_state_comes_from_a_peer(job: str, phase: str, workplace: Workplace, reference: Reference) -> None:
    recovery = run_and_check(workplace, reference, job, PEERS, phase)
    assert sum(recovery["bytes_from_peers"].values()) > 0, recovery
    # At its boundary the lost rank has begun the step as well: the other one has made it, and gives what it made.
    forward = phase in ("optimizer", "boundary")
    assert recovery["decision"] == ("roll-forward" if forward else "roll-back"), recovery


@pytest.mark.parametrize("phase", ["backward", pytest.param("optimizer", marks=pytest.mark.slow)])
def test_survivor_is_lost_too_while_a_peer_is_rebuilt(phase: str, workplace: Workplace, reference: Reference) -> None:
    """Without a warm spare the peer takes seconds; what the survivor alone holds is safe long before that."""
    expected = reference(longer("gpt"), "cuda")
    service = workplace.service(2, ("--spares", "0"))
    running = PacedJob(workplace, longer("gpt"), service)
    running.kill_once_settled(PEERS, phase)
    until(lambda: "state of peers that rank 0" in service.said(), 60, "the survivor's state is copied")
    survivor = service.worker_pid(0)
    assert survivor is not None
    os.kill(survivor, signal.SIGKILL)
    records = running.job.finish().successful().records
    [found] = service.report()
    assert (found["outcome"], found["attempts"]) == ("recovered", 2), found
    assert_identical(records, expected)


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["backward", "optimizer"])
@pytest.mark.parametrize("job", ALONE)
def test_state_that_no_peer_has_is_copied(job: str, phase: str, workplace: Workplace, reference: Reference) -> None:
    recovery = run_and_check(workplace, reference, job, ALONE[job], phase)
    if job == "fsdp":  # peers could not finish its step
        assert recovery["decision"] == "roll-back"
    elif phase == "optimizer":
        assert recovery["decision"] == "roll-forward"
