"""The table of options: values, default and dependents of each.

Called by: `generator.py` (the configuration's fields, the options of workers, the table of docs/cli.md) and the
commands (their parser, and the message about a wrong value). An option that is added here is on the command line of
`jitc-proxyd` and `jitc run`, in the service's configuration as `Config.FIELD`, and, if workers receive it, in the
executor as a field of `DeviceOptions::given`; only the code that reads it there remains to be written.
"""

from __future__ import annotations

from dataclasses import dataclass

from jitc.ops.options.values import (
    GIB,
    MIB,
    TIB,
    Choice,
    File,
    Flag,
    Folder,
    Number,
    Percent,
    Seconds,
    Size,
    Values,
    size_text,
)  # fmt: skip

#: GPUs that a program can tell apart (kGpuLimit of the client's runtime).
GPUS_MOST = 64
#: The most addresses that a session has; no GPU has more memory for it.
MEMORY_MOST = 1 << 41
PINNED_MOST = 1 << 36
#: What becomes of numbers that a program has read and that a replay gives otherwise (determinism/tolerance.py).
STRICT, TOLERANT, AUTO = MISMATCHES = ("strict", "tolerant", "auto")
#: Less than half of what PyTorch's own watchdog waits for a collective (600 s), so that a recovery fits before it.
HANG_SECONDS = 240.0

#: PyTorch's allocator takes 2 MiB for small tensors and 20 MiB for others.
MEMORY = Size(32 * MIB, MEMORY_MOST)
#: Two boundaries of the least memory. Every session maps as much, of which only what is written takes memory.
COPIES = Size(2 * MEMORY.least, TIB)
SEED = Number(0, (1 << 63) - 1, "SEED")
Default = int | float | str | bool | None

# -- the options --------------------------------------------------------------------------------------------

DEVICES, ROOM, FAULTS, DETERMINISM, LIBRARIES, TESTS = GROUPS = (
    "devices", "limits", "faults", "determinism", "NVIDIA's libraries", "tests of a program",
)  # fmt: skip
SOFTWARE, CUDA = ("software",), ("cuda",)


@dataclass(frozen=True)
class Option:
    """One option. Its name has no dashes in front."""

    name: str
    #: Of the configuration; empty: it is divided among others (OVERHEAD_PARTS).
    field: str
    values: Values
    #: As it is written on the command line (a Percent in percent). None: see `otherwise`.
    default: Default
    #: Half a sentence, for --help and docs/cli.md. A line in `docs/cli.md` below the table may say more.
    help: str
    group: str
    #: What is taken where it is not given, if that follows from the machine or from other options.
    otherwise: str = ""
    #: Kinds of device that it goes with; none: all. `because`: why not with others.
    devices: tuple[str, ...] = ()
    because: str = ""
    #: Sessions, their memory and their workers depend on it: a service that takes over running jobs must have the same.
    binding: bool = False
    #: Workers are given it.
    worker: bool = False

    @property
    def without_it(self) -> str:
        """Returns what is used if the option is not given, in words."""
        if self.otherwise:
            return self.otherwise
        if isinstance(self.values, Flag):
            return "off"
        if isinstance(self.values, Size) and self.default:
            return size_text(int(self.default))
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)


def _library(name: str, file: str) -> Option:
    return Option(
        name, "libraries", File(), None, f"{file} to use", LIBRARIES, "wheels on the import path, then the system's",
        devices=CUDA, binding=True,
    )  # fmt: skip


