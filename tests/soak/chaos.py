"""Jobs under random schedules of faults (schedules.py): they come through, and are identical.

Called by: catalogue.py. A run names all that happened to it in its evidence; its seed replays it, as far as threads
allow: what happens in a worker is at the same op again, what happens to processes comes after the same step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from toolkit.job import Job, Script, run_command
from toolkit.kills import arm, kill, sessions, workers
from toolkit.record import assert_identical
from toolkit.service import BIN, Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

from . import schedules
from .schedules import Event
from .ways import Way

STEP_SECONDS, LIMIT_SECONDS = 180.0, 600.0
IN_RECOVERY = {"fenced", "lost", "held"}


@dataclass(frozen=True)
class ChaosJob:
    """An example script; losses, weights and optimizer state are compared to the last bit."""

    name: str
    script: Script
    reference: bool = True
    under_faults: bool = True

    def run(self, place: Workplace, way: Way, seed: int | None) -> Any:
        script = self.script.with_arguments("--steps", str(schedules.STEPS))
        service = place.service(script.ranks, way.with_seed(seed or 0), **dict(way.environment))
        job = place.job(script, service)
        events = schedules.schedule(seed, script.ranks) if seed is not None else []
        done = 0
        for one in events:
            place.note(one.text())
            until(lambda one=one: job.steps() >= one.step or job.process.poll() is not None, STEP_SECONDS, one.text())  # type: ignore[misc]
            done += happen(one, job, service)
        records = job.finish(LIMIT_SECONDS).successful().records
        fired, outcomes = done + len(service.injected()), [one["outcome"] for one in service.report()]
        place.note(f"{fired} of {len(events)} events took place, {len(outcomes)} recoveries")
        assert set(outcomes) <= {"recovered"}, outcomes
        assert fired or not events, "nothing happened to the job: it was over before"
        return records

    def compare(self, got: Any, expected: Any) -> None:
        assert_identical(got, expected)


def happen(one: Event, job: Job, service: Service) -> int:
    """How many processes were lost or told something at once; what is armed in a worker counts where it fires."""
    if job.process.poll() is not None:
        return 0  # it has failed, or was fast: its end is looked at anyway
    if one.what == schedules.KILL_ALL:
        return kill(workers(service))
    if one.what == schedules.KILL_IN_RECOVERY:
        killed = kill(workers(service)[:1])
        until(lambda: recovering(service) or job.process.poll() is not None, STEP_SECONDS, "a recovery")
        return killed + kill(workers(service)[-1:])
    if one.what in (schedules.KILL_SERVICE, schedules.KILL_BOTH):
        victims = workers(service)[one.gpu :][:1] if one.what == schedules.KILL_BOTH else []
        service.kill()
        kill(victims)
        service.restart()
    elif one.what == schedules.REPLACE_SERVICE:
        service.replace()
    elif one.what == schedules.RETURN:
        run_command(
            [str(BIN / "jitc"), "gpu", "return", str(one.gpu), "--socket", str(service.socket)], env=service.env
        )
    else:
        inject(one, service)
        return 0
    return 1


def inject(one: Event, service: Service) -> None:
    fault = control_pb2.Fault(kind=one.what)
    if one.phase:
        boundary = max((session["boundary"] for session in sessions(service)), default=0) + 2
        fault = kill_at(boundary, one.phase, one.skip, kind=one.what)
    arm(service, fault, one.gpu)


def recovering(service: Service) -> bool:
    return any(one["state"] in IN_RECOVERY for one in sessions(service))
