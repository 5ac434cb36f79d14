"""The coordinator of one node: takes events, and gives each job that has a fault a recovery of its own.

Called by: the service (start, stop), the supervisor (a worker died), the Coordinator service (a fault was reported),
the Node service (a session closed). Promises: a job has one recovery at a time, which gets all further events of the
job; jobs are recovered side by side; an unexpected exception ends the job that it concerns, with the reason, and no
other.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..backends.base import HealthEvent
from ..node.fault_injector import FaultInjector
from ..node.registry import Registry
from ..node.session import Session, SessionState
from ..node.workers.supervisor import Supervisor
from ..node.workers.worker import WORKER_DEATH, Worker
from .determinism.tolerance import Tolerances
from .determinism.validation import Validations
from .ending import give_up, of_defect
from .events import (
    Event,
    EventQueue,
    FaultReported,
    GpuUnhealthy,
    PendingValidation,
    RecoveryEnded,
    ServiceRestarted,
    SessionClosed,
    ValidationWanted,
    WorkerDied,
)
from .hangs.verdict import HUNG_WORKER, Hang, of_hang
from .incident import DIVERGENCE, RESTART, VALIDATION, Incident
from .job import Job
from .limits import Limits
from .peer_mode.divergence import Divergences
from .peer_mode.healing import Healings
from .peer_mode.policy import Policies
from .proof import Proofs
from .recovery import Recovery
from .report import Reports
from .spacing import Spacings

IDLE_SECONDS = 0.25
#: Between looks at a group that is being measured: two successive boundaries must be caught.
MEASURING_SECONDS = 0.02


class Coordinator:
    """Its own thread never waits for a recovery."""

    def __init__(self, registry: Registry, faults: FaultInjector) -> None:
        self._registry, self._faults = registry, faults
        self._events = EventQueue()
        self._limits = Limits()
        self.divergences = Divergences()
        self._healings = Healings(self.divergences, registry.config.heal_replicas)
        self._spacings = Spacings(registry)
        self._policies = Policies(registry, self._spacings, self.divergences, self._healings)
        self._jobs: list[Job] = []
        self._tolerances = Tolerances(registry.config)
        self.validations = Validations(registry, self._tolerances)
        self.reports = Reports(registry.log)
        for gpu in registry.gpus:  # those of the service before; the machine may have had other GPUs then
            gpu.recoveries = sum(gpu.index in one["gpus"] for one in self.reports.documents())
        self._proofs = Proofs(registry, self.reports, self._policies)
        self.late: Callable[[Session], list[str]] = lambda session: []  # set by the service
        self._supervisor: Supervisor | None = None
        self._thread = threading.Thread(target=self._loop, name="jitc-coordinator", daemon=True)

    def start(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._thread.start()

    def stop(self) -> None:
        self._events.stop()
        if self._thread.is_alive():
            self._thread.join(30)
        for job in self._jobs:
            job.stop()

    # -- events (any thread) ------------------------------------------------------------------------

    def worker_died(self, worker: Worker) -> None:
        self._events.put(WorkerDied(worker, worker.unhealthy_since or worker.noticed_dead))
        with self._registry.changed:
            self._registry.changed.notify_all()

    def fault_reported(self, request: Any) -> None:
        with self._registry.changed:
            session = self._registry.sessions.get(request.session)
        if session is not None:
            fault = FaultReported(
                session, request.sequence, request.status, request.cause, request.message, session.epoch
            )
            self._put(of_hang(fault, self._registry.config.hang_seconds, self.late(session)))

    def hang_found(self, hang: Hang) -> None:
        """A rank makes no progress, and its device has not reported that by itself."""
        worker = hang.session.worker
        if hang.cause != HUNG_WORKER:
            self._put(hang.fault())
        elif worker is not None and worker.works():
            worker.kill_with_cause(hang.cause, hang.since, hang.message)

    def _put(self, fault: FaultReported) -> None:
        self._registry.stop([fault.session], True)  # should this service end before it has recovered it
        self._events.put(fault)

    def gpu_unhealthy(self, event: HealthEvent) -> None:
        """Concerns all virtual GPUs of the physical one; a lost GPU cannot be used from now on."""
        with self._registry.changed:
            gpus = [gpu for gpu in self._registry.gpus if gpu.facts.physical == event.physical]
            for gpu in gpus:
                if event.lost:
                    gpu.lost = f"{event.message}; reset it, then run `jitc gpu return {gpu.index}`"
                    self._registry.log.put(f"gpu/{gpu.index}", gpu.lost)
            unhealthy = [(gpu, worker) for gpu in gpus for worker in self._registry.workers_of(gpu)]
        print(f"jitc-proxyd: physical GPU {event.physical}: {event.message}", file=sys.stderr, flush=True)
        for gpu, worker in unhealthy:
            self._events.put(GpuUnhealthy(gpu, worker, event.cause, event.message))

    def gpu_returned(self, index: int) -> str:
        """A lost GPU can be used again: sessions whose own it is move home at their next boundary."""
        registry = self._registry
        with registry.changed:
            gpu = registry.gpus[index]
            if not gpu.lost:
                return f"GPU {index} was not lost"
            gpu.lost = gpu.failure = ""
            registry.log.delete(f"gpu/{index}")
            away = [one for one in registry.sessions.values() if one.gpu == index != one.host]
            registry.changed.notify_all()
        for session in away:
            self._faults.move_at_boundary(session)
        print(f"jitc-proxyd: GPU {index} is back", file=sys.stderr, flush=True)
        return f"GPU {index} is back; {len(away)} sessions move to it at their next boundary"

    def validate(self, gpu: int) -> PendingValidation:
        """Has a minibatch of the job on this GPU run twice. What is returned is done when it has."""
        pending = PendingValidation(gpu)
        self._events.put(ValidationWanted(pending))
        return pending

    def service_restarted(self, session: Session) -> None:
        """The service before has left it waiting for a recovery."""
        cause = RESTART if session.worker is not None and session.worker.alive() else WORKER_DEATH
        self._events.put(ServiceRestarted(session, cause))

    def resume(self, sessions: list[Session]) -> None:
        """Goes on with the jobs of the service before."""
        self._policies.resume(sessions)
        stopped = [session for session in sessions if session.stopped]
        for session in sorted(stopped, key=lambda one: one.worker is not None):  # those that are the cause first
            self.service_restarted(session)

    def session_closed(self, session: Session) -> None:
        self._events.put(SessionClosed(session))

    # -- the thread -------------------------------------------------------------------------------

    def _loop(self) -> None:
        while not self._events.stopped:
            fast = any(one.busy() for one in (self._policies, self._proofs, self.validations, self._healings))
            event = self._events.next(MEASURING_SECONDS if fast else IDLE_SECONDS)
            try:
                if event is not None:
                    self._handle(event)
                else:
                    self._spacings.tick()
                    self._policies.tick()
                    self._proofs.tick()
                    self._fault(self.validations.tick())
                    self._fault(self._healings.tick())
            except Exception as error:
                traceback.print_exc(file=sys.stderr)
                self._defect(event, error)

    def _defect(self, event: Event | None, error: Exception) -> None:
        """The event is dropped and nothing will come back to it: fenced sessions must not wait without end."""
        session = getattr(event, "session", None)
        if isinstance(event, WorkerDied):
            session = self._registry.on_worker(event.worker)
        if session is not None:
            give_up(self._registry, self._registry.group([session]), of_defect(error))

    def _handle(self, event: Event) -> None:
        if isinstance(event, WorkerDied):
            self._worker_died(event)
        elif isinstance(event, GpuUnhealthy):
            self._gpu_unhealthy(event)
        elif isinstance(event, FaultReported):
            waits = {VALIDATION: self.validations.arrived, DIVERGENCE: self._healings.arrived}.get(event.cause)
            self._fault(waits(event) if waits else event)
        elif isinstance(event, ServiceRestarted):
            # One recovery takes all ranks of the job along.
            if event.session.stopped and not any(job.touches([event.session]) for job in self._jobs):
                self._fault(event)
        elif isinstance(event, ValidationWanted):
            self.validations.want(event.pending)
        elif isinstance(event, RecoveryEnded):
            self._ended(event.job)
        else:
            self._closed(event)

    def _closed(self, closed: SessionClosed) -> None:
        session = closed.session
        for job in self._jobs:
            if job.touches([session]):
                job.put(closed)
        self._proofs.closed(session)
        self._limits.forget(session.number)
        self._policies.forget(session)
        self._spacings.forget(session)
        self._tolerances.forget(session)
        self._fault(self.validations.closed(session))
        self._fault(self._healings.closed(session))
        self._faults.session_closed(session)

    def _fault(self, report: FaultReported | ServiceRestarted | None) -> None:
        if report is not None and report.session.state not in (SessionState.CLOSED, SessionState.FAILED):
            self._recover(report, report.session, report.noticed)

    def _worker_died(self, death: WorkerDied) -> None:
        """A worker without a session is replaced by idle.py; there is nothing to recover."""
        session = self._registry.on_worker(death.worker)
        if session is not None and session.state is not SessionState.FAILED:
            self._recover(replace(death, session=session), session, death.noticed)
            return
        if session is not None:
            self._registry.release(session)
        death.worker.close()

    def _gpu_unhealthy(self, unhealthy: GpuUnhealthy) -> None:
        worker = unhealthy.worker
        if not worker.alive():
            return  # it has been replaced since, for another event of the same incident
        session = self._registry.on_worker(worker)
        if session is not None and session.state is not SessionState.FAILED:
            self._recover(replace(unhealthy, session=session), session, unhealthy.noticed)
        else:
            worker.kill_with_cause(unhealthy.cause, unhealthy.noticed)

    # -- recoveries ---------------------------------------------------------------------------------

    def _recover(self, first: Event, session: Session, noticed: float) -> None:
        """Hands the event to the recovery of the session's job, or begins one."""
        group = self._registry.group([session]) or [session]
        under_way = [job for job in self._jobs if job.touches(group)]
        for other in under_way[1:]:  # a communicator has made one job of two
            other.stop()
            self._jobs.remove(other)
            under_way[0].recovery.inherit(other.recovery)
            for unread in other.unread():
                under_way[0].put(unread)
        if under_way:
            return under_way[0].put(first)
        self._begin(first, group, session, noticed)

    def _begin(self, first: Event, group: list[Session], session: Session, noticed: float) -> None:
        assert self._supervisor is not None
        self._proofs.disturbed(group, first)
        fired = self._faults.take_fired_at(group)
        since = noticed if fired is None else min(noticed, fired)
        incident = Incident(detect_seconds=max(0.0, time.monotonic() - since))
        incident.add(first, self._limits)
        incident.involve([session])
        events = EventQueue()
        recovery = Recovery(
            self._registry,
            self._supervisor,
            incident,
            faults=self._faults,
            policies=self._policies,
            limits=self._limits,
            tolerances=self._tolerances,
            events=events,
        )
        recovery.group = group
        job = Job(recovery, events, self._events.put)
        self._jobs.append(job)
        job.start()

    def _ended(self, job: Job) -> None:
        if job not in self._jobs:
            return
        self._jobs.remove(job)
        recovery = job.recovery
        self._registry.stop(recovery.involved(), False)
        self._faults.take_fired_at(recovery.involved())  # what has fired in it begins no later one
        for worker in recovery.incident.dead:
            worker.close()
        for event in job.unread():
            self._events.put(event)
        if recovery.failure or not recovery.incident.validates():  # a validation's verdict is reported instead
            stopped = [one.disturbed(recovery.involved()) for one in (self.validations, self._healings)]
            self._report(recovery)
            for report in stopped:
                self._fault(report)

    def _report(self, recovery: Recovery) -> None:
        self._proofs.begin(recovery)
        with self._registry.changed:
            for gpu in recovery.incident.gpus:
                self._registry.gpus[gpu].recoveries += 1
            self._registry.changed.notify_all()
