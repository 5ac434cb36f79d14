"""Faults after the service has measured which blocks replicas share: state then comes from a peer.

In the first steps of a job copies of everything are made; the fault matrix there is test_faults.py. Here each
test waits until the service says how it keeps the job's blocks, and only then arms its fault.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.peer_mode import COPIES, PEERS, kill_once_settled
from toolkit.record import Record, assert_identical
from toolkit.waiting import until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
STEPS = 200
PHASES = ("forward", "backward", "collective", "optimizer", "boundary", "copy")
QUICK = {("gpt", "optimizer"), ("cnn", "backward")}
#: Jobs whose state replicas share, and why the others keep copies.
SHARED = ("gpt", "cnn", "accumulate")
ALONE = {"fsdp": "bytes of its own", "amp": "waits for results"}


def longer(job: str) -> Script:
    """So long, and with steps so slow (some 50 ms), that the service has measured well before the end."""
    batch = ("--batch", "64") if job == "cnn" else ()
    return JOBS[job].with_arguments("--steps", str(STEPS), *batch)


def run_and_check(workplace: Workplace, reference: Reference, job: str, line: str, phase: str) -> dict[str, Any]:
    expected = reference(longer(job), "cuda")
    service = workplace.service(2)
    running = workplace.job(longer(job), service)
    boundary = kill_once_settled(workplace, service, running, line, phase)
    records = running.finish().successful().records
    [found] = service.survived(1)
    assert_identical(records, expected)
    if phase in ("forward", "backward"):  # nobody can have begun that minibatch's step; the one before may go on
        assert found["boundary"] <= boundary
    return found


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
    assert recovery["bytes_restored"] > 0


@pytest.mark.parametrize("phase", ["backward", pytest.param("optimizer", marks=pytest.mark.slow)])
def test_survivor_is_lost_too_while_a_peer_is_rebuilt(phase: str, workplace: Workplace, reference: Reference) -> None:
    """Without a warm spare the peer takes seconds; what the survivor alone holds is safe long before that."""
    expected = reference(longer("gpt"), "cuda")
    service = workplace.service(2, ("--spares", "0"))
    running = workplace.job(longer("gpt"), service)
    kill_once_settled(workplace, service, running, PEERS, phase)
    until(lambda: "state of peers that rank 0" in service.said(), 60, "the survivor's state is copied")
    survivor = service.worker_pid(0)
    assert survivor is not None
    os.kill(survivor, signal.SIGKILL)
    records = running.finish().successful().records
    [found] = service.report()
    assert (found["outcome"], found["attempts"]) == ("recovered", 2), found
    assert_identical(records, expected)


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["backward", "optimizer"])
@pytest.mark.parametrize("job", ALONE)
def test_state_that_no_peer_has_is_copied(job: str, phase: str, workplace: Workplace, reference: Reference) -> None:
    recovery = run_and_check(workplace, reference, job, f"{COPIES} (", phase)
    assert recovery["decision"] == "roll-back"
