"""What a node service is told at its start."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..executor import Shared, shared
from ..paths import executor_library

GIB = 1 << 30
#: Less than half of what PyTorch's own watchdog waits for a collective (600 s), so that a recovery fits before it.
HANG_SECONDS = 240.0
SLOTS = 64
#: Sessions' ranges of addresses: a session's follows from its slot. PyTorch's expandable segments reserve more than the
#: GPU's memory per stream and pool, so ranges are large where sessions are: in the first slots.
ADDRESS_BASE = 0x2000_0000_0000
ADDRESS_BYTES = 1 << 38
LARGE_SLOTS = 16
LARGE_BYTES = 1 << 41
#: The same for pinned memory that client and worker share; the most that a session can have.
PINNED_BASE = ADDRESS_BASE + LARGE_SLOTS * LARGE_BYTES + (SLOTS - LARGE_SLOTS) * ADDRESS_BYTES
PINNED_MOST = 1 << 36


def address_range(slot: int) -> tuple[int, int]:
    """First address and size."""
    if slot < LARGE_SLOTS:
        return ADDRESS_BASE + slot * LARGE_BYTES, LARGE_BYTES
    return ADDRESS_BASE + LARGE_SLOTS * LARGE_BYTES + (slot - LARGE_SLOTS) * ADDRESS_BYTES, ADDRESS_BYTES


def worker_command() -> list[str]:
    return [sys.executable, "-m", "jitc.proxy.worker"]


def _library_shared() -> Shared:
    return shared(executor_library())


@dataclass(frozen=True)
class Config:
    """All of it is fixed for the service's life."""

    socket: str
    device: str = "software"
    gpus: int = 0  # physical ones; 0: one software device, all NVIDIA GPUs
    workers_per_gpu: int = 1  # virtual GPUs, each with a worker of its own, on one physical GPU
    memory_limit: int = 0  # of a virtual GPU; 0: the device's own, divided
    threads: int = 0  # of one operator; 0: cores divided by GPUs
    hang_seconds: float = HANG_SECONDS  # nothing heard, no progress for so long: a fault; 0: never
    driver: str = ""  # paths of NVIDIA's libraries; empty: looked for
    nccl: str = ""
    cublas: str = ""
    cublaslt: str = ""
    nvrtc: str = ""
    cudnn: str = ""
    validate_every: int = 0  # boundaries between validations (recovery/validation.py); 0: only when asked
    images_limit: int = 4 * GIB  # module images kept for all sessions
    journal_bytes: int = GIB // 2
    snapshot_bytes: int = 64 * GIB  # virtual: only what is written takes memory
    pinned_bytes: int = 4 * GIB  # virtual too; 0: pinned memory is not shared
    spill_bytes: int = 8 * GIB
    spill_dir: str = "/var/tmp"
    spares: int = 1
    worker: list[str] = field(default_factory=worker_command)
    #: Bytes of the board, and of a communicator's segment for so many ranks.
    shared: Callable[[], Shared] = _library_shared

    def operator_threads(self) -> int:
        return self.threads or max(1, len(os.sched_getaffinity(0)) // max(1, self.gpus))

    def private_directory(self) -> Path:
        """Workers' sockets lie here; also the lock that says that the service lives."""
        return Path(self.socket + ".d")

    def images_directory(self) -> Path:
        """Module images that programs sent; gone with the service."""
        return self.private_directory() / "images"
