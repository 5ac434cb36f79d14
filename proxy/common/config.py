"""The configuration of a node service, and the limits of its values.

Called by: the commands (which make it), the service and everything in it. Promise: it does not change while the service
lives, and its defaults are those of the command line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .executor import Shared, shared
from .paths import executor_library

MIB, GIB, TIB = 1 << 20, 1 << 30, 1 << 40
#: Less than half of what PyTorch's own watchdog waits for a collective (600 s), so that a recovery fits before it.
HANG_SECONDS = 240.0
SLOTS = 64
#: Where the ranges of addresses of all sessions begin, best first: a driver need not give what it is asked for, so the
#: cuda back end tries them. From each of them all ranges end below the addresses of programs.
ADDRESS_BASES = (0x2000_0000_0000, 0x1000_0000_0000, 0x1800_0000_0000, 0x0800_0000_0000)
ADDRESS_BASE = ADDRESS_BASES[0]
#: Each session gets a range of its own (../node/addresses.py). PyTorch's expandable segments reserve more than the GPU
#: has per stream and pool, so ranges are large where sessions are: in the first ones.
ADDRESS_BYTES = 1 << 38
LARGE_SLOTS = 16
LARGE_BYTES = 1 << 41
#: The same for pinned memory that client and worker share; the most that a session can have.
PINNED_BASE = ADDRESS_BASE + LARGE_SLOTS * LARGE_BYTES + (SLOTS - LARGE_SLOTS) * ADDRESS_BYTES
PINNED_MOST = 1 << 36

# -- what the command line accepts ----------------------------------------------------------------
#: GPUs that a program can tell apart (kGpuLimit of the client's runtime).
GPUS_MOST = 64
THREADS_MOST = 512
#: Least and most of each.
HANG_LIMITS = 0.1, 1e6
#: Percent.
BUDGET_MOST = 50.0
#: Percent of a job's time for boundaries, of each kind of device. 0: all are made.
BOUNDARY_BUDGETS = {"software": 0.0, "cuda": 1.0}
#: PyTorch's allocator takes 2 MiB for small tensors and 20 MiB for others; no session has more addresses than the most.
MEMORY_LIMITS = 32 * MIB, LARGE_BYTES
#: A journal needs two chunks of 4 MiB and its list of chunks. Every session's is mapped whole, as copies are.
JOURNAL_LIMITS = 16 * MIB, TIB
#: Two boundaries of the least memory. Every session maps as much, of which only what is written takes memory.
COPIES_LIMITS = 2 * MEMORY_LIMITS[0], TIB
#: One of PyTorch's own images can have 100 MB.
IMAGES_LIMITS = 256 * MIB, TIB
#: A dump of less says nothing.
CORE_LIMITS = MIB, TIB
PINNED_LEAST = MIB


#: What becomes of numbers that a program has read and that a replay gives otherwise (determinism/tolerance.py).
STRICT, TOLERANT, AUTO = MISMATCHES = ("strict", "tolerant", "auto")


def worker_command() -> list[str]:
    return [sys.executable, "-m", "jitc.proxy.worker"]


def _library_shared() -> Shared:
    return shared(executor_library())


@dataclass(frozen=True)
class Config:
    """Fixed for the service's life."""

    socket: str
    device: str = "software"
    gpus: int = 0  # physical ones; 0: one software device, all NVIDIA GPUs
    spare_gpus: int = 0  # of them, the last ones, which programs do not see: they take the place of lost ones
    workers_per_gpu: int = 1  # virtual GPUs, each with a worker of its own, on one physical GPU
    memory_limit: int = 0  # of a virtual GPU; 0: the device's own, divided
    worker_overhead: int | None = None  # bytes of a shared GPU that each worker has beside its share; None: measured
    threads: int = 0  # of one operator; 0: cores divided by GPUs
    hang_seconds: float = HANG_SECONDS  # nothing heard, no progress for so long: a fault; 0: never
    libraries: Mapping[str, str] = field(default_factory=dict)  # what was named: option -> path; others are looked for
    boundary_share: float = 0.0  # of a job's time, for boundaries (recovery/spacing.py); 0: all are made
    reserve_share: float = 0.01  # of a job's time, for copies of everything in peer mode now and then; 0: none
    validate_every: int = 1000  # boundaries between validations (determinism/validation.py); 0: only on request
    validate_share: float = 0.001  # of a job's time, for validations after the first; 0: any
    replay_mismatch: str = AUTO  # one of MISMATCHES
    noise: int = 0  # software device: sums in another order each time, as a GPU; 0: as a CPU
    check_order: bool = False  # software device: report ops without an order between them (races.py)
    heal_replicas: bool = False  # an odd replica takes what most ranks hold (peer_mode/healing.py)
    images_limit: int = 4 * GIB  # module images kept for all sessions
    shuffle: int = 0  # software device: delays at random, drawn from this seed; 0: none
    journal_bytes: int = GIB // 2
    snapshot_bytes: int = 0  # for copies, all sessions together; 0: half of what the node has (take_over.py)
    pinned_bytes: int = 4 * GIB  # virtual too; 0: pinned memory is not shared
    spill_bytes: int = 8 * GIB
    spill_dir: str = "/var/tmp"
    spares: int = 1
    core_limit: int = 0  # bytes of a worker's core dump at most; 0: it leaves none
    address_bases: tuple[int, ...] = ADDRESS_BASES  # where sessions' ranges may begin, best first
    address_bytes: int = LARGE_BYTES  # of the largest range
    worker: list[str] = field(default_factory=worker_command)
    #: Bytes of the board, and of a communicator's segment for so many ranks.
    shared: Callable[[], Shared] = _library_shared

    def operator_threads(self) -> int:
        return self.threads or max(1, len(os.sched_getaffinity(0)) // max(1, self.gpus))

    def private_directory(self) -> Path:
        """Holds the workers' sockets, and the lock that shows that the service is alive."""
        return Path(self.socket + ".d")

    def images_directory(self) -> Path:
        """Module images that programs have sent; removed with the service."""
        return self.private_directory() / "images"
