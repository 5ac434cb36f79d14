"""A GPU of the node, and its state by its workers and sessions.

Used by: the registry, the gRPC services, the coordinator. Promise: the state of a GPU is computed from its workers and
sessions each time. It is never stored, so no forgotten event can leave it wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..backends.base import GpuFacts
from .workers.worker import Worker

if TYPE_CHECKING:
    from .session import Session


@dataclass(eq=False)
class Gpu:
    """A GPU, guarded by the registry's lock."""

    index: int
    facts: GpuFacts
    idle: Worker | None = None  # assigned to the GPU, waits for its first session
    failure: str = ""  # why the last attempt to get a worker failed; the next success clears it
    failed_at: float = field(default=float("-inf"))  # monotonic
    spare: bool = False  # programs do not see it: it replaces a lost one
    lost: str = ""  # why the physical GPU cannot be used any more
    attaching: int = 0  # programs that are about to have a session here
    recoveries: int = 0

    @property
    def physical(self) -> int:
        return self.facts.physical

    def take_idle(self) -> Worker | None:
        """Returns the idle worker, if it works; it belongs to the caller from now on."""
        worker, self.idle = self.idle, None
        return worker if worker is not None and worker.works() else None


def workers_of(gpu: Gpu, sessions: Iterable[Session]) -> list[Worker]:
    """Returns the living workers, those of sessions first."""
    own = [one.worker for one in sessions if one.host == gpu.index]
    return [one for one in (*own, gpu.idle) if one is not None and one.alive()]


def state_of(gpu: Gpu, sessions: Iterable[Session], keeps_idle: bool = True) -> str:
    """Returns the state: starting, ready, recovering or failed. keeps_idle: a worker is there without sessions, too."""
    here = [one for one in sessions if one.host == gpu.index]
    if gpu.lost:
        return "failed"
    if any(one.without_worker() for one in here):
        return "recovering"
    if workers_of(gpu, here):
        return "ready"
    return "failed" if gpu.failure else "starting" if keeps_idle else "ready"
