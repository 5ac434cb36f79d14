"""What a node service is told at its start."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

GIB = 1 << 30
#: First address of all sessions' ranges, and the size of one: a session's range follows from its slot.
ADDRESS_BASE = 0x2000_0000_0000
ADDRESS_BYTES = 1 << 38
SLOTS = 64


def worker_command() -> list[str]:
    return [sys.executable, "-m", "jitc.proxy.worker"]


def _library_sizes() -> tuple[int, Callable[[int], int]]:
    from ..executor import shared_sizes
    from ..paths import executor_library

    return shared_sizes(executor_library())


@dataclass(frozen=True)
class Config:
    """All of it is fixed for the service's life."""

    socket: str
    device: str = "software"
    gpus: int = 1
    memory_limit: int = 4 * GIB
    threads: int = 0  # of one operator; 0: cores divided by GPUs
    journal_bytes: int = GIB // 2
    snapshot_bytes: int = 64 * GIB  # virtual: only what is written takes memory
    spill_bytes: int = 8 * GIB
    spill_dir: str = "/var/tmp"
    spares: int = 1
    worker: list[str] = field(default_factory=worker_command)
    #: Bytes of the board, and of a communicator's segment for so many ranks.
    shared_sizes: Callable[[], tuple[int, Callable[[int], int]]] = _library_sizes

    def operator_threads(self) -> int:
        return self.threads or max(1, len(os.sched_getaffinity(0)) // self.gpus)

    def private_directory(self) -> Path:
        """Workers' sockets lie here; also the lock that says that the service lives."""
        return Path(self.socket + ".d")
