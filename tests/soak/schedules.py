"""What happens to a job while it runs, drawn from a seed: faults of all kinds, of workers, services and in recoveries.

Called by: chaos.py. Equal seeds give equal schedules. What a schedule asks for is within what guarantees.md promises: a
job must come through, identical.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

#: Of the job; the first ones are left alone, so that there is something to lose.
STEPS, FIRST = 120, 6
#: Steps from one event to the next.
GAPS = (0, 1, 2, 4, 8, 16)
PHASES = ("forward", "backward", "optimizer", "collective", "boundary", "copy")
#: In a worker, at a place of a minibatch to come; those that are only found by their silence come seldom.
IN_WORKERS = ("kill-worker",) * 8 + ("sticky-error",) * 3 + ("endless-kernel", "hung-collective")
#: To workers and services as they are at that moment.
AT_ONCE = ("kill-worker",) * 2 + ("stop-worker", "xid")
KILL_ALL, KILL_IN_RECOVERY, LOSE, RETURN = "kill all workers", "kill in a recovery", "lose-gpu", "gpu return"
KILL_SERVICE, KILL_BOTH, REPLACE_SERVICE = "kill the service", "kill the service and a worker", "replace the service"
OTHERS = (KILL_ALL, KILL_IN_RECOVERY, KILL_IN_RECOVERY, LOSE, KILL_SERVICE, KILL_BOTH, REPLACE_SERVICE)


@dataclass(frozen=True)
class Event:
    """Once the job has done so many steps."""

    step: int
    what: str
    gpu: int = 0
    phase: str = ""  # empty: at once
    skip: int = 0

    def text(self) -> str:
        place = f", {self.skip} ops into {self.phase}" if self.phase else ""
        return f"after step {self.step}: {self.what} on GPU {self.gpu}{place}"


def schedule(seed: int, gpus: int) -> list[Event]:
    source = random.Random(seed)
    found: list[Event] = []
    step, lost = FIRST, -1
    for _ in range(source.randint(4, 9)):
        one = _drawn(source, step, gpus)
        if one.what == LOSE and lost >= 0:
            one = Event(step, RETURN, lost)
        if one.what in (LOSE, RETURN):
            lost = one.gpu if one.what == LOSE else -1
        found.append(one)
        step += source.choice(GAPS)
    return [*found, Event(step + 1, RETURN, lost)] if lost >= 0 else found


def _drawn(source: random.Random, step: int, gpus: int) -> Event:
    gpu, kind = source.randrange(gpus), source.random()
    if kind < 0.5:
        return Event(step, source.choice(IN_WORKERS), gpu, source.choice(PHASES), source.randrange(12))
    return Event(step, source.choice(AT_ONCE if kind < 0.65 else OTHERS), gpu)
