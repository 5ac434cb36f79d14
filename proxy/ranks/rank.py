"""A rank, its worker, and all ranks, as recovery, protection and health see them.

Used by: these three; `../node` has the implementation of these protocols for the ranks of this node (`session.py`,
`registry.py`, `workers/`). Promises of an implementation: `Ranks.changed` guards the state of a rank, and is never held
while another process is waited for; the same rank is the same object; a worker whose `works()` is false does nothing
any more.
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
#: Seconds after which the wait is reported.
SLOW_SECONDS = 5.0


class NoWorker(Exception):
    """No worker could be started; the text says why."""


class NotLed(Exception):
    """Another service recovers these ranks by now: nothing here may act on them any more."""


class Overtaken(Exception):
    """The service of a rank's node is another one by now, and does not know what it was asked; the text says more."""


class Worker(Protocol):
    """The process that serves a rank, or is ready to."""

    gpu: int | None
    cause: str  # cause of its end
    message: str
    noticed_dead: float  # monotonic time
    unhealthy_since: float  # monotonic time; 0: it was not killed for a cause
    replaced: bool  # killed for the sake of another one, by a recovery

    @property
    def pid(self) -> int: ...
    @property
    def node(self) -> str:
        """The name of the worker's node; empty: this one."""

    def ask(self, method: str, request: Any, seconds: float, patient: bool = False) -> Any:
        """Begins a call (worker.proto) and returns its future, whose error is a grpc.RpcError. The request names no
        path: the service that has the worker fills in those of its node. patient: time in which the worker's node
        cannot be reached does not count."""

    def ready(self) -> bool:
        """Returns whether the worker has started, and has not been found dead."""

    def alive(self) -> bool:
        """Returns whether the process still exists for the kernel."""

    def works(self) -> bool:
        """Returns whether the worker can do anything at all."""

    def ends_within(self, seconds: float) -> bool:
        """Waits for the end of a process that seems to be dying."""

    def kill(self) -> None: ...

    def kill_with_cause(self, cause: str, since: float, message: str = "") -> None:
        """Kills the worker for a cause that its death alone would not show; since: monotonic time."""

    def replace(self) -> None:
        """Kills the worker for the sake of another one, which is no fault."""

    def finish(self) -> None:
        """Kills a worker that has closed its socket. If it is ending already, what has ended it stays the cause."""

    def tell_slow(self) -> None:
        """Reports once that the worker's end takes long."""

    def slow(self) -> str:
        """Returns the text of that report."""

    def starved(self) -> str:
        """Returns how the kernel ended this worker, which has ended, for lack of memory; empty: it did not."""

    def close(self) -> None:
        """Releases what the service has of the worker, after its end."""


class Rank(Protocol):
    """A session: a process on a GPU."""

    epoch: int  # epoch of its newest recovery
    stopped: bool  # it may wait for a recovery
    peer_mode: bool  # its newest boundary may lack copies
    failure: str
    diverged: int  # blocks that other ranks hold differently, though they were replicas
    compared: int  # newest boundary at which that was compared
    uneven: bool  # the ranks of its job make different optimizer steps
    reserve: int  # boundary of which its job has copies of everything; 0: none
    boundaries_apart: int
    reserves_apart: int
    hang_seconds: float  # for which it may stand still while others wait for it; 0: no limit
    computes_since: float  # monotonic time

    @property
    def number(self) -> int: ...
    @property
    def node(self) -> str:
        """The name of the node where its worker is; empty: this one."""

    @property
    def job(self) -> str:
        """The job as its launcher names it; empty: it does not."""

    @property
    def pid(self) -> int: ...
    @property
    def rank(self) -> int: ...
    @property
    def gpu(self) -> int:
        """The rank's own GPU, by its index on the rank's node; `host` is the one that serves it."""

    @property
    def host(self) -> int: ...
    @property
    def worker(self) -> Worker | None: ...
    @property
    def state(self) -> SessionState: ...
    @property
    def machine(self) -> Machine[SessionState, SessionEvent]: ...
    def label(self) -> str: ...

    def unreachable(self) -> str:
        """Returns why the rank's node cannot be reached at present; empty: it can, as far as is known."""

    def without_worker(self) -> bool:
        """Returns whether the rank waits for a worker, or its new worker waits for the state that was lost."""


