"""`jitc report --json` and `jitc validate --json`: what has happened on the node.

Called by: who finds such things out (recoveries, validations, comparisons of replicas, races, injected faults);
schema.py and tables.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from .model import BYTES, SECONDS, TIME, says


@dataclass(frozen=True, kw_only=True)
class Differences:
    """Numbers that the program had read and that came out otherwise when its ops ran again."""

    results: int = says("how many")
    largest: float = says("the largest relative difference")


@dataclass(frozen=True, kw_only=True)
class BoundedDifferences(Differences):
    """The same, in a recovery."""

    bound: float = says("that was tolerated")


@dataclass(frozen=True, kw_only=True)
class SessionBoundary:
    """Where a session went back, or on, to."""

    session: int = says("its number")
    boundary: int = says("of that session")


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far a rank was when it was stopped."""

    session: int = says("its number")
    prepared: int = says("its newest boundary")
    begun: int = says("optimizer steps that it has begun")
    lost: bool = says("its device memory is lost")
    executed: int = says("ops that its device has executed")
    received: int = says("ops that its worker has received")
    committed: int = says("the newest boundary that belongs with one of each other rank")
    reached: int = says("optimizer steps that it has reached")
    reserves: list[int] = says("boundaries of which it has copies of everything")
    kept: list[int] = says("all boundaries that it keeps; 0 is the start")


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What the [comparison of ranks](guarantees.md#a-recovery-proves-itself) after a recovery has found."""

    state: str = says(
        "`pending` until all ranks have a boundary after the recovery, then `proven` or `not proven`; `nothing to "
        "compare` where collectives agree but no blocks are known that the ranks had held equal (one rank, different "
        "steps, memory outside PyTorch's allocator); `not compared` where another recovery, or a program's end, came "
        "first"
    )
    boundary: int = says("where they were compared")
    blocks: int = says("that ranks had held equal and hold equal")
    text: str = says("what differs, or why nothing was compared")
    seconds: float = says("that it took the service", SECONDS)


@dataclass(frozen=True, kw_only=True)
class PhaseSpan:
    """A phase of one attempt."""

    phase: str = says("`detect`, `fence`, `rebuild`, `decide`, `restore`, `resume` or `replay`")
    at: float = says("after the fault was noticed", SECONDS)
    seconds: float = says("that it took", SECONDS)
    attempt: int = says("from 1 on")


@dataclass(frozen=True, kw_only=True)
class RankSpan:
    """What a rank's worker was occupied with."""

    phase: str = says("`fence`, `rebuild`, `restore`, `resume` or `replay`")
    at: float = says("after the fault was noticed", SECONDS)
    seconds: float = says("that it took", SECONDS)


@dataclass(frozen=True, kw_only=True)
class RankTimes:
    """What a rank did during a recovery. It computes again after its `replay`."""

    session: int = says("its number")
    name: str = says("of the rank, for people")
    rank: int = says("in the job, -1: not known")
    gpu: int = says("its own")
    lost: bool = says("its device memory was lost")
    computed: float = says("until it was stopped, since it began or since its last recovery", SECONDS)
    stopped: float = says("after the fault was noticed", SECONDS)
    waited: float = says("for other ranks, between its spans", SECONDS)
    spans: list[RankSpan] = says("of many ranks and recoveries only the newest 50,000 are kept")


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """One recovery. Its seconds end when all ops have run again that had run before, and begin when the fault was
    noticed: with the worker's end, with a silent worker's last answer, with the report of an op that failed; a hang
    counts from when progress ended, an injected fault from when it fired."""

    time: float = says("when it was reported", TIME)
    job: str = says("whose ranks went back")
    cause: str = says("what was noticed, such as `worker-death`")
    message: str = says("of the device or the library, where there is one")
    gpu: int | None = says("the first of `gpus`")
    gpus: list[int] = says("that the faults were noticed on")
    culprits: list[str] = says("ranks that hung, or that others have waited for")
    decision: str = says("`roll-back`, `roll-forward` or `none`")
    boundary: int | None = says("that it led to; where sessions have different ones the largest")
    boundaries: list[SessionBoundary] = says("of each session")
    seconds: float = says("in all, the sum of `phases`", SECONDS)
    phases: dict[str, float] = says("of each phase, all attempts together", SECONDS)
    bytes_restored: int = says("device memory that was restored", BYTES)
    bytes_from_peers: dict[str, int] = says(
        "of these, what came from other ranks: over `nccl`, or through the node's memory (`host`)", BYTES
    )
    notes: list[str] = says("a line for each transfer over NCCL that failed, and for kept copies that were damaged")
    sessions: list[str] = says("names of the ranks, for people")
    standings: list[Standing] = says("how far each rank was when it was stopped")
    attempts: int = says("above 1: another fault came during the recovery")
    differences: BoundedDifferences = says("numbers that came out otherwise")
    outcome: str = says(
        "`recovered`, `recovered, not bit-identical` (see `differences`), or begins with `not proven:`, `given up:` or "
        "`the program's own error`"
    )
    began: float = says("when the fault was noticed", TIME)
    timeline: list[PhaseSpan] = says("each phase of each attempt")
    ranks: list[RankTimes] = says("what each rank did, in the order of ranks")
    proof: Proof = says("what the comparison of ranks after it has found")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block of device memory of a session."""

    session: int = says("its number")
    address: int = says("as the program sees it")
    bytes: int = says("its size", BYTES)
    ordinal: int = says("place in the program's list of live blocks")


@dataclass(frozen=True, kw_only=True)
class Validation:
    """A minibatch that was run twice and compared (`jitc validate --json` prints one)."""

    time: float = says("of the verdict", TIME)
    gpus: list[int] = says("of the job")
    sessions: list[str] = says("names of the ranks, for people")
    step: int = says("the optimizer step before which memory was compared")
    outcome: str = says(
        "`identical`, `different` or `interrupted: ...` (a fault came in between, or the process ended)"
    )
    blocks: int = says("that were compared")
    bytes: int = says("that were compared", BYTES)
    unwritten: int = says("blocks that the minibatch left unwritten in part, which is no difference")
    seconds: float = says("that ranks were stopped", SECONDS)
    different: list[Block] = says("blocks that differ")
    differences: Differences = says("numbers that the program had read and that came out otherwise")


@dataclass(frozen=True, kw_only=True)
class DivergedBlock:
    """A block of a rank that no longer holds what other ranks hold."""

    rank: str = says("its name, for people")
    gpu: int = says("of the rank")
    address: int = says("as the program sees it")
    bytes: int = says("its size", BYTES)
    ordinal: int = says("place in the program's list of live blocks")


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """Replicas that stopped agreeing, reported once."""

    time: float = says("when that was found", TIME)
    job: str = says("whose ranks they are")
    boundary: int = says("at which they differed")
    gpus: list[int] = says("of these ranks")
    sessions: list[str] = says("names of the ranks, for people")
    odd: list[str] = says(
        "ranks that hold something else than most of those that held the same before; empty where no majority agrees"
    )
    blocks: list[DivergedBlock] = says("of the odd ranks, or of each rank where no majority agrees")
    outcome: str = says(
        "begins with `left as it is`, `the majority's bytes will be taken`, `not healed`, `healed at boundary N` or "
        "`the ranks agreed again`"
    )


@dataclass(frozen=True, kw_only=True)
class RaceSide:
    """One of the two operators of a race."""

    op: str = says("what ran")
    operator: str = says("what the program called in PyTorch; empty: something else")
    place: str = says("its lines in the program, the outermost first")
    stream: int = says("0 is the default stream")
    sequence: int = says("of the op, in the first rank")
    writes: bool = says("the memory")


@dataclass(frozen=True, kw_only=True)
class Race:
    """Two operators that touch the same memory with [no order between them](finding-races.md)."""

    time: float = says("when it was found first", TIME)
    job: str = says("whose ranks they are")
    sessions: list[str] = says("names of the ranks in which it was found")
    first: RaceSide = says("as they were given")
    second: RaceSide = says("the one after it")
    address: int = says("of the first rank")
    bytes: int = says("from the first to the last byte that both reach, with the gaps of views", BYTES)


@dataclass(frozen=True, kw_only=True)
class Injected:
    """A fault of `jitc inject` that has fired: of this service, not of one that it took over from."""

    time: float = says("when it was reported", TIME)
    gpu: int = says("that it was asked for on")
    kind: str = says("its name")
    detail: str = says("what happened, where")


@dataclass(frozen=True, kw_only=True)
class Report:
    """The document of `jitc report --json`, each list oldest first."""

    recoveries: list[Recovery] = says("the newest 1,000")
    validations: list[Validation] = says("the newest 100")
    divergences: list[Divergence] = says("the newest 100")
    races: list[Race] = says("the first 1,000")
    injected: list[Injected] = says("the newest 1,000")
