"""Variables of the environment that jitc reads: a table.

Called by: `pages/` (the table of docs/cli.md), `doctor/` (which names variables that nothing reads). Variables of
options are made from the options' table (settings/setting.py).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Variable:
    """Variables that belong together."""

    names: tuple[str, ...]
    read_by: str
    #: Half a sentence for docs/cli.md, with its links.
    help: str
    #: A name is shown with the value that has an effect.
    value: str = ""


VARIABLES = (
    Variable(("JITC_SOCKET", "XDG_RUNTIME_DIR"), "programs, `jitc`, `jitc-proxyd`", "the socket, see above"),
    Variable(
        ("JITC_CONFIG",),
        "`jitc-proxyd`, `jitc run`",
        "file of [options](#options-from-the-environment-and-a-file); each option is a variable too",
    ),
    Variable(
        ("JITC_SERVICE_TIMEOUT",),
        "programs, `jitc`",
        "seconds (120) to wait for a service that does not answer; commands: for one that may just begin",
    ),
    Variable(("CUDA_VISIBLE_DEVICES",), "programs, `jitc-proxyd --device cuda`", "the visible GPUs, as with CUDA"),
    Variable(
        ("RANK", "WORLD_SIZE"),
        "programs",
        "rank in the job, for `status` and `report`; Open MPI's and Slurm's are read too",
    ),
    Variable(
        (
            "JITC_JOB",
            "SLURM_JOB_ID",
            "SLURM_JOB_NAME",
            "SLURM_STEP_ID",
            "KUBERNETES_SERVICE_HOST",
            "HOSTNAME",
            "POD_NAMESPACE",
            "TORCHELASTIC_RUN_ID",
            "MASTER_ADDR",
            "MASTER_PORT",
        ),
        "programs",
        "the [name of the job](#names-of-jobs)",
    ),
    Variable(
        ("JITC_CACHE", "XDG_CACHE_HOME"),
        "programs, `jitc`, `jitc-proxyd`",
        "where native parts are kept that are built at first use ([installation](installation.md#pytorch))",
    ),
    Variable(
        ("XDG_CONFIG_HOME",),
        "`jitc cluster`, `jitc doctor`, `jitc-proxyd`",
        "users other than root: the folder of [certificates of nodes](#certificates-of-nodes), below its `jitc`",
    ),
    Variable(
        ("JITC_CLUSTER_PASSWORD",),
        "`jitc-proxyd`, `jitc doctor`, `jitc cluster show`",
        "the password of `--cluster-user`, which a command line would show to everybody",
    ),
    Variable(("CXX",), "programs, `jitc`, `jitc-proxyd`", "the compiler for them"),
    Variable(
        ("GRPC_VERBOSITY",),
        "`jitc`, `jitc-proxyd`",
        "what gRPC prints by itself (`ERROR`; `INFO`: also each connection that ends); not that of programs",
    ),
    Variable(("JITC_KNOWN_FIXES",), "programs", "the same as `jitc run --known-fixes`", "1"),
    Variable(
        ("JITC_STORE_PER_ATTEMPT",),
        "torchrun and other launchers",
        "attempts of a restarted job share PyTorch's store, as without jitc "
        "([guarantees](guarantees.md#a-rank-whose-program-has-ended))",
        "0",
    ),
    Variable(
        ("JITC_COMPILE_ON_HOST",),
        "programs on the software device",
        "`torch.compile` compiles no C++ kernels there, see [guarantees.md](guarantees.md)",
        "0",
    ),
    Variable(
        ("JITC_POISON",),
        "workers, from the service",
        "poisons memory that a recovery does not restore, so that a replay that reads it is noticed",
        "1",
    ),
    Variable(
        ("JITC_MARK_EVERY_OP",),
        "workers with `--device cuda`, from the service",
        "for diagnosis, slow: each op has its own mark, which shows the op that the GPU does not complete",
        "1",
    ),
    Variable(
        ("JITC_PLAIN_COPIES",),
        "workers with `--device cuda`, from the service",
        "for diagnosis, slow: no memory of boundaries is registered with the driver",
        "1",
    ),
    Variable(
        ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "FDSTORE"),
        "`jitc-proxyd`, `jitc store`",
        "readiness, and of `jitc-proxyd` signs of life, for systemd, and descriptors for its store",
    ),
    Variable(("LISTEN_FDS", "LISTEN_PID"), "`jitc-proxyd`", "the listening socket that systemd has made"),
    Variable(("NO_COLOR", "TERM", "COLUMNS", "LINES"), "`jitc`", "[tables and colour](#on-a-terminal)"),
    Variable(("TMPDIR",), "`jitc run`", "the folder of its service's socket"),
)
