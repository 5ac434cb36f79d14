"""`jitc report --json` and `jitc validate --json`: the events of the node.

Called by: the sources of these events (recoveries, validations, comparisons of replicas, races, injected faults);
schema.py and tables.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .model import BYTES, SECONDS, TIME, says
from .node import Asked


def _user(whose: str) -> Any:
    """Describes the user of an event, whom the Admin service fills in: its sources know no other user."""
    return says(f"name of the user whose {whose}, otherwise the number", default="")


def _node() -> Any:
    """Describes the node that tells of an event, which the Admin service fills in, too."""
    return says("name of the node that tells of it; empty: the service is in no cluster", default="")


@dataclass(frozen=True, kw_only=True)
class Differences:
    """Numbers that the program had read and that differed when its ops ran again."""

    results: int = says("how many")
    largest: float = says("the largest relative difference")


@dataclass(frozen=True, kw_only=True)
class BoundedDifferences(Differences):
    """The same, in a recovery."""

    bound: float = says("largest difference that was tolerated")


@dataclass(frozen=True, kw_only=True)
class SessionBoundary:
    """The boundary that a session went back, or forward, to."""

    session: int = says("its number")
    boundary: int = says("number of its boundary")


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The position of a rank when it was stopped."""

    session: int = says("its number")
    prepared: int = says("its newest boundary")
    begun: int = says("number of optimizer steps that it has begun")
    lost: bool = says("its device memory is lost")
    executed: int = says("number of ops that its device has executed")
    received: int = says("number of ops that its worker has received")
    committed: int = says("the newest boundary that belongs with one of each other rank")
    reached: int = says("number of optimizer steps that it has reached")
    reserves: list[int] = says("boundaries of which it has copies of everything")
    kept: list[int] = says("all boundaries that it keeps; 0 is the start")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A GPU of a node."""

    node: str = says("name of the node; empty: the service is in no cluster")
    gpu: int = says("number of the GPU there")


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The result of the [comparison of ranks](guarantees.md#a-recovery-proves-itself) after a recovery."""

    state: str = says(
        "`pending` until all ranks have a boundary after the recovery, then `proven` or `not proven`; `nothing to "
        "compare` if collectives agree but no blocks are known to have been equal (one rank, different "
        "steps, memory outside PyTorch's allocator); `not compared` if another recovery, or a program's end, came "
        "first"
    )
    boundary: int = says("boundary at which they were compared")
    blocks: int = says("number of blocks that were equal before and are equal")
    text: str = says("the differences, or why nothing was compared")
    seconds: float = says("time that it took the service", SECONDS)


@dataclass(frozen=True, kw_only=True)
class PhaseSpan:
    """A phase of one attempt."""

    phase: str = says("`detect`, `fence`, `rebuild`, `decide`, `restore`, `resume` or `replay`")
    at: float = says("start after the fault was noticed", SECONDS)
    seconds: float = says("duration", SECONDS)
    attempt: int = says("number of the attempt, from 1 on")


@dataclass(frozen=True, kw_only=True)
class RankSpan:
    """An activity of a rank's worker."""

    phase: str = says("`fence`, `rebuild`, `restore`, `resume` or `replay`")
    at: float = says("start after the fault was noticed", SECONDS)
    seconds: float = says("duration", SECONDS)


