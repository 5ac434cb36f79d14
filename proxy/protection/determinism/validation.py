"""Validations: test whether the guarantees hold for a job, by running one of its minibatches twice.

All ranks stop before the same optimizer step and hash live memory. They roll back to their boundary as after a fault,
unrestored memory is poisoned, the minibatch is replayed, and before the step each rank compares. A difference means
that the job depends on something that is not restored.

Called by: the coordinator, in its thread; only a `PendingValidation` is shared with others. Promises: one run per job
at a time; a rank that does not reach the step, or a fault in between, ends a run as interrupted; the job continues in
any case.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc

from jitc.v1 import worker_pb2

from ...common.rpc import refused, status_of
from ...ranks.events import FaultReported, PendingValidation
from ...ranks.rank import Rank, Ranks
from ...ranks.states import OUTSIDE, RECOVERING, SessionState
from ...ranks.stats import session_stats
from ...status import documents
from ...status import report as model
from .differences import differences_text, together
from .tolerance import Tolerances

#: Steps from the newest boundary to the step to stop at; larger ones are tried when the job is too fast.
AHEAD = (2, 4, 16, 64, 256)
#: Time for the other ranks to come to the same step, and for the replay; after that the run ends.
GATHER_SECONDS, VERDICT_SECONDS = 30.0, 120.0
#: Between looks for jobs that are due, and the boundary of a job's first validation.
LOOK_SECONDS, FIRST = 5.0, 100
CALL_SECONDS = 10.0
#: Documents kept for `jitc report`.
KEPT = 100


@dataclass(eq=False)
class _Run:
    members: Sequence[Rank]
    step: int
    pending: list[PendingValidation]
    started: float = field(default_factory=time.monotonic)
    arrived: list[FaultReported] = field(default_factory=list)
    replaying: bool = False
    verdicts: dict[int, dict[str, Any]] = field(default_factory=dict)

    def all_here(self) -> bool:
        return {one.session.number for one in self.arrived} >= {one.number for one in self.members}

    def since(self) -> float:
        """Returns the seconds since the first rank stopped; 0 as long as none has."""
        return time.monotonic() - self.arrived[0].noticed if self.arrived else 0.0


class Validations:
    """The validations of all jobs."""

    def __init__(self, ranks: Ranks, tolerances: Tolerances) -> None:
        self._ranks, self._tolerances = ranks, tolerances
        self._every, self._share = ranks.config.validate_every, ranks.config.validate_share
        self._runs: list[_Run] = []
        self._waiting: list[PendingValidation] = []  # for a worker to be replaced, or a rank to go on
        self._newest: dict[int, int] = {}  # session -> step of its newest validation
        self._paid: dict[int, float] = {}  # session -> when that took no more than its share of the time
        self._looked = time.monotonic()
        self._lock = threading.Lock()
        self._documents: list[dict[str, Any]] = []

    def documents(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._documents)

    def busy(self) -> bool:
        """Returns whether ranks are stopped for a validation; ticks must then be frequent."""
        return any(run.arrived for run in self._runs)

    def want(self, validation: PendingValidation) -> None:
        with self._ranks.changed:
            on_gpu = [one for one in self._ranks.sessions.values() if _concerns(validation, one)]
        group = self._ranks.group(on_gpu)
        if why := self._ranks.awaits(group):
            return validation.refuse(f"not all of the job's ranks are known now: {why}")
        if not group:
            return validation.refuse(f"GPU {validation.gpu} serves no process")
        for run in self._runs:
            if any(session in run.members for session in group):
                return run.pending.append(validation)
        return self._begin(group, [validation])

    def arrived(self, report: FaultReported) -> FaultReported | None:
        """Handles a rank that has stopped. Returns the report to recover from, once all have, or if no run waits for
        it."""
        run = next((one for one in self._runs if report.session in one.members and not one.replaying), None)
        if run is None:
            return report
        run.arrived.append(report)
        if not run.all_here():
            return None
        run.replaying = True
        return report

    def tick(self) -> FaultReported | None:
        """Collects verdicts and starts due validations. Returns a report to recover from if a rank is stopped for too
        long."""
        overdue = None
        waiting, self._waiting = self._waiting, []
        for validation in waiting:
            self.want(validation)
        for run in list(self._runs):
            if run.replaying:
                self._collect(run)
            elif all(session.state in OUTSIDE for session in run.members):
                self._end(run, "the processes have ended")
            elif any(session.state in RECOVERING for session in run.members):
                pass  # the end of that recovery is the run's (disturbed)
            elif run.since() > GATHER_SECONDS:
                run.replaying, overdue = True, run.arrived[0]
        if self._every and time.monotonic() - self._looked > LOOK_SECONDS:
            self._look()
        return overdue

    def closed(self, session: Rank) -> FaultReported | None:
        """Handles the end of a rank's process. Returns a report to recover from if another rank is stopped for a run
        that has ended."""
        self._newest.pop(session.number, None)
        self._paid.pop(session.number, None)
        return self._interrupt([session], "a process has ended")

    def disturbed(self, group: Sequence[Rank]) -> FaultReported | None:
        """Handles a recovery of the sessions, after which measurements of ranks may be lost. Returns as closed()
        does."""
        return self._interrupt(group, "a fault came in between")

    def _interrupt(self, sessions: Sequence[Rank], why: str) -> FaultReported | None:
        runs = [one for one in self._runs if any(session in one.members for session in sessions)]
        for run in runs:
            self._end(run, why)
        return next((report for run in runs for report in run.arrived if report.still_stopped()), None)

    # -- runs ---------------------------------------------------------------------------------------

    def _begin(self, group: Sequence[Rank], pending: list[PendingValidation]) -> None:
        stats = [session_stats(session) for session in group]
        if any(one.get("uneven") for one in stats):
            for validation in pending:
                validation.refuse("its ranks, or threads, make different optimizer steps: none can be run twice by all")
            return
        newest = max(int(one.get("boundary", 0)) for one in stats)
        refusal = ""
        for ahead in AHEAD:
            try:
                if _ask_to_stop(group, newest + ahead):
                    self._waiting += pending  # it was asked for a step that another rank had passed
                    return
            except grpc.RpcError as error:
                if not refused(error):
                    self._waiting += pending  # a dying worker; when it has been replaced
                    return
                refusal = status_of(error)[1]
                continue
            self._runs.append(_Run(group, newest + ahead, pending))
            self._newest |= {session.number: newest + ahead for session in group}
            return
        for validation in pending:
            validation.refuse(refusal)

    def _collect(self, run: _Run) -> None:
        for session in run.members:
            if session.number in run.verdicts:
                continue
            stats = session_stats(session)
            verdict = stats.get("validation", {})
            if verdict.get("step") == run.step:
                run.verdicts[session.number] = verdict
            elif stats and stats.get("validating") != run.step:
                return self._end(run, f"{session.label()} lost its worker, or did not come to the step")
        if len(run.verdicts) == len(run.members):
            return self._end(run, "")
        if run.since() > GATHER_SECONDS + VERDICT_SECONDS:
            self._end(run, "the replay did not come to its end in time")
        return None

    def _end(self, run: _Run, interrupted: str) -> None:
        self._runs.remove(run)
        document = _describe(run, interrupted)
        if self._share:
            paid = time.monotonic() + run.since() / self._share
            self._paid |= {session.number: paid for session in run.members}
        self._tolerances.learn(run.members, document)
        with self._lock:
            self._documents = [*self._documents[-KEPT + 1 :], document]
        print(f"jitc-proxyd: {line(document)}", file=sys.stderr, flush=True)
        for validation in run.pending:
            validation.document = document
            validation.done.set()

    def _look(self) -> None:
        self._looked = time.monotonic()
        with self._ranks.changed:
            serving = [one for one in self._ranks.sessions.values() if one.state is SessionState.SERVING]
        seen = {session.number for run in self._runs for session in run.members}
        for session in serving:
            if session.number in seen:
                continue
            group = self._ranks.group([session])
            if not group or self._ranks.awaits(group):  # it has ended meanwhile
                continue
            seen |= {one.number for one in group}
            last = max(self._newest.get(one.number, 0) for one in group)
            due = last + self._every if last else min(FIRST, self._every)
            stats = [session_stats(one) for one in group]
            if min(int(one.get("boundary", 0)) for one in stats) < due or any(one.get("uneven") for one in stats):
                continue
            if time.monotonic() < max(self._paid.get(one.number, 0.0) for one in group):
                continue
            # What steers the program may come out differently: a risk that is only taken on request.
            if not (self._tolerances.careful and any(one.get("steering_reads") for one in stats)):
                self._begin(group, [])


def _concerns(validation: PendingValidation, one: Rank) -> bool:
    if validation.session:
        return one.number == validation.session
    return one.gpu == validation.gpu and not one.node


def _ask_to_stop(group: Sequence[Rank], step: int) -> bool:
    """Asks the ranks to stop before the step. True: a rank is stopped for something else, and those after it were not
    asked. Raises RpcError: a rank is past that step already, or its worker is dying.
    """
    for session in group:
        request = worker_pb2.ValidateRequest(session=session.number, step=step)
        if session.worker is not None and session.worker.ask("Validate", request, CALL_SECONDS).result().standing:
            return True
    return False


def _describe(run: _Run, interrupted: str) -> dict[str, Any]:
    verdicts = run.verdicts.values()
    different = [
        model.Block(session=number, address=row["address"], bytes=row["bytes"], ordinal=row["ordinal"])
        for number, verdict in sorted(run.verdicts.items())
        for row in verdict["different"]
    ]
    differences = together(verdict["differences"] for verdict in verdicts)
    same = not different and not differences["results"]
    outcome = f"interrupted: {interrupted}" if interrupted else "identical" if same else "different"
    found = model.Validation(
        time=time.time(),
        gpus=sorted({session.gpu for session in run.members}),
        sessions=[session.label() for session in run.members],
        step=run.step,
        outcome=outcome,
        blocks=sum(int(verdict["blocks"]) for verdict in verdicts),
        bytes=sum(int(verdict["bytes"]) for verdict in verdicts),
        unwritten=sum(int(verdict["unwritten"]) for verdict in verdicts),
        different=different,
        differences=model.Differences(**differences),
        seconds=round(run.since(), 6),
    )
    return documents.document(found)


def line(document: dict[str, Any]) -> str:
    gpus = ", ".join(map(str, document["gpus"]))
    text = (
        f"GPU {gpus}: the minibatch before step {document['step']} run twice: {document['outcome']}, "
        f"{document['blocks']} live blocks, {document['bytes']} bytes, {document['seconds']:.2f} s"
    )
    if document["different"]:
        text += f"; {len(document['different'])} blocks differ: this job cannot be guaranteed to the last bit"
    numbers = differences_text(document["differences"])
    return f"{text}; {numbers}" if numbers else text
