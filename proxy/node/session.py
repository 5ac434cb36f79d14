"""A session: a process on a GPU, and what another service must know of it.

Used by: the registry, which has all of them and whose lock guards them; the gRPC services. To recovery, protection and
health a session is a rank (../ranks/rank.py). Promise: a session's state changes only along its table.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..common.state_machine import Machine
from ..ranks.states import REACHABLE, SESSION_TABLE, SessionEvent, SessionState
from .addresses import Addresses
from .session_memory import SessionMemory
from .workers.worker import Worker


@dataclass(eq=False)
class Session:
    """A process on a GPU."""

    number: int
    token: str
    gpu: int
    pid: int  # as seen from here, or as the process itself sees it if it cannot be seen from here
    rank: int
    world_size: int
    job: str
    slot: int
    memory: SessionMemory
    addresses: Addresses
    host: int = -1  # the GPU that serves it: its own, or another one while that is lost
    program: str = ""  # its process's ticket at the keeper (keeper/process/programs.py)
    environment: Mapping[str, str] = field(default_factory=dict)  # of its workers' libraries (library_environment.py)
    worker: Worker | None = None
    epoch: int = 0  # epoch of its job's newest fence
    epochs: int = 0  # the newest epoch of its job
    stopped: bool = False  # it may wait for a recovery: until that is over, another service begins it anew
    peer_mode: bool = False  # its newest boundary may lack copies
    failure: str = ""
    diverged: int = 0  # blocks that other ranks hold differently, though they were replicas
    compared: int = 0  # newest boundary at which that was compared
    uneven: bool = False  # the ranks of its job make different optimizer steps
    reserve: int = 0  # boundary of which its job has copies of everything beside newer ones that need peers; 0: none
    boundaries_apart: int = 1  # from one boundary to the next (recovery/spacing.py)
    reserves_apart: int = 0  # boundaries from one reserve to the next; 0: there are none
    hang_seconds: float = 0.0  # for which it may stand still while others wait for it; 0: no limit
    computes_since: float = field(default_factory=time.monotonic)  # its opening, or the end of its last replay
    machine: Machine[SessionState, SessionEvent] = field(init=False)

    def __post_init__(self) -> None:
        if self.host < 0:
            self.host = self.gpu
        self.machine = Machine(f"session {self.number}", SESSION_TABLE, SessionState.OPENING)

    @property
    def state(self) -> SessionState:
        return self.machine.state

    @property
    def node(self) -> str:
        """Returns the name of its node: empty, since that is this one."""
        return ""

    def unreachable(self) -> str:
        return ""

    def pinned(self) -> dict[str, Any]:
        """Returns where the session's pinned memory is mapped, as fields of a message; empty when there is none."""
        pinned = self.memory.pinned
        if pinned is None:
            return {}
        return {"pinned_base": self.addresses.pinned, "pinned_bytes": pinned.size}

    def reachable(self) -> bool:
        return self.state in REACHABLE and self.worker is not None and self.worker.works()

    def without_worker(self) -> bool:
        """Returns whether the session waits for a worker, or its new worker waits for the state that was lost."""
        return self.state in (SessionState.LOST, SessionState.STANDBY)

    def record(self) -> dict[str, Any]:
        """Returns what another service must know of the session."""
        return {
            "token": self.token, "gpu": self.gpu, "pid": self.pid, "program": self.program, "rank": self.rank,
            "world_size": self.world_size, "job": self.job, "slot": self.slot, "addresses": self.addresses.record(),
            "worker": self.worker.pid if self.worker is not None else 0, "epoch": self.epoch, "epochs": self.epochs,
            "state": self.state.value,
            "host": self.host, "failure": self.failure, "stopped": self.stopped, "peer_mode": self.peer_mode,
            "reserve": self.reserve, "environment": dict(self.environment),
        }  # fmt: skip

    def label(self) -> str:
        return f"rank {self.rank} (pid {self.pid})" if self.rank >= 0 else f"pid {self.pid}"
