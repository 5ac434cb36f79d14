"""`jitc status --json`: GPUs of the node, sessions on them.

Called by: the Admin service, which fills it in; schema.py and tables.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from .model import BYTES, SECONDS, TIME, says


@dataclass(frozen=True, kw_only=True)
class Turns:
    """Turns at a GPU on which sessions do not fit together."""

    moved_out: int = says("number of times that its memory was moved out of the GPU since its worker has it")
    bytes: int = says("total size of these moves", BYTES)
    seconds: float = says("time spent on moving it, out and in", SECONDS)
    waits: bool = says("its memory is moved out now")


@dataclass(frozen=True, kw_only=True)
class BoundaryPhases:
    """The time spent on steps and boundaries; zeros for a worker that does not answer."""

    boundaries: int = says("number of its worker's boundaries that these figures cover")
    hashed_bytes: int = says(
        "live memory that was hashed, or whose hash was known because it cannot have been written", BYTES
    )
    copied_bytes: int = says("live memory that was copied", BYTES)
    seconds: dict[str, float] = says(
        "until the device had done all work (`drain`), for hashes (`hash`) and copies (`copy`) of live memory, for "
        "copies that were made while the device ran the next minibatch (`beside`; the job does not wait for them), for "
        "the record in the journal (`record`), and until all ranks had reached the step (`gather`)", SECONDS,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Reserve:
    """A boundary of which all ranks have copies of everything, besides newer ones that need peers."""

    boundary: int = says("its number, 0: none")
    every: int = says("number of boundaries between two reserves")


@dataclass(frozen=True, kw_only=True)
class SessionStatus:
    """A session: one process on one GPU, with its own worker process."""

    pid: int = says(
        "process number of the program as the service sees it; for a container whose processes the service does not "
        "see, the number there"
    )
    job: str = says(
        "[name of the job](#names-of-jobs), otherwise its first process; the same for sessions that communicators "
        "connect"
    )
    user: str = says("name of the user whose program it is, otherwise the number")
    node: str = says("name of its node; empty: the service is in no cluster")
    other_nodes: list[str] = says("names of the other nodes that have ranks of its job")
    worker_pid: int | None = says("process number of its worker; null: none now")
    rank: int = says("rank in the job, -1 if the launcher did not set it")
    world_size: int = says("number of ranks of the job, 0 if the launcher did not set it")
    host: int = says("the GPU that serves it: not its own while that is lost")
    state: str = says("`opening`, `serving`, `fenced`, `lost`, `held` or `failed`")
    waiting_for: str = says("what it waits for, such as `communicator of 4 ranks: rank 2, 3 missing`")
    trouble: str = says(
        "why its job cannot be recovered at present, as far as its node knows: a node that cannot be reached, a store "
        "that gives no epoch, or no node that leads the job; empty: nothing is known"
    )
    boundary: int = says("the newest boundary that was made")
    journal_bytes: int = says("used size of its journal", BYTES)
    memory_used: int = says("its device memory", BYTES)
    copies_bytes: int = says("size of its copies of live memory", BYTES)
    copies_held_bytes: int = says("host memory held for them, including memory kept for the next boundary", BYTES)
    boundary_phases: BoundaryPhases = says("time spent on steps and boundaries")
    turns: Turns = says("turns at a GPU that [ranks do not fit on](guarantees.md#ranks-that-do-not-fit-on-one-gpu)")
    ops_executed: int = says("number of ops that its device has executed")
    diverged: int = says(
        "number of former replicas whose content differs from other ranks': for the odd ranks, or for all if no "
        "majority agrees"
    )
    compared: int = says("the newest boundary at which the service has compared the ranks' blocks, 0: none so far")
    uneven_steps: bool = says(
        "the ranks of its job make [different steps](guarantees.md#ranks-that-make-different-steps)"
    )
    boundaries_apart: int = says("k if only every k-th boundary is made")
    reserve: Reserve = says("its newest reserve")
    hang_seconds: float = says(
        "longest time without progress while others [wait for it](guarantees.md#hangs), 0 for a job of one rank",
        SECONDS,
    )
    races: int = says("number of races that `--check-order` found in it")


@dataclass(frozen=True, kw_only=True)
class GpuStatus:
    """A GPU as programs see it, or a spare one."""

    index: int = says("its number, as in `--gpu`")
    node: str = says("name of its node; empty: the service is in no cluster")
    device: str = says("kind of device: `software` or `cuda`")
    name: str = says("name of the device")
    physical: int = says("number of the physical GPU: GPUs with the same number share one")
    state: str = says("`starting`, `ready`, `recovering` or `failed`")
    worker_pid: int | None = says(
        "process number of its first session's worker, or of the worker that waits for a session; null: none"
    )
    spare: bool = says("it is a spare that programs do not see")
    memory_used: int = says("memory used by the sessions that it serves", BYTES)
    memory_total: int = says("memory that programs see", BYTES)
    sessions: list[SessionStatus] = says("sessions whose own GPU it is")
    recoveries: int = says("number of recoveries so far")


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Host memory for copies of live device memory, of all sessions together."""

    held_bytes: int = says("memory held now", BYTES)
    limit_bytes: int = says("the most memory that may be held", BYTES)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A node that `--all-nodes` has asked."""

    node: str = says("its name")
    trouble: str = says("why it does not answer; empty: it has answered")


@dataclass(frozen=True, kw_only=True)
class Status:
    """The document of `jitc status --json`. That of several nodes has the GPUs of all that answer, the sum of their
    copies, and the newest start."""

    gpus: list[GpuStatus] = says("GPUs of the node, or of all nodes")
    copies: Copies = says("host memory for copies of live device memory")
    shuffle: int = says("the seed of `--shuffle`, 0: nothing is shuffled")
    started: float = says("when this service started; one that takes over running jobs starts anew", TIME)
    nodes: list[Asked] = says("nodes that were asked; empty without `--all-nodes`")
