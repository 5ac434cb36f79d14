"""Faults in a job of which the service has found out how to keep its blocks: by peers, or by copies.

The job makes a step when the service has looked at the one before, until the service knows. So it depends on nothing
how many steps that takes, and where the fault comes.
"""

from __future__ import annotations

from collections.abc import Callable

from .job import Job, Script
from .pace import PACE, PACED, Pace
from .service import Service, kill_at
from .waiting import until
from .workplace import Workplace

GPU = 1
#: What the service says of a job then.
PEERS, COPIES = "peers give back what they hold", "copies of all blocks"
#: For a step, however busy the machine is.
STEP_SECONDS = 120.0
#: Steps that a job has left after it was let go, at least: boundaries come after most of them, the fault after three.
LEFT = 20


def boundary_of(service: Service) -> int:
    return max((one["boundary"] for gpu in service.status()["gpus"] for one in gpu["sessions"]), default=0)


def compared(service: Service) -> bool:
    """Whether the service has looked at the newest boundary of each rank."""
    sessions = [one for gpu in service.status()["gpus"] for one in gpu["sessions"]]
    return all(one["compared"] >= one["boundary"] for one in sessions)


class PacedJob:
    """A job on a service that goes as far as it is let. It stands still after its first step."""

    def __init__(
        self, workplace: Workplace, script: Script, service: Service, before: tuple[str, ...] = (), **env: str
    ) -> None:
        """before: as Job has it."""
        assert script.around[-1:] == PACED, "the script cannot be paced"
        self._workplace, self._service = workplace, service
        folder = workplace.folder / f"pace{len(workplace.jobs)}"
        self._steps = int(script.arguments[len(script.arguments) - script.arguments[::-1].index("--steps")])
        self._pace = Pace(folder, script.ranks)
        self._pace.grant(1)
        self.job: Job = workplace.job(script, service, before, **{PACE: str(folder)}, **env)

    @property
    def granted(self) -> int:
        return self._pace.granted

    def until_settled(self, line: str) -> None:
        """Steps until the service has said the line; the job stands still then."""
        while True:
            until(self._waits, STEP_SECONDS, f"the job has made {self.granted} steps")
            until(
                lambda: self._said(line) or compared(self._service), STEP_SECONDS, "the service has looked at the job"
            )
            if self._said(line):
                return
            assert self.granted < self._steps - LEFT, f"the service does not say: {line}\n{self._service.said()}"
            self._pace.grant(self.granted + 1)

    def kill_once_settled(self, line: str, phase: str) -> int:
        """Arms the fault three boundaries after the service has said the line, and lets the job go; after which
        boundary."""
        self.until_settled(line)
        boundary = boundary_of(self._service) + 3
        skip = 0 if phase in ("collective", "boundary", "copy") else 3
        self._workplace.note(f"fault on GPU {GPU} after boundary {boundary}, phase {phase}, skip {skip}")
        self._service.inject(kill_at(boundary, phase, skip), GPU)
        self.let_go()
        return boundary

    def grant(self, steps: int) -> None:
        """In all. What comes next meets the job at work, or where it stands still after these."""
        assert steps <= self._steps - LEFT, "the job would come to its end"
        self._pace.grant(steps)

    def go_until(self, condition: Callable[[], object], what: str) -> None:
        """Step after step until it is so. What takes time and no steps is waited for first."""
        while not condition():
            assert self.granted < self._steps - LEFT, f"not within {self.granted} steps: {what}"
            self._pace.grant(self.granted + 1)
            until(lambda: condition() or self._waits() or None, STEP_SECONDS, what)

    def go_to(self, steps: int) -> None:
        """So many steps; the job stands still then."""
        self._pace.grant(steps)
        until(self._waits, STEP_SECONDS, f"the job has made {steps} steps")

    def let_go(self) -> None:
        self._pace.grant(self._steps)

    def _waits(self) -> bool:
        """Whether all ranks have made the steps that they were granted."""
        assert self.job.process.poll() is None, f"the job has ended: {self.job.output()[-3000:]}"
        return self._pace.waits()

    def _said(self, line: str) -> bool:
        return line in self._service.said()
