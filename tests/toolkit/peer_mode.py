"""Faults in a job of which the service has found out how to keep its blocks: by peers, or by copies."""

from __future__ import annotations

from .job import Job
from .service import Service, kill_at
from .waiting import until
from .workplace import Workplace

GPU = 1
#: What the service says of a job then.
PEERS, COPIES = "peers give back what they hold", "copies of all blocks"


def boundary_of(service: Service) -> int:
    return max((one["boundary"] for gpu in service.status()["gpus"] for one in gpu["sessions"]), default=0)


def kill_once_settled(workplace: Workplace, service: Service, job: Job, line: str, phase: str) -> int:
    """Arms the fault three boundaries after the service has said how it keeps the blocks; after which boundary."""
    until(lambda: line in service.said() or job.process.poll() is not None, 100, f"the service says: {line}")
    assert job.process.poll() is None, f"the job ended before the service said: {line}\n{service.said()}"
    boundary = boundary_of(service) + 3
    skip = 0 if phase in ("collective", "boundary", "copy") else 3
    workplace.note(f"fault on GPU {GPU} after boundary {boundary}, phase {phase}, skip {skip}")
    service.inject(kill_at(boundary, phase, skip), GPU)
    return boundary
