"""Where events of this node's sessions go: to its coordinator, or to the node that leads their job.

Called by: what tells the coordinator of events on a node without a cluster, in its place. Promises: an event of a
session that is led here reaches the coordinator at once; of another one it is noted, and the leader's next report has
it; whoever leads later learns of what still stands.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, Protocol

from jitc.v1 import peer_pb2

from ...node.fault_injector import FaultInjector
from ...node.registry import Registry
from ...node.session import Session
from ...node.workers.worker import Worker
from ...ranks.events import Event, FaultReported, GpuUnhealthy, PendingValidation
from ...ranks.rank import Rank
from ...ranks.rank import Worker as AnyWorker
from .errands import Errands
from .home.standing import Standing
from .home.validating import Validating
from .leads import Leads


class Coordinator(Protocol):
    """The coordinator of this node (../../recovery/coordinator.py)."""

    def post(self, event: Event) -> None: ...
    def worker_died(self, worker: AnyWorker) -> None: ...
    def fault_reported(self, request: Any) -> None: ...
    def fault_found(self, fault: FaultReported) -> None: ...
    def validate(self, gpu: int, session: int = 0) -> PendingValidation: ...
    def resume(self, sessions: Sequence[Rank]) -> None: ...
    def session_closed(self, session: Rank) -> None: ...


class Router:
    """The coordinator, as the sources of events see it."""

    def __init__(
        self, coordinator: Coordinator, registry: Registry, leads: Leads, *,
        standing: Standing, faults: FaultInjector, errands: Errands,
    ) -> None:  # fmt: skip
        self._coordinator, self._registry, self._leads = coordinator, registry, leads
        self._standing, self._faults, self._errands = standing, faults, errands

    def worker_died(self, worker: Worker) -> None:
        with self._registry.changed:
            session = self._registry.on_worker(worker)
            away = session is not None and self._leads.is_away(session.number)
        if away:
            self._leads.wake()
        else:
            self._coordinator.worker_died(worker)

    def fault_reported(self, request: Any) -> None:
        """request: a worker's report (ReportFaultRequest)."""
        with self._registry.changed:
            session = self._registry.sessions.get(request.session)
            if session is None:
                return
            self._standing.note_fault(session, request)
            away = self._leads.is_away(session.number)
            if away:
                self._registry.stop([session], True)  # whoever recovers it next finds that in the log
        if away:
            self._leads.wake()
        else:
            self._coordinator.fault_reported(request)

    def post(self, event: Event) -> None:
        if isinstance(event, GpuUnhealthy):
            with self._registry.changed:
                session = self._registry.on_worker(event.worker)
                if session is not None:
                    self._standing.note_unhealthy(session, event)
                    if self._leads.is_away(session.number):
                        return self._leads.wake()
        return self._coordinator.post(event)

    def session_closed(self, session: Session) -> None:
        with self._registry.changed:
            away = self._leads.is_away(session.number)
            self._standing.forget(session.number)
        if away:
            self._faults.session_closed(session)
            self._leads.wake()
        else:
            self._coordinator.session_closed(session)

    def resume(self, sessions: Sequence[Session]) -> None:
        """Continues the jobs of the service before: those of this node alone now, others when it is known who leads."""
        self._coordinator.resume(self._leads.begin(sessions))

    def validate(self, gpu: int) -> PendingValidation:
        """Has a minibatch of the job on this GPU run twice, wherever the job is led."""
        with self._registry.changed:
            here = [one for one in self._registry.sessions.values() if one.gpu == gpu]
            away = next((one for one in here if self._leads.is_away(one.number)), None)
            leader = self._leads.leader_of(away.number) if away is not None else None
        if away is None:
            return self._coordinator.validate(gpu)
        pending = PendingValidation(gpu, away.number)
        if leader is None:
            pending.refuse("no node leads the job at present; ask again")
        else:
            request = peer_pb2.ValidateJobRequest(session=away.number, call=secrets.token_bytes(16))
            self._errands.add(Validating(leader, request, pending))
        return pending
