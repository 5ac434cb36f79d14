"""Faults on request: armed in workers, and reported when they fire.

Called by: the Admin service (arm, wait), the Coordinator service (fired), the coordinator (arming again in a rebuilt
worker). Promises: an armed fault fires once; it survives the death of its worker by another fault, and waits for a
session when the GPU has none yet. Not every fault fires: documents lists those that did.
"""

from __future__ import annotations

import itertools
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import grpc

from jitc.ops.faults import FAULTS
from jitc.v1 import worker_pb2
from jitc.v1.control_pb2 import Fault

from ..backends.base import HealthEvent
from ..common import rpc
from ..ranks.causes import MOVED
from ..ranks.rank import Rank
from ..ranks.states import SessionState
from ..status.documents import document
from ..status.report import Injected
from .registry import Registry
from .session import Session

#: Faults that need no session when no trigger is named.
_SIGNALS = {one.name: signal.Signals[one.signal] for one in FAULTS if one.carrier == "signal"}
_HARMLESS = [one.name for one in FAULTS if one.harmless]
_OF_SERVICE = [one.name for one in FAULTS if one.carrier == "service"]
#: Faults that wait to fire.
ARMED = 1000
#: Faults that have fired and are listed; older ones are dropped.
TOLD = 1000


@dataclass(eq=False)
class Armed:
    """One fault on one GPU."""

    gpu: int
    fault: Any
    session: int = 0  # 0: not armed in a worker yet
    detail: str = ""
    done: threading.Event = field(default_factory=threading.Event)

    def immediate(self) -> bool:
        fault = self.fault
        trigger = fault.sequence or fault.operations or fault.boundary or fault.phase or fault.armed_at_boundary
        return not trigger

    def finish(self, detail: str) -> None:
        self.detail = detail
        self.done.set()