OPTIONS = (
    Option("device", "device", Choice(("software", "cuda")), "software", "kind of device", DEVICES, binding=True),
    Option(
        "gpus", "gpus", Number(1, GPUS_MOST), 0, f"number of GPUs; times --workers-per-gpu at most {GPUS_MOST}",
        DEVICES, "software: 1; cuda: all visible ones", binding=True,
    ),
    Option(
        "spare-gpus", "spare_gpus", Number(0, GPUS_MOST - 1), 0,
        "the last N of the GPUs are spares, which programs do not see: they replace lost ones", DEVICES, binding=True,
    ),
    Option(
        "workers-per-gpu", "workers_per_gpu", Number(1, GPUS_MOST, "K"), 1,
        "each physical GPU is served as K GPUs, with a worker and a share of the memory each", DEVICES, devices=CUDA,
        binding=True,
    ),
    Option(
        "memory-limit", "memory_limit", MEMORY, 0, "memory of a GPU as programs see it",
        DEVICES, "software: 4GiB, or a share of half of a container's limit; cuda: all, divided by K",
        binding=True,
    ),
    Option(
        "threads", "threads", Number(1, 512), 0,
        "threads of one operator; the same number gives the same results", DEVICES, "cores divided by GPUs",
        binding=True,
    ),
    Option("spares", "spares", Number(0, GPUS_MOST), 1, "warm spare workers", DEVICES),
    # A journal needs two chunks of 4 MiB and its list of chunks. Every session's is mapped whole, as copies are.
    Option(
        "journal-limit", "journal_bytes", Size(16 * MIB, TIB), GIB // 2,
        "memory for a session's ops since the last boundary; more goes to a file in --spill-dir", ROOM, binding=True,
    ),
    Option(
        "copies-limit", "snapshot_bytes", COPIES, 0,
        "host memory of all sessions for copies of live device memory, allocated as needed", ROOM,
        "half of the memory that is available at the start", binding=True,
    ),
    # One of PyTorch's own images can have 100 MB.
    Option(
        "images-limit", "images_limit", Size(256 * MIB, TIB), 4 * GIB,
        "disk space of all sessions, beside the socket, for the images of kernels that programs sent", ROOM,
        binding=True, worker=True,
    ),
    Option(
        "pinned-limit", "pinned_bytes", Size(MIB, PINNED_MOST, "none", unit=4096), 4 * GIB,
        "a session's pinned memory that program and worker share, allocated as needed", ROOM, binding=True,
    ),
    Option(
        "spill-limit", "spill_bytes", Size(16 * MIB, TIB, "none"), 8 * GIB,
        "disk space for a session's ops that its journal has no memory for, allocated as needed", ROOM, binding=True,
    ),
    Option(
        "spill-dir", "spill_dir", Folder(), "/var/tmp", "folder for spilled journals; the files have no name", ROOM,
    ),
    # A dump of less says nothing.
    Option(
        "core-limit", "core_limit", Size(MIB, TIB, "none"), 0,
        "size of the core dump that a worker leaves when it crashes", ROOM,
    ),
    Option(
        "hang-seconds", "hang_seconds", Seconds(0.1, 1e6, "never"), HANG_SECONDS,
        "a worker that does not answer, or work that makes no progress, for this time is a fault", FAULTS, worker=True,
    ),
    Option(
        "overhead", "", Percent("", least=0.1), None,
        "percent of a job's time for work before a fault: half for boundaries, most of the rest for reserves, a "
        "twentieth for validations, unless the three budgets below override it", FAULTS, "the three below",
    ),
    Option(
        "boundary-budget", "boundary_share", Percent("all are made"), None,
        "percent of a job's time for boundaries; those that would take more are skipped, and a fault goes back further",
        FAULTS, "cuda: 1; software: 0",
    ),
    Option(
        "reserve-budget", "reserve_share", Percent("never"), 1.0,
        "percent of a job's time for reserves: copies of blocks that only peers hold, in case all of these are lost at "
        "once", FAULTS,
    ),
    Option(
        "validate-every", "validate_every", Number(0, (1 << 31) - 1), 1000,
        "optimizer steps between two validations of a job, at least: a minibatch is run twice and compared; 0: never",
        DETERMINISM,
    ),
    Option(
        "validate-budget", "validate_share", Percent("any"), 0.1,
        "percent of a job's time for validations after its first one, which then come less often", DETERMINISM,
    ),
    Option(
        "heal-replicas", "heal_replicas", Flag(), False,
        "a rank whose block differs from the majority of former replicas takes the majority's bytes", DETERMINISM,
    ),
    Option(
        "replay-mismatch", "replay_mismatch", Choice(MISMATCHES), AUTO,
        "numbers that a program has read and that differ in a replay end it (strict), or are tolerated within a bound "
        "(tolerant); auto: depends on the job's validations", DETERMINISM,
    ),
    _library("driver", "libcuda.so.1"),
    _library("nccl", "libnccl.so.2"),
    _library("cublas", "libcublas"),
    _library("cublaslt", "libcublasLt"),
    _library("nvrtc", "libnvrtc"),
    _library("cudnn", "libcudnn.so.9"),
    Option(
        "noise", "noise", SEED, 0, "sums are added in another order each time, as on GPUs; 0: never", TESTS,
        devices=SOFTWARE, because="a GPU needs none", binding=True, worker=True,
    ),
    Option(
        "check-order", "check_order", Flag(), False,
        "reports ops of a program that touch the same memory, one of them writing, with no order between them", TESTS,
        devices=SOFTWARE, because="the memory that a kernel touches is unknown", binding=True, worker=True,
    ),
    Option(
        "shuffle", "shuffle", SEED, 0,
        "delays streams, reports and answers at random, to find code that depends on timing; 0: never", TESTS,
        devices=SOFTWARE, binding=True, worker=True,
    ),
)  # fmt: skip
BY_NAME = {one.name: one for one in OPTIONS}

#: Of --overhead, for each of the budgets that it is divided into.
OVERHEAD_PARTS = {"boundary_share": 0.5, "reserve_share": 0.45, "validate_share": 0.05}
#: Percent of a job's time for boundaries where nothing is said.
BOUNDARY_BUDGETS = {"software": 0.0, "cuda": 1.0}
