"""The ways to survive that are compared: a program, what launches it, and what it promises.

Settings are the best that were found for a fast recovery; those that are not a library's own are here and in the
programs, and bench/README.md has them beside the table. Called by: run.py, __main__.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RANKS = 2
_ELASTIC = ("--standalone", "--max-restarts", "3", "--nproc-per-node")
TORCHRUN = ("-m", "torch.distributed.run", *_ELASTIC, str(RANKS))
GROUP = ("-m", "torch.distributed.run", *_ELASTIC, "1")
FT = ("bin/ft_launcher", "--nproc-per-node", str(RANKS), "--max-restarts", "3", "--rdzv-backend", "c10d")
DLROVER = ("bin/dlrover-run", "--standalone", "--nnodes", "1", "--nproc_per_node", str(RANKS), "--max_restarts", "3")
#: A store of its own for each start of the ranks. In one that is the start's before, too, gloo may find addresses of
#: ranks that have ended: it then tries for seconds, or until its time is over.
EVERYWHERE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
#: A lighthouse asks for a group anew once its last heartbeat, of ten in a second, is that old; by itself after 5 s.
LIGHTHOUSE = (
    "--min_replicas", "1", "--quorum_tick_ms", "50", "--join_timeout_ms", "10000", "--heartbeat_timeout_ms", "1000",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One row. The defaults are those of what is started by torchrun and starts all its processes again."""

    name: str
    program: str
    environment: str = "pytorch"
    #: Its words after Python, or after the environment's folder where the first one begins with bin/.
    launcher: tuple[str, ...] = TORCHRUN
    #: What a launcher is for: the job; a "group" of one rank (torchft's); a "rank", as srun does it.
    each: str = "job"
    #: Processes that wait until one of the ranks is lost.
    reserve: int = 0
    env: Mapping[str, str] | None = None
    #: Steps from one checkpoint to the next, where they are not those of all others.
    every: int | None = None
    #: Options of the service; None: there is no jitc.
    service: tuple[str, ...] | None = None
    #: What is killed: a rank's process, or (jitc) the worker that serves it.
    worker: bool = False
    #: A process that was not killed goes on. Where it promises that and one ends, the row fails.
    survives: bool = False


PLAIN = "plain program"
CASES = (
    Case("jitc", "plain", service=(), worker=True, survives=True),
    Case("jitc, no spare worker", "plain", service=("--spares", "0"), worker=True, survives=True),
    Case("jitc, the rank's process killed", "plain", service=()),
    Case("torch.save, torchrun", "torch_save"),
    Case("DCP async_save, torchrun", "dcp_async"),
    Case("torchft", "torchft_groups", "torchft-nightly", GROUP, "group", env={"TORCHFT_STRICT": "0"}, survives=True),
    Case("torchft, strict", "torchft_groups", "torchft-nightly", GROUP, "group", env={"TORCHFT_STRICT": "1"},
         survives=True),
    Case("torchft, its release", "torchft_groups", "torchft", GROUP, "group", env={"TORCHFT_STRICT": "0"},
         survives=True),
    Case("NVRx in-process, a reserve rank", "nvrx_inprocess", "nvrx", (), "rank", reserve=1, survives=True),
    Case("NVRx ft_launcher", "nvrx_launcher", "nvrx", FT),
    Case("DLRover, in memory at each step", "dlrover_flash", "dlrover", DLROVER, every=1),
    Case("DLRover, in memory as often as others save", "dlrover_flash", "dlrover", DLROVER),
)  # fmt: skip
#: The program itself in each environment that has a PyTorch of its own.
PLAINS = {name: Case(PLAIN, "plain", name) for name in ("pytorch", "dlrover")}


def plain_of(case: Case) -> str:
    """The environment with the same PyTorch."""
    return case.environment if case.environment in PLAINS else "pytorch"