class Communicator(Protocol):
    """A communicator, which connects ranks to a job."""

    waited: float  # seconds since the newest rank joined, not counting recoveries

    @property
    def ranks(self) -> int: ...
    @property
    def members(self) -> Mapping[int, int]:
        """Sessions -> ranks, of those that must recover together."""

    def gathering(self) -> bool:
        """Returns whether ranks may still join for the first time."""


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
    """State that must outlive the service, by key."""

    def put(self, key: str, value: Any) -> None: ...
    def delete(self, key: str) -> None: ...
    def entries(self, prefix: str) -> dict[str, Any]:
        """Returns keys without the prefix, in the order in which they were first put."""


class TransferMemory(Protocol):
    """Memory through which blocks go from one rank's worker to another's."""

    @property
    def number(self) -> int:
        """Its number in requests; its path is another one on each node."""

    @property
    def size(self) -> int: ...
    def prepare(self) -> Sequence[Any]:
        """Has the memory be there on all nodes that need it. Returns calls to wait for, whose error is a
        grpc.RpcError with RESOURCE_EXHAUSTED where a node has no room."""

    def carry(self, source: Rank, target: Rank, size: int) -> Any | None:
        """Brings its first bytes from the source's node to the target's. Returns a call to wait for; None: both ranks
        have the same memory."""

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
        """The sizes of what workers share."""

    @property
    def sessions(self) -> Mapping[int, Rank]: ...
    @property
    def gpus(self) -> Sequence[Gpu]: ...

    @property
    def communicators(self) -> Iterable[Communicator]:
        """The living communicators."""

    def group(self, seeds: Iterable[Rank]) -> Sequence[Rank]:
        """Returns the ranks of the seeds' jobs that can be recovered, by number, as far as they are known."""

    def awaits(self, seeds: Iterable[Rank]) -> str:
        """Returns what of the seeds' jobs is not known yet, as a text; empty: nothing, `group` has all ranks."""

    def job_of(self, one: Rank) -> str:
        """Returns the job's name."""

    def on_worker(self, worker: Worker) -> Rank | None: ...
    def workers_on(self, gpu: int) -> Sequence[Worker]:
        """Returns the living workers of a GPU, those of sessions first."""

    def next_epoch(self, ranks: Iterable[Rank]) -> int:
        """Returns an epoch of their job, newer than all that they have seen, which no other service returns again.
        Raises NotLed."""

    def transfer_memory(self, name: str, size: int, between: Sequence[Rank] = ()) -> TransferMemory:
        """Allocates zeroed memory for these ranks; on their nodes it is there once it is prepared. Raises NoSpace."""

    def placed(self, places: Mapping[int, int], epoch: int) -> Sequence[Any]:
        """Tells the ranks' nodes, before any rank is resumed in the epoch, after which boundary each one stands
        (session -> boundary). Returns calls to wait for."""

    def renew_communicators(self, ranks: Iterable[Rank]) -> None:
        """Has the next join of any of the ranks get a new segment."""

    def stop(self, ranks: Iterable[Rank], stopped: bool) -> None:
        """Notes that the ranks may wait for a recovery from now on, or no longer do."""

    def note(self, *ranks: Rank) -> None:
        """Logs what the ranks are now."""

    def release(self, one: Rank) -> None:
        """Frees the rank's share of its GPU: its worker is dead, and no other one will come."""


class ArmedFaults(Protocol):
    """Faults on request."""

    def take_fired_at(self, ranks: Iterable[Rank]) -> float | None:
        """Returns when the first fault that hit a rank fired (monotonic), each once: the start of its detection."""

    def session_rebuilt(self, session: Rank) -> None:
        """Arms the session's new worker with faults that had not fired in the lost one."""

    def session_closed(self, session: Rank) -> None:
        """Has faults that had not fired in the session wait for the next session of the GPU."""


class Replacements(Protocol):
    """Workers for ranks that have lost theirs."""

    def replace(self, one: Rank, notes: list[str], wanted: Callable[[], None]) -> None:
        """Gives the rank another worker: on its own GPU, or on another one while that is lost; notes get a line then.
        wanted: is called with `Ranks.changed` before the rank has the worker, and raises if it must not get one; the
        worker is ended then. Raises NoWorker."""
