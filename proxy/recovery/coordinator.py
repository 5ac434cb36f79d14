"""The coordinator of one node: takes events, and gives each job that has a fault a recovery of its own.

Called by: the service (start, stop), the supervisor (a worker died), the Coordinator service (a fault was reported),
the Node service (a session closed); in a cluster, ../cluster/ranks for these. Promises: a job has one recovery at a
time, which gets all its further events; others go on beside it; an unexpected exception ends its own job alone.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..health.verdict import Hang, of_hang
from ..protection.determinism.tolerance import Tolerances
from ..protection.determinism.validation import Validations
from ..protection.peer_mode.divergence import Divergences
from ..protection.peer_mode.healing import Healings
from ..protection.peer_mode.policy import Policies
from ..protection.spacing import Spacings
from ..ranks.causes import DIVERGENCE, HUNG_WORKER, RESTART, VALIDATION, WORKER_DEATH
from ..ranks.events import (
    Event,
    EventQueue,
    FaultReported,
    GpuUnhealthy,
    PendingValidation,
    RanksLeft,
    RanksTaken,
    RecoveryEnded,
    ServiceRestarted,
    SessionClosed,
    ValidationWanted,
    WorkerDied,
)
from ..ranks.rank import ArmedFaults, Rank, Ranks, Replacements, Worker
from ..ranks.states import SessionState
from .ending import give_up, of_defect
from .incident import Incident
from .job import Job
from .leaving import Leaving, end_half_restored
from .limits import Limits
from .proof import Proofs
from .recovery import Recovery
from .report import Reports

IDLE_SECONDS = 0.25
#: Seconds between looks at a group that is being measured: two successive boundaries must be caught.
MEASURING_SECONDS = 0.02


class Coordinator:
    """The coordinator; its own thread never waits for a recovery."""

    def __init__(self, ranks: Ranks, faults: ArmedFaults) -> None:
        self._ranks, self._faults = ranks, faults
        self._events = EventQueue()
        self._limits = Limits()
        self.divergences = Divergences()
        self._healings = Healings(self.divergences, ranks.config.heal_replicas)
        self._spacings = Spacings(ranks)
        self._policies = Policies(ranks, self._spacings, self.divergences, self._healings)
        self._jobs: list[Job] = []
        self._tolerances = Tolerances(ranks.config)
        self.validations = Validations(ranks, self._tolerances)
        self.reports = Reports(ranks.log)
        for gpu in ranks.gpus:  # GPUs of the previous service; the machine may have had other GPUs then
            gpu.recoveries = sum(gpu.index in one["gpus"] for one in self.reports.documents())
        self._proofs = Proofs(ranks, self.reports, self._policies)
        self.late: Callable[[Rank], list[str]] = lambda session: []  # set by the service
        self._replacements: Replacements | None = None
        self._numbers = itertools.count(1)  # numbers of jobs
        self._leaving = Leaving()
        self._thread = threading.Thread(target=self._loop, name="jitc-coordinator", daemon=True)

    def start(self, replacements: Replacements) -> None:
        self._replacements = replacements
        self._thread.start()

    def stop(self) -> None:
        self._events.stop()
        if self._thread.is_alive():
            self._thread.join(30)
        for job in self._jobs:
            job.stop()

    # -- events (any thread) ------------------------------------------------------------------------

    def post(self, event: Event) -> None:
        self._events.put(event)

    def worker_died(self, worker: Worker) -> None:
        self._events.put(WorkerDied(worker, worker.unhealthy_since or worker.noticed_dead))
        with self._ranks.changed:
            self._ranks.changed.notify_all()

    def fault_reported(self, request: Any) -> None:
        with self._ranks.changed:
            session = self._ranks.sessions.get(request.session)
        what = request.sequence, request.status, request.cause, request.message
        if session is not None:
            self.fault_found(FaultReported(session, *what, session.epoch))

    def fault_found(self, fault: FaultReported) -> None:
        """Handles a rank that has reported a fault."""
        self._put(of_hang(fault, self._ranks.config.hang_seconds, self.late(fault.session)))

    def hang_found(self, hang: Hang) -> None:
        """Handles a rank that makes no progress while its device has not reported that by itself."""
        worker = hang.session.worker
        if hang.cause != HUNG_WORKER:
            self._put(hang.fault())
        elif worker is not None and worker.works():
            worker.kill_with_cause(hang.cause, hang.since, hang.message)

    def _put(self, fault: FaultReported) -> None:
        self._ranks.stop([fault.session], True)  # should this service end before it has recovered the session
        self._events.put(fault)

    def validate(self, gpu: int, session: int = 0) -> PendingValidation:
        """Has a minibatch of the job on this GPU run twice, or of the job of a session; the returned object is done
        once it has."""
        pending = PendingValidation(gpu, session)
        self._events.put(ValidationWanted(pending))
        return pending

    def service_restarted(self, session: Rank) -> None:
        """Handles a session that the previous service left waiting for a recovery."""
        cause = RESTART if session.worker is not None and session.worker.alive() else WORKER_DEATH
        self._events.put(ServiceRestarted(session, cause))

    def resume(self, sessions: Sequence[Rank]) -> None:
        """Continues the jobs of the previous service."""
        self._policies.resume(sessions)
        stopped = [session for session in sessions if session.stopped]
        for session in sorted(stopped, key=lambda one: one.worker is not None):  # sessions that are the cause first
            self.service_restarted(session)

    def session_closed(self, session: Rank) -> None:
        self._events.put(SessionClosed(session))

    def waits_for(self, session: Rank) -> str:
        """Returns what the recovery of the rank's job waits for without a limit, as a text; empty: for nothing."""
        return next((job.recovery.calls.waits for job in list(self._jobs) if job.touches([session])), "")

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
        """Gives up the job of a dropped event, which is never handled again: fenced sessions must not wait forever."""
        session = getattr(event, "session", None)
        if isinstance(event, WorkerDied):
            session = self._ranks.on_worker(event.worker)
        if session is not None:
            give_up(self._ranks, self._ranks.group([session]), of_defect(error))

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
        elif isinstance(event, RanksTaken):
            self._taken(event)
        elif isinstance(event, RanksLeft):
            self._left(event)
        elif isinstance(event, ValidationWanted):
            self.validations.want(event.pending)
        elif isinstance(event, RecoveryEnded):
            self._ended(event.job)
        else:
            self._closed(event)

    def _closed(self, closed: SessionClosed) -> None:
        session = closed.session
        for job in [one for one in self._jobs if one.touches([session])]:
            job.put(closed)
        self._proofs.closed(session)
        self._forget(session)
        self._fault(self.validations.closed(session))
        self._fault(self._healings.closed(session))
        self._faults.session_closed(session)

    def _forget(self, session: Rank) -> None:
        self._limits.forget(session.number)
        self._policies.forget(session)
        self._spacings.forget(session)
        self._tolerances.forget(session)

    def _taken(self, taken: RanksTaken) -> None:
        """Begins with ranks that another service has led, or that a recovery was left with."""
        try:
            end_half_restored(taken.ranks)
            self.resume(taken.ranks)
        finally:
            taken.done()

    def _left(self, left: RanksLeft) -> None:
        self._leaving.begin(left, self._jobs)
        for end in (self.validations.disturbed, self._healings.disturbed, self._proofs.left):
            end(left.ranks)
        for session in left.ranks:
            self._forget(session)
        self._leaving.let_go(self._jobs)

    def _fault(self, report: FaultReported | ServiceRestarted | None) -> None:
        if report is not None and report.session.state not in (SessionState.CLOSED, SessionState.FAILED):
            self._recover(report, report.session, report.noticed)

    def _worker_died(self, death: WorkerDied) -> None:
        """Recovers the worker's session. A worker without one is replaced by idle.py; there is nothing to recover."""
        session = self._ranks.on_worker(death.worker)
        if session is not None and session.state is not SessionState.FAILED:
            self._recover(replace(death, session=session), session, death.noticed)
            return
        if session is not None:
            self._ranks.release(session)
        death.worker.close()

    def _gpu_unhealthy(self, unhealthy: GpuUnhealthy) -> None:
        worker = unhealthy.worker
        if not worker.alive():
            return  # the worker has been replaced since, for another event of the same incident
        session = self._ranks.on_worker(worker)
        if session is not None and session.state is not SessionState.FAILED:
            self._recover(replace(unhealthy, session=session), session, unhealthy.noticed)
        else:
            worker.kill_with_cause(unhealthy.cause, unhealthy.noticed)

    # -- recoveries ---------------------------------------------------------------------------------

    def _recover(self, first: Event, session: Rank, noticed: float) -> None:
        """Hands the event to the recovery of the session's job, or begins one, unless another service leads it now."""
        if session.number not in self._ranks.sessions:
            return
        group = self._ranks.group([session]) or [session]
        under_way = [job for job in self._jobs if job.touches(group)]
        for other in under_way[1:]:  # a communicator has joined two jobs into one
            other.stop()
            self._jobs.remove(other)
            under_way[0].recovery.inherit(other.recovery)
            for unread in other.unread():
                under_way[0].put(unread)
        if under_way:
            under_way[0].put(first)
        else:
            self._begin(first, group, session, noticed)

    def _begin(self, first: Event, group: Sequence[Rank], session: Rank, noticed: float) -> None:
        assert self._replacements is not None
        self._proofs.disturbed(group, first)
        fired = self._faults.take_fired_at(group)
        since = noticed if fired is None else min(noticed, fired)
        incident = Incident(detect_seconds=max(0.0, time.monotonic() - since))
        incident.add(first, self._limits)
        incident.involve([session])
        events = EventQueue()
        recovery = Recovery(
            self._ranks, self._replacements, incident, faults=self._faults, policies=self._policies,
            limits=self._limits, tolerances=self._tolerances, events=events,
        )  # fmt: skip
        recovery.group = list(group)
        job = Job(next(self._numbers), recovery, events, self._events.put)
        self._jobs.append(job)
        job.start()

    def _ended(self, number: int) -> None:
        job = next((one for one in self._jobs if one.number == number), None)
        if job is None:
            return
        self._jobs.remove(job)
        if job.left:
            self._leaving.let_go(self._jobs)
            return self._taken(RanksTaken(self._leaving.staying(job, self._ranks), lambda: None))
        recovery = job.recovery
        self._ranks.stop(recovery.involved(), False)
        self._faults.take_fired_at(recovery.involved())  # a fault that fired during this recovery begins no later one
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
        with self._ranks.changed:
            for gpu in [gpu for node, gpu in recovery.incident.places if not node]:
                self._ranks.gpus[gpu].recoveries += 1
            self._ranks.changed.notify_all()
