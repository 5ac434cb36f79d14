"""The part of a node service's configuration that its options say.

Generated from protos/ops/options/table.py by `python -m jitc.interpose.generator`; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class ServiceOptions:
    """One field for each option; each has the option's default."""

    #: Kind of device.
    device: str = "software"
    #: Number of GPUs; times --workers-per-gpu at most 64 (0: software: 1; cuda: all visible ones).
    gpus: int = 0
    #: The last N of the GPUs are spares, which programs do not see: they replace lost ones.
    spare_gpus: int = 0
    #: Each physical GPU is served as K GPUs, with a worker and a share of the memory each.
    workers_per_gpu: int = 1
    #: Memory of a GPU as programs see it (0: software: 4GiB, or a share of half of a container's limit; cuda: all,
    #: divided by K).
    memory_limit: int = 0
    #: Threads of one operator; the same number gives the same results (0: cores divided by GPUs).
    threads: int = 0
    #: Warm spare workers.
    spares: int = 1
    #: Memory for a session's ops since the last boundary; more goes to a file in --spill-dir.
    journal_bytes: int = 536870912
    #: Host memory of all sessions for copies of live device memory, allocated as needed (0: half of the memory that is
    #: available at the start).
    snapshot_bytes: int = 0
    #: Disk space of all sessions, beside the socket, for the images of kernels that programs sent.
    images_limit: int = 4294967296
    #: A session's pinned memory that program and worker share, allocated as needed.
    pinned_bytes: int = 4294967296
    #: Disk space for a session's ops that its journal has no memory for, allocated as needed.
    spill_bytes: int = 8589934592
    #: Folder for spilled journals; the files have no name.
    spill_dir: str = "/var/tmp"
    #: Size of the core dump that a worker leaves when it crashes.
    core_limit: int = 0
    #: A worker that does not answer, or work that makes no progress, for this time is a fault.
    hang_seconds: float = 240.0
    #: Share of a job's time for boundaries; those that would take more are skipped, and a fault goes back further.
    boundary_share: float = 0
    #: Share of a job's time for reserves: copies of blocks that only peers hold, in case all of these are lost at once.
    reserve_share: float = 0.01
    #: Optimizer steps between two validations of a job, at least: a minibatch is run twice and compared; 0: never.
    validate_every: int = 1000
    #: Share of a job's time for validations after its first one, which then come less often.
    validate_share: float = 0.001
    #: A rank whose block differs from the majority of former replicas takes the majority's bytes.
    heal_replicas: bool = False
    #: Numbers that a program has read and that differ in a replay end it (strict), or are tolerated within a bound
    #: (tolerant); auto: depends on the job's validations.
    replay_mismatch: str = "auto"
    #: Paths of NVIDIA's libraries that were named, by their options' names; the others are looked for.
    libraries: Mapping[str, str] = field(default_factory=dict)
    #: Sums are added in another order each time, as on GPUs; 0: never.
    noise: int = 0
    #: Reports ops of a program that touch the same memory, one of them writing, with no order between them.
    check_order: bool = False
    #: Delays streams, reports and answers at random, to find code that depends on timing; 0: never.
    shuffle: int = 0


#: Fields that sessions, their memory and their workers depend on, and how their options are called.
BINDING = {
    "device": "--device",
    "gpus": "--gpus",
    "spare_gpus": "--spare-gpus",
    "workers_per_gpu": "--workers-per-gpu",
    "memory_limit": "--memory-limit",
    "threads": "--threads",
    "journal_bytes": "--journal-limit",
    "snapshot_bytes": "--copies-limit",
    "images_limit": "--images-limit",
    "pinned_bytes": "--pinned-limit",
    "spill_bytes": "--spill-limit",
    "libraries": "libraries",
    "noise": "--noise",
    "check_order": "--check-order",
    "shuffle": "--shuffle",
}
#: Fields that workers are given.
OF_WORKERS = (
    "images_limit",
    "hang_seconds",
    "noise",
    "check_order",
    "shuffle",
)
