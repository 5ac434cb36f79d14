"""A rank, its worker, and all ranks, as recovery, protection and health see them.

Used by: these three; `../node` has what keeps these protocols for the ranks of this node (`session.py`, `registry.py`,
`workers/`). Promises that whoever keeps them gives: `Ranks.changed` guards what a rank says of itself, and is never
held while another process is waited for; the same rank is the same object; a worker whose `works()` is false does
nothing any more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from ..common.config import Config
from ..common.executor import Shared
from ..common.state_machine import Machine
from .states import SessionEvent, SessionState

#: Seconds for the kernel to end a process that was killed. It takes the GPU apart first: about 0.1 s for each GB of
#: memory that the process had registered.
KILLED_SECONDS = 300.0
#: After so much of it the wait is told.
SLOW_SECONDS = 5.0


class NoWorker(Exception):
    """No worker could be started; the text says why."""


class Worker(Protocol):
    """The process that serves a rank, or is ready to."""

    gpu: int | None
    cause: str  # of its end
    message: str
    noticed_dead: float  # monotonic time
    unhealthy_since: float  # monotonic time; 0: it was not killed for a cause
    replaced: bool  # killed for the sake of another one, by a recovery

    @property
    def pid(self) -> int: ...
    def ask(self, method: str, request: Any, seconds: float) -> Any:
        """Begins a call (worker.proto) and returns its future, whose error is a grpc.RpcError. The request names no
        path: the service that has the worker fills in those of its node."""

    def ready(self) -> bool:
        """It has started, and has not been found dead."""

    def alive(self) -> bool:
        """Whether the kernel still has it."""

    def works(self) -> bool:
        """Whether it can do anything for anybody."""

    def ends_within(self, seconds: float) -> bool:
        """Waits for the end of a process that seems to be dying."""

    def kill(self) -> None: ...

    def kill_with_cause(self, cause: str, since: float, message: str = "") -> None:
        """Kills it for a cause that its death alone would not show; since: monotonic time."""

    def replace(self) -> None:
        """Kills it for the sake of another one, which is no fault."""

    def finish(self) -> None:
        """Kills one that has closed its socket. If it ends already, what has ended it stays the cause."""

    def tell_slow(self) -> None:
        """Says once that its end takes long."""

    def slow(self) -> str:
        """What is said then."""

    def starved(self) -> str:
        """Of one that has ended: how the kernel ended it for want of memory; empty: it did not."""

    def close(self) -> None:
        """After its end: lets go of what the service has of it."""


class Rank(Protocol):
    """A session: a process on a GPU."""

    epoch: int  # of the recovery that it was in last
    stopped: bool  # it may wait for a recovery
    peer_mode: bool  # its newest boundary may lack copies
    failure: str
    diverged: int  # blocks that other ranks hold differently, though they were replicas
    compared: int  # newest boundary at which that was looked at
    uneven: bool  # the ranks of its job make different optimizer steps
    reserve: int  # boundary of which its job has copies of everything; 0: none
    boundaries_apart: int
    reserves_apart: int
    hang_seconds: float  # that it may stand still while others wait for it; 0: nobody looks
    computes_since: float  # monotonic time

    @property
    def number(self) -> int: ...
    @property
    def job(self) -> str:
        """As its launcher names it; empty: it does not."""

    @property
    def pid(self) -> int: ...
    @property
    def rank(self) -> int: ...
    @property
    def slot(self) -> int:
        """Of the board."""

    @property
    def gpu(self) -> int:
        """Its own; `host`: the one that serves it."""

    @property
    def host(self) -> int: ...
    @property
    def worker(self) -> Worker | None: ...
    @property
    def state(self) -> SessionState: ...
    @property
    def machine(self) -> Machine[SessionState, SessionEvent]: ...
    def label(self) -> str: ...

    def without_worker(self) -> bool:
        """It waits for a worker, or its new worker waits for the state that was lost."""


class Communicator(Protocol):
    """What connects ranks to a job."""

    waited: float  # seconds since the newest rank joined, not counting recoveries

    @property
    def ranks(self) -> int: ...
    @property
    def members(self) -> Mapping[int, int]:
        """Sessions -> ranks, of those that must recover together."""

    def gathering(self) -> bool:
        """Whether ranks may still join for the first time."""


class Gpu(Protocol):
    """A virtual GPU."""

    lost: str  # why the physical GPU cannot be used any more
    failure: str
    recoveries: int

    @property
    def index(self) -> int: ...
    @property
    def physical(self) -> int: ...


class Log(Protocol):
    """What must outlive the service, by key."""

    def put(self, key: str, value: Any) -> None: ...
    def delete(self, key: str) -> None: ...
    def entries(self, prefix: str) -> dict[str, Any]:
        """Keys without the prefix, in the order in which they were first put."""


class TransferMemory(Protocol):
    """Memory through which blocks go from one rank's worker to another's."""

    @property
    def number(self) -> int:
        """Names it in requests; its path is another one on each node."""

    @property
    def size(self) -> int: ...
    def close(self) -> None: ...


class Ranks(Protocol):
    """All ranks that this service knows, and the jobs that they form."""

    @property
    def config(self) -> Config: ...
    @property
    def changed(self) -> threading.Condition: ...
    @property
    def log(self) -> Log: ...
    @property
    def shared(self) -> Shared:
        """How large what workers share is."""

    @property
    def sessions(self) -> Mapping[int, Rank]: ...
    @property
    def gpus(self) -> Sequence[Gpu]: ...

    @property
    def communicators(self) -> Iterable[Communicator]:
        """Those that are alive."""

    def group(self, seeds: Iterable[Rank]) -> Sequence[Rank]:
        """The ranks of the seeds' jobs that can be recovered, by number."""

    def job_of(self, one: Rank) -> str:
        """The job's name."""

    def on_worker(self, worker: Worker) -> Rank | None: ...
    def workers_on(self, gpu: int) -> Sequence[Worker]:
        """The living workers of a GPU, those of sessions first."""

    def next_epoch(self, ranks: Iterable[Rank]) -> int:
        """Of their job: newer than all that any of them has seen. Another service does not give it again."""

    def transfer_memory(self, name: str, size: int) -> TransferMemory:
        """Zeroed. Raises NoSpace."""

    def renew_communicators(self, ranks: Iterable[Rank]) -> None:
        """The next join of any of them gets a new segment."""

    def stop(self, ranks: Iterable[Rank], stopped: bool) -> None:
        """They may wait for a recovery from now on, or do so no longer."""

    def note(self, *ranks: Rank) -> None:
        """Writes down what they are now."""

    def release(self, one: Rank) -> None:
        """Frees its share of its GPU: its worker is dead, and no other one will come."""


class ArmedFaults(Protocol):
    """Faults on request."""

    def take_fired_at(self, ranks: Iterable[Rank]) -> float | None:
        """When the first fault that hit one of them fired (monotonic), each given once: the start of its detection."""

    def session_rebuilt(self, session: Rank) -> None:
        """Its new worker is armed with faults that had not fired in the lost one."""

    def session_closed(self, session: Rank) -> None:
        """Faults that had not fired in it wait for the next session of the GPU."""


class Replacements(Protocol):
    """Workers for ranks that have lost theirs."""

    def replace(self, one: Rank, notes: list[str], wanted: Callable[[], None]) -> None:
        """Gives the rank another worker: on its own GPU, or on another one while that is lost; notes get a line then.
        wanted: is called with `Ranks.changed` before the rank has it, and raises where it is to have none; the worker
        is ended then. Raises NoWorker."""
