"""Jobs of which only few boundaries are made: a fault goes back past many that were skipped, and nothing shows of it.

A job makes steps until the service says that boundaries lie apart, then some more, and stands still there. So a fault
meets it at a known distance from the boundary that was made last. The rule itself:
unit/proxy/protection/test_spacing.py.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.peer_mode import PacedJob, boundary_of
from toolkit.record import Record, assert_identical
from toolkit.service import Service, kill_at
from toolkit.waiting import patient, until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
#: So little that no boundary after the first ones is made, but for those that the journal's size asks for.
LITTLE = ("--boundary-budget", "0.001")
STEPS, ROUND, SKIPPED = 400, 12, 6
#: The service looks at jobs this often, and chooses at the second look after so many steps as a round has.
LOOK_SECONDS = 1.5
QUICK = ("gpt",)


def spaced(workplace: Workplace, script: Script, service: Service) -> PacedJob:
    """Stands still some steps after the service has said how far apart boundaries lie."""
    running = PacedJob(workplace, script, service)
    while not chosen(service):
        assert running.granted < STEPS // 2, f"all boundaries are still made\n{service.said()}"
        running.go_to(running.granted + ROUND)
        looked = time.monotonic() + patient(LOOK_SECONDS)
        until(lambda looked=looked: chosen(service) or time.monotonic() > looked, 2 * LOOK_SECONDS, "a look")
    running.go_to(running.granted + SKIPPED)
    workplace.note(f"{running.granted} steps were made when the fault came")
    return running


def chosen(service: Service) -> bool:
    return "boundaries is made" in service.said()


def apart(service: Service) -> set[int]:
    return {one["boundaries_apart"] for gpu in service.status()["gpus"] for one in gpu["sessions"]}


@pytest.mark.sampled
@pytest.mark.parametrize("job", [pytest.param(one, marks=() if one in QUICK else pytest.mark.slow) for one in JOBS])
def test_faults_go_back_past_skipped_boundaries(job: str, workplace: Workplace, reference: Reference) -> None:
    script = replace(JOBS[job].with_arguments("--steps", str(STEPS)), around=PACED)
    service = workplace.service(script.ranks, LITTLE)
    running = spaced(workplace, script, service)
    every = min(apart(service))
    assert every > SKIPPED

    # One rank, in the middle of a backward pass; then all of them, while they stand still.
    reached = boundary_of(service)
    service.inject(kill_at(reached, "backward", 3), 1)
    running.go_to(running.granted + SKIPPED)
    until(lambda: len(service.report()) == 1, 60, "the first recovery")
    for pid in [one["worker_pid"] for gpu in service.status()["gpus"] for one in gpu["sessions"]]:
        os.kill(pid, signal.SIGKILL)
    until(lambda: len(service.report()) == 2, 60, "the second recovery")
    running.let_go()

    records = running.job.finish().successful().records
    # Two deaths in one instant may be one attempt or two.
    first, second = service.report()
    assert (first["outcome"], second["outcome"]) == ("recovered", "recovered"), service.report()
    assert first["boundary"] <= reached - SKIPPED // 2, first  # a scaler leaves out steps
    due = (reached + SKIPPED) // every * every  # one of the steps between the faults may be one that has a boundary
    assert second["boundary"] <= max(reached, due), f"the rebuilt worker has skipped none: {second}"
    assert_identical(records, reference(script, "cuda"))
