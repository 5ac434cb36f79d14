"""Faults of sessions of this node, and reports about their GPUs, which stand until their job is recovered.

Called by: ../router.py (notes it), reports.py (documents), ../leads.py (a job that is led here from now on). Guarded by
the registry's lock. Promises: of each kind the newest counts; a fault stands until its session is in another epoch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from jitc.v1 import peer_pb2

from ....node.session import Session
from ....node.workers.worker import WorkerState
from ....ranks.events import Event, FaultReported, GpuUnhealthy, WorkerDied
from ..documents import TEXT_MOST, ms
from ..stamps import Stamps


class Standing:
    """The records of all sessions of this node."""

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps
        self._faults: dict[int, peer_pb2.FaultDocument] = {}
        self._unhealthy: dict[int, peer_pb2.UnhealthyDocument] = {}

    def note_fault(self, session: Session, request: Any) -> None:
        """request: a worker's report (ReportFaultRequest)."""
        self._faults[session.number] = peer_pb2.FaultDocument(
            stamp=self._stamps.next(), sequence=request.sequence, status=request.status, cause=request.cause,
            message=request.message[:TEXT_MOST], epoch=session.epoch, noticed_ms=ms(time.monotonic()),
        )  # fmt: skip

    def note_unhealthy(self, session: Session, event: GpuUnhealthy) -> None:
        self._unhealthy[session.number] = peer_pb2.UnhealthyDocument(
            stamp=self._stamps.next(), pid=event.worker.pid, gpu=event.gpu, cause=event.cause,
            message=event.message[:TEXT_MOST], noticed_ms=ms(event.noticed),
        )  # fmt: skip

    def fault(self, session: Session) -> peer_pb2.FaultDocument | None:
        """Returns the fault that the session has reported in this epoch."""
        found = self._faults.get(session.number)
        return found if found is not None and found.epoch >= session.epoch else None

    def unhealthy(self, session: Session) -> peer_pb2.UnhealthyDocument | None:
        """Returns what was reported about the GPU of the session's worker."""
        found = self._unhealthy.get(session.number)
        return found if found is not None and session.worker and session.worker.pid == found.pid else None

    def tell(
        self, session: Session, post: Callable[[Event], None], fault_found: Callable[[FaultReported], None]
    ) -> None:  # fmt: skip
        """Makes events of what stands, for a session whose job is led here from now on."""
        worker = session.worker
        if worker is not None and worker.machine.state is WorkerState.DEAD:  # else its end is told when it is noticed
            post(WorkerDied(worker, worker.unhealthy_since or worker.noticed_dead))
        if (fault := self.fault(session)) is not None:
            what = fault.sequence, fault.status, fault.cause, fault.message
            fault_found(FaultReported(session, *what, fault.epoch, fault.noticed_ms / 1000))
        if worker is not None and (sick := self.unhealthy(session)) is not None:
            post(GpuUnhealthy(sick.gpu, worker, sick.cause, sick.message, sick.noticed_ms / 1000))

    def forget(self, number: int) -> None:
        self._faults.pop(number, None)
        self._unhealthy.pop(number, None)