class FaultInjector:
    """All faults that have not fired."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.report_unhealthy: Callable[[HealthEvent], None] = lambda event: None  # set by the service
        self._lock = threading.Lock()
        self._armed: list[Armed] = []
        self._numbers = itertools.count(1)
        self._fired_at: dict[int, float] = {}  # by session
        self._told: deque[dict[str, Any]] = deque(maxlen=TOLD)

    def arm(self, gpu: int, fault: Any) -> Armed:
        own = Fault()  # the request that it came with need not be kept
        own.CopyFrom(fault)
        own.number = next(self._numbers)
        armed = Armed(gpu, own)
        if armed.immediate() and fault.kind in _SIGNALS:
            return self._finish(armed, self._signal(gpu, fault.kind))
        if armed.immediate() and fault.kind in _OF_SERVICE:
            return self._finish(armed, self._behave(gpu, fault.kind))
        with self._lock:
            full = len(self._armed) >= ARMED
            if not full:
                self._armed.append(armed)
        if full:
            return self._finish(armed, f"refused: {ARMED} faults wait to fire already")
        with self._registry.changed:
            session = self._first_session(gpu)
        if session is not None:
            self._send(armed, session)
        return armed

    def fired(self, gpu: int, number: int, detail: str) -> None:
        """Notes a worker's report that a fault has fired."""
        with self._lock:
            match = next((armed for armed in self._armed if armed.fault.number == number), None)
            if match is not None:
                self._armed.remove(match)
                if match.fault.kind not in _HARMLESS:
                    self._fired_at[match.session] = time.monotonic()
        if match is not None:
            if match.fault.kind in _OF_SERVICE:
                self._behave(gpu, match.fault.kind)
            self._finish(match, detail)

    def documents(self) -> list[dict[str, Any]]:
        """Returns the newest faults that have fired, oldest first."""
        with self._lock:
            return list(self._told)

    def take_fired_at(self, ranks: Iterable[Rank]) -> float | None:
        """Returns when the first fault that hit a rank fired (monotonic), each once: the start of its detection."""
        with self._lock:
            times = [self._fired_at.pop(one.number) for one in ranks if one.number in self._fired_at]
        return min(times, default=None)

    def fired_at(self, session: int) -> float | None:
        """Returns when a fault that hit the session fired (monotonic), until that is taken; None: none did."""
        with self._lock:
            return self._fired_at.get(session)

    def session_opened(self, session: Session) -> None:
        """Arms faults that have waited for a session on this GPU."""
        with self._lock:
            waiting = [armed for armed in self._armed if armed.gpu == session.host and not armed.session]
        for armed in waiting:
            self._send(armed, session)

    def session_rebuilt(self, session: Rank) -> None:
        """Arms, in the new worker, faults that had not fired in the lost one."""
        with self._lock:
            lost = [armed for armed in self._armed if armed.session == session.number]
        for armed in lost:
            self._send(armed, session)

    def session_closed(self, session: Rank) -> None:
        """Has faults that had not fired in the session wait for the next session of the GPU."""
        with self._lock:
            self._fired_at.pop(session.number, None)
            for armed in self._armed:
                if armed.session == session.number:
                    armed.session = 0

    def move_at_boundary(self, session: Rank) -> None:
        """Has the session's worker end at the next boundary: the one that follows it may be on another GPU."""
        worker = session.worker
        if worker is None:
            return
        worker.cause = MOVED
        request = worker_pb2.ArmRequest(fault=Fault(kind="kill-worker", phase="boundary"), session=session.number)
        try:
            worker.ask("Arm", request, 10).result()
        except grpc.RpcError:
            worker.kill()  # the worker ends now, then

    def _send(self, armed: Armed, session: Rank) -> None:
        worker = session.worker
        if worker is None:
            return
        armed.session = session.number
        try:
            worker.ask("Arm", worker_pb2.ArmRequest(fault=armed.fault, session=session.number), 10).result()
        except grpc.RpcError as error:
            # A dying worker is rebuilt, and the fault is armed again then.
            if rpc.refused(error):
                self._drop(armed, f"refused: {rpc.status_of(error)[1]}")

    def _finish(self, armed: Armed, detail: str) -> Armed:
        if not detail.startswith("refused"):
            told = Injected(time=time.time(), gpu=armed.gpu, kind=armed.fault.kind, detail=detail)
            with self._lock:
                self._told.append(document(told))
        armed.finish(detail)
        return armed

    def _drop(self, armed: Armed, why: str) -> None:
        with self._lock:
            if armed in self._armed:
                self._armed.remove(armed)
        print(f"jitc-proxyd: fault {armed.fault.kind} on GPU {armed.gpu} {why}", file=sys.stderr)
        armed.finish(why)

    def _signal(self, gpu: int, kind: str) -> str:
        """Sends the signal to all workers of the GPU: the fault concerns the GPU as a whole."""
        workers = self._registry.workers_of(self._registry.gpus[gpu])
        if not workers:
            return "refused: the GPU has no worker now"
        self._fires_now(gpu)
        for worker in workers:
            worker.send(_SIGNALS[kind])
        pids = ", ".join(str(worker.pid) for worker in workers)
        return f"{kind} fired: {'process' if len(workers) == 1 else 'processes'} {pids} of GPU {gpu}"

    def _behave(self, gpu: int, kind: str) -> str:
        """Acts as if NVML had reported the fault, which concerns all workers of the physical GPU."""
        self._fires_now(gpu)
        physical = self._registry.gpus[gpu].facts.physical
        if kind == "lose-gpu":
            event = HealthEvent(physical, "device-lost", "the GPU is lost (injected)", lost=True)
        else:
            event = HealthEvent(physical, "xid", "Xid (injected)")
        self.report_unhealthy(event)
        return f"{kind} fired on GPU {gpu}"

    def _fires_now(self, gpu: int) -> None:
        with self._registry.changed:
            here = [number for number, one in self._registry.sessions.items() if one.host == gpu]
        with self._lock:
            self._fired_at |= dict.fromkeys(here, time.monotonic())

    def _first_session(self, gpu: int) -> Session | None:
        sessions = self._registry.sessions.values()
        alive = (one for one in sessions if one.host == gpu and one.state is not SessionState.OPENING)
        return next(alive, None)