@dataclass(frozen=True, kw_only=True)
class RankTimes:
    """The activity of a rank during a recovery. It computes again after its `replay`."""

    session: int = says("its number")
    name: str = says("name of the rank, for users")
    rank: int = says("rank in the job, -1: unknown")
    node: str = says("name of its node; empty: the service is in no cluster")
    gpu: int = says("its own GPU")
    lost: bool = says("its device memory was lost")
    computed: float = says("time from its start, or its last recovery, until it was stopped", SECONDS)
    stopped: float = says("time at which it stopped, after the fault was noticed", SECONDS)
    waited: float = says("time of waiting for other ranks, between its spans", SECONDS)
    spans: list[RankSpan] = says("its spans; only the newest 50,000 of all recoveries are kept")


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """One recovery. Its seconds end when all ops that had run before have run again, and start when the fault was
    noticed: with the worker's end, with a silent worker's last answer, with the report of an op that failed; for a
    hang, when progress stopped, and for an injected fault, when it fired."""

    time: float = says("when it was reported", TIME)
    job: str = says("job whose ranks were recovered")
    user: str = _user("job it is")
    node: str = _node()
    cause: str = says("the detected fault, such as `worker-death`")
    message: str = says("message of the device or the library, if there is one")
    gpu: int | None = says("the first of `gpus`")
    gpus: list[int] = says("GPUs on which the faults were noticed")
    places: list[Place] = says("the same, with their nodes")
    culprits: list[str] = says("ranks that hung, or that others waited for")
    decision: str = says("`roll-back`, `roll-forward` or `none`")
    boundary: int | None = says("boundary that it led to; the largest if sessions have different ones")
    boundaries: list[SessionBoundary] = says("boundary of each session")
    seconds: float = says("total duration, the sum of `phases`", SECONDS)
    phases: dict[str, float] = says("duration of each phase, over all attempts", SECONDS)
    bytes_restored: int = says("device memory that was restored", BYTES)
    bytes_from_peers: dict[str, int] = says(
        "the part of these that came from other ranks: over `nccl`, or through the node's memory (`host`)", BYTES
    )
    notes: list[str] = says("a line for each transfer over NCCL that failed, and for kept copies that were damaged")
    sessions: list[str] = says("names of the ranks, for users")
    standings: list[Standing] = says("the position of each rank when it was stopped")
    attempts: int = says("number of attempts; above 1: another fault came during the recovery")
    differences: BoundedDifferences = says("numbers that differed")
    outcome: str = says(
        "`recovered`, `recovered, not bit-identical` (see `differences`), or begins with `not proven:`, `given up:` or "
        "`the program's own error`"
    )
    began: float = says("when the fault was noticed", TIME)
    timeline: list[PhaseSpan] = says("each phase of each attempt")
    ranks: list[RankTimes] = says("the activity of each rank, in the order of ranks")
    proof: Proof = says("result of the comparison of ranks after it")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block of device memory of a session."""

    session: int = says("its number")
    address: int = says("address as the program sees it")
    bytes: int = says("its size", BYTES)
    ordinal: int = says("position in the program's list of live blocks")


@dataclass(frozen=True, kw_only=True)
class Validation:
    """A minibatch that was run twice and compared (`jitc validate --json` prints one)."""

    time: float = says("time of the verdict", TIME)
    user: str = _user("job it is")
    node: str = _node()
    gpus: list[int] = says("GPUs of the job")
    sessions: list[str] = says("names of the ranks, for users")
    step: int = says("the optimizer step before which memory was compared")
    outcome: str = says(
        "`identical`, `different` or `interrupted: ...` (a fault came in between, or the process ended)"
    )
    blocks: int = says("number of compared blocks")
    bytes: int = says("size of compared blocks", BYTES)
    unwritten: int = says("number of blocks that the minibatch left partly unwritten, which is no difference")
    seconds: float = says("time for which ranks were stopped", SECONDS)
    different: list[Block] = says("blocks that differ")
    differences: Differences = says("numbers that the program had read and that differed")


@dataclass(frozen=True, kw_only=True)
class DivergedBlock:
    """A block of a rank whose content now differs from other ranks'."""

    rank: str = says("name of the rank, for users")
    gpu: int = says("GPU of the rank")
    address: int = says("address as the program sees it")
    bytes: int = says("its size", BYTES)
    ordinal: int = says("position in the program's list of live blocks")


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """Replicas that no longer agree, reported once."""

    time: float = says("time of the detection", TIME)
    job: str = says("job of the ranks")
    user: str = _user("job it is")
    node: str = _node()
    boundary: int = says("boundary at which they differed")
    gpus: list[int] = says("GPUs of these ranks")
    sessions: list[str] = says("names of the ranks, for users")
    odd: list[str] = says(
        "ranks whose content differs from the majority of former replicas; empty if no majority agrees"
    )
    blocks: list[DivergedBlock] = says("blocks of the odd ranks, or of each rank if no majority agrees")
    outcome: str = says(
        "begins with `left as it is`, `the majority's bytes will be taken`, `not healed`, `healed at boundary N` or "
        "`the ranks agreed again`"
    )


@dataclass(frozen=True, kw_only=True)
class RaceSide:
    """One of the two operators of a race."""

    op: str = says("operator that ran")
    operator: str = says("function of PyTorch that the program called; empty: none")
    place: str = says("its lines in the program, the outermost first")
    stream: int = says("its stream; 0 is the default stream")
    sequence: int = says("sequence number of the op, in the first rank")
    writes: bool = says("whether it writes the memory")


@dataclass(frozen=True, kw_only=True)
class Race:
    """Two operators that touch the same memory with [no order between them](finding-races.md)."""

    time: float = says("time of the first detection", TIME)
    job: str = says("job of the ranks")
    user: str = _user("job it is")
    node: str = _node()
    sessions: list[str] = says("names of the ranks in which it was found")
    first: RaceSide = says("the operator that was submitted first")
    second: RaceSide = says("the operator after it")
    address: int = says("address in the first rank")
    bytes: int = says("size from the first to the last byte that both touch, including gaps of views", BYTES)


@dataclass(frozen=True, kw_only=True)
class Injected:
    """A fault of `jitc inject` that has fired in this service, not in one that it took over from."""

    time: float = says("when it was reported", TIME)
    user: str = _user("programs it was meant for")
    node: str = _node()
    gpu: int = says("GPU of the request")
    kind: str = says("name of the fault")
    detail: str = says("what happened, and where")


@dataclass(frozen=True, kw_only=True)
class Report:
    """The document of `jitc report --json`, each list oldest first."""

    recoveries: list[Recovery] = says("the newest 1,000")
    validations: list[Validation] = says("the newest 100")
    divergences: list[Divergence] = says("the newest 100")
    races: list[Race] = says("the first 1,000")
    injected: list[Injected] = says("the newest 1,000")
    nodes: list[Asked] = says("nodes that were asked; empty without `--all-nodes`")
