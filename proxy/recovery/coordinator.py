"""The job coordinator of one node: takes what happens, runs one recovery at a time, writes reports.

Called by: the service (start, stop), the supervisor (a worker died), the Coordinator service (a fault
was reported), the Node service (a session closed). Promise: all of it runs in one thread, so that two
recoveries never mix.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from typing import Any

from ..backends.base import HealthEvent
from ..node.faults import FaultDesk
from ..node.sessions import Registry, Session, SessionState
from ..node.supervisor import NoWorker, Supervisor
from ..node.workers import Worker
from .events import (
    FaultReported,
    GpuUnwell,
    Happening,
    Happenings,
    SessionClosed,
    Ticket,
    ValidationWanted,
    WorkerDied,
)
from .limits import Limits
from .policy import Policies
from .rebuild import rebuild_gpu
from .report import Reports
from .run import Recovery
from .trouble import VALIDATION, Trouble
from .validation import Validations

IDLE_SECONDS = 0.25
#: Between looks at a group that is being measured: two boundaries in a row must be caught.
MEASURING_SECONDS = 0.02


class Coordinator:
    """See above."""

    def __init__(self, registry: Registry, faults: FaultDesk) -> None:
        self._registry, self._faults = registry, faults
        self._happenings = Happenings()
        self._limits = Limits()
        self._policies = Policies(registry)
        self.validations = Validations(registry, registry.config.validate_every)
        self.reports = Reports()
        self._supervisor: Supervisor | None = None
        self._thread = threading.Thread(target=self._loop, name="jitc-coordinator", daemon=True)

    def start(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._thread.start()

    def stop(self) -> None:
        self._happenings.stop()
        if self._thread.is_alive():
            self._thread.join(30)

    # -- what happens (any thread) ------------------------------------------------------------------

    def worker_died(self, worker: Worker) -> None:
        self._happenings.put(WorkerDied(worker, worker.unwell_since or worker.noticed_dead))
        with self._registry.changed:
            self._registry.changed.notify_all()

    def fault_reported(self, request: Any) -> None:
        with self._registry.changed:
            session = self._registry.sessions.get(request.session)
        if session is not None:
            self._happenings.put(
                FaultReported(session, request.sequence, request.status, request.cause, request.message, session.epoch)
            )

    def gpu_unwell(self, event: HealthEvent) -> None:
        """All virtual GPUs of the physical one are concerned; a lost one is of no use from now on."""
        with self._registry.changed:
            gpus = [gpu for gpu in self._registry.gpus if gpu.facts.physical == event.physical]
            for gpu in gpus:
                if event.lost:
                    gpu.lost = f"{event.message}; reset the GPU, then start jitc-proxyd again"
            unwell = [(gpu, gpu.worker) for gpu in gpus if gpu.worker is not None]
        print(f"jitc-proxyd: physical GPU {event.physical}: {event.message}", file=sys.stderr, flush=True)
        for gpu, worker in unwell:
            self._happenings.put(GpuUnwell(gpu, worker, event.cause, event.message))

    def validate(self, gpu: int) -> Ticket:
        """Has a minibatch of the job on this GPU run twice; the ticket is done when it has."""
        ticket = Ticket(gpu)
        self._happenings.put(ValidationWanted(ticket))
        return ticket

    def session_closed(self, session: Session) -> None:
        self._happenings.put(SessionClosed(session))

    # -- the thread -------------------------------------------------------------------------------

    def _loop(self) -> None:
        while not self._happenings.stopped:
            fast = self._policies.busy() or self.validations.busy()
            pause = MEASURING_SECONDS if fast else IDLE_SECONDS
            happening = self._happenings.next(pause)
            try:
                if happening is not None:
                    self._handle(happening)
                else:
                    self._policies.tick()
                    self._fault(self.validations.tick())
            except Exception:
                # A defect of ours must not end the thread that all jobs depend on.
                traceback.print_exc(file=sys.stderr)

    def _handle(self, happening: Happening) -> None:
        if isinstance(happening, WorkerDied):
            self._worker_lost(happening)
        elif isinstance(happening, GpuUnwell):
            self._gpu_unwell(happening)
        elif isinstance(happening, FaultReported):
            validates = happening.cause == VALIDATION
            self._fault(self.validations.arrived(happening) if validates else happening)
        elif isinstance(happening, ValidationWanted):
            self.validations.want(happening.ticket)
        else:
            self._limits.forget(happening.session.number)
            self._policies.forget(happening.session)
            self.validations.closed(happening.session)
            self._faults.session_closed(happening.session)

    def _fault(self, report: FaultReported | None) -> None:
        if report is not None and report.session.state not in (SessionState.CLOSED, SessionState.FAILED):
            self._recover(report, [report.session], report.noticed)

    def _worker_lost(self, death: WorkerDied) -> None:
        worker = death.worker
        sessions = self._registry.on_worker(worker)
        if any(session.state is not SessionState.FAILED for session in sessions):
            self._recover(death, sessions, death.noticed)
        elif worker.gpu is not None and self._registry.gpus[worker.gpu].worker is worker:
            self._replace(worker)
        worker.close()

    def _gpu_unwell(self, unwell: GpuUnwell) -> None:
        worker = unwell.worker
        if unwell.gpu.worker is not worker or not worker.alive():
            return  # it has been replaced since, for another sign of the same trouble
        sessions = self._registry.on_worker(worker)
        if any(session.state is not SessionState.FAILED for session in sessions):
            self._recover(unwell, sessions, unwell.noticed)
        else:
            worker.condemn(unwell.cause, unwell.noticed)  # its death brings another one

    def _replace(self, worker: Worker) -> None:
        """Nobody used it: a new one, and no recovery to report."""
        assert worker.gpu is not None and self._supervisor is not None
        gpu = self._registry.gpus[worker.gpu]
        print(f"jitc-proxyd: worker {worker.pid} of GPU {gpu.index} ended; starting another", file=sys.stderr)
        try:
            rebuild_gpu(self._registry, self._supervisor, gpu)
        except NoWorker as error:
            print(f"jitc-proxyd: GPU {gpu.index} has failed: {error}", file=sys.stderr)
            return
        with self._registry.changed:
            gpu.state = "ready"
            self._registry.changed.notify_all()
        self._supervisor.replenish()

    def _recover(self, first: Happening, sessions: list[Session], noticed: float) -> None:
        assert self._supervisor is not None
        fired = [self._faults.fired_at(gpu) for gpu in sorted({session.gpu for session in sessions})]
        since = min([noticed, *(when for when in fired if when is not None)])
        trouble = Trouble(detect_seconds=max(0.0, time.monotonic() - since))
        trouble.add(first, self._limits)
        trouble.involve(sessions)
        trouble.kill_unusable()
        recovery = Recovery(
            self._registry,
            self._supervisor,
            trouble,
            faults=self._faults,
            policies=self._policies,
            limits=self._limits,
            happenings=self._happenings,
        )
        recovery.run()
        for worker in trouble.dead:
            worker.close()
        if trouble.validates() and not recovery.failure:
            return  # its verdict is reported instead
        self.validations.disturbed([*sessions, *recovery.group])
        if recovery.group or recovery.failure or recovery.handed_over:
            self.reports.add(recovery)
            with self._registry.changed:
                for gpu in trouble.gpus:
                    self._registry.gpus[gpu].recoveries += 1
                self._registry.changed.notify_all()
        self._supervisor.replenish()
