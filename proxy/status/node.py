"""`jitc status --json`: GPUs of the node, sessions on them.

Called by: the Admin service, which fills it in; schema.py and tables.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from .model import BYTES, SECONDS, says


@dataclass(frozen=True, kw_only=True)
class Turns:
    """Turns at a GPU on which sessions do not fit together."""

    moved_out: int = says("how often its memory was moved out of the GPU since its worker has it")
    bytes: int = says("how much that was together", BYTES)
    seconds: float = says("that moving it took, out and in", SECONDS)
    waits: bool = says("its memory is out of the GPU now")


@dataclass(frozen=True, kw_only=True)
class BoundaryPhases:
    """Where the time of steps and boundaries went; zeros of a worker that does not answer."""

    boundaries: int = says("boundaries of its worker that these numbers are the sum of")
    hashed_bytes: int = says(
        "live memory that was hashed, or whose hash was known because nothing can have written it", BYTES
    )
    copied_bytes: int = says("live memory that was copied", BYTES)
    seconds: dict[str, float] = says(
        "until the device had done all work (`drain`), for hashes (`hash`) and copies (`copy`) of live memory, for "
        "copies that were made while the device did the next minibatch (`beside`; the job does not wait for them), for "
        "the record in the journal (`record`), and until all ranks had reached the step (`gather`)", SECONDS,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Reserve:
    """A boundary of which all ranks have copies of everything, beside newer ones that need peers."""

    boundary: int = says("its number, 0: there is none")
    every: int = says("boundaries that lie between two reserves")


@dataclass(frozen=True, kw_only=True)
class SessionStatus:
    """A session: one process on one GPU, with a worker process of its own."""

    pid: int = says(
        "of the program, as the service sees it; in a container whose processes the service does not see, as it is "
        "there"
    )
    job: str = says(
        "what the launcher calls the job, else its first process; sessions that communicators connect have the same"
    )
    worker_pid: int | None = says("of its worker; null: it has none now")
    rank: int = says("in the job, -1 where the launcher did not say")
    world_size: int = says("ranks of the job, 0 where the launcher did not say")
    host: int = says("the GPU that serves it: another one than its own while that is lost")
    state: str = says("`opening`, `serving`, `fenced`, `lost`, `held` or `failed`")
    waiting_for: str = says("what it waits for, such as `communicator of 4 ranks: rank 2, 3 missing`")
    boundary: int = says("the newest boundary that was made")
    journal_bytes: int = says("in use of its journal", BYTES)
    memory_used: int = says("of device memory", BYTES)
    copies_bytes: int = says("how large its copies of live memory are", BYTES)
    copies_held_bytes: int = says("host memory that is held for them, with what is kept for the next boundary", BYTES)
    boundary_phases: BoundaryPhases = says("where the time of steps and boundaries went")
    turns: Turns = says("at a GPU where [ranks do not fit together](guarantees.md#ranks-that-do-not-fit-on-one-gpu)")
    ops_executed: int = says("ops that its device has executed")
    diverged: int = says(
        "blocks that other ranks hold differently though they were replicas: of the odd ranks, or of all where no "
        "majority agrees"
    )
    compared: int = says("the newest boundary at which the service has compared what ranks hold, 0: none so far")
    uneven_steps: bool = says(
        "the ranks of its job make [different steps](guarantees.md#ranks-that-make-different-steps)"
    )
    boundaries_apart: int = says("k where only every k-th boundary is made")
    reserve: Reserve = says("its newest reserve")
    hang_seconds: float = says(
        "how long it may make no progress while others [wait for it](guarantees.md#hangs), 0 for a job of one rank",
        SECONDS,
    )
    races: int = says("what `--check-order` found in it")


@dataclass(frozen=True, kw_only=True)
class GpuStatus:
    """A GPU as programs see it, or a spare one."""

    index: int = says("by which `--gpu` names it")
    device: str = says("kind of device: `software` or `cuda`")
    name: str = says("of the device")
    physical: int = says("number of the physical GPU: those with the same share one")
    state: str = says("`starting`, `ready`, `recovering` or `failed`")
    worker_pid: int | None = says("of its first session's worker, or of the worker that waits for one; null: none")
    spare: bool = says("programs do not see it")
    memory_used: int = says("by the sessions that it serves", BYTES)
    memory_total: int = says("that programs see", BYTES)
    sessions: list[SessionStatus] = says("whose own GPU it is")
    recoveries: int = says("so far")


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Host memory for copies of live device memory, of all sessions together."""

    held_bytes: int = says("that is held now", BYTES)
    limit_bytes: int = says("that may be held at most", BYTES)


@dataclass(frozen=True, kw_only=True)
class Status:
    """The document of `jitc status --json`."""

    gpus: list[GpuStatus] = says("of the node")
    copies: Copies = says("host memory for copies of live device memory")
    shuffle: int = says("the seed of `--shuffle`, 0: nothing is shuffled")
