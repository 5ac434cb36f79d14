"""The Admin service: the questions of the jitc command.

Called by: gRPC threads. Promises: the JSON documents keep the form that docs/cli.md gives; every refusal says why.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any, Protocol

import grpc

from jitc.ops.faults import KINDS, PHASES, wrong_trigger
from jitc.v1 import control_pb2

from ...common.rpc import Waiting, refuse
from ...ranks.states import SessionState
from ...ranks.stats import stats_of
from ...status import node as model
from ...status.documents import document
from ..fault_injector import FaultInjector
from ..gpus import Gpu
from ..registry import Registry
from ..session import Session

# The worker's names for the phases (proxy/native/executor, boundary_times.h), in the order of a boundary.
_BOUNDARY_PHASES = ("drain", "hash", "copy", "beside", "record", "gather")


class Records(Protocol):
    """The coordinator's records, and the requests that it accepts."""

    def recoveries(self) -> list[dict[str, Any]]: ...

    def validations(self) -> list[dict[str, Any]]: ...

    def divergences(self) -> list[dict[str, Any]]: ...

    def validate(self, gpu: int) -> Pending: ...

    def return_gpu(self, gpu: int) -> str: ...


class Races(Protocol):
    """Races: operators of programs without an order between them (../../health/races.py)."""

    def documents(self) -> list[dict[str, Any]]: ...

    def count(self, session: int) -> int: ...


class Pending(Protocol):
    """A validation in flight: the document is there once it is done; a refusal says why there will be none."""

    done: threading.Event
    document: dict[str, Any]
    refusal: str


class AdminService:
    """Status, report, inject, validate."""

    def __init__(
        self, registry: Registry, faults: FaultInjector, races: Races, records: Records, waiting: Waiting
    ) -> None:
        self._registry, self._faults, self._races = registry, faults, races
        self._records, self._waiting = records, waiting
        self._started = time.time()
        self.Inject, self.Validate = waiting.serve(self._inject), waiting.serve(self._validate)

    def Status(self, request: Any, context: Any) -> Any:
        registry = self._registry
        gpus = [self._gpu(gpu) for gpu in registry.gpus]
        held = sum(one.copies_held_bytes for gpu in gpus for one in gpu.sessions)
        copies = model.Copies(held_bytes=held, limit_bytes=registry.config.snapshot_bytes)
        found = model.Status(gpus=gpus, copies=copies, shuffle=registry.config.shuffle, started=self._started)
        return control_pb2.JsonReply(json=json.dumps(document(found)))

    def Report(self, request: Any, context: Any) -> Any:
        records = self._records
        found = {
            "recoveries": records.recoveries(), "validations": records.validations(),
            "divergences": records.divergences(), "races": self._races.documents(),
            "injected": self._faults.documents(),
        }  # fmt: skip
        return control_pb2.JsonReply(json=json.dumps(found))

    def ReturnGpu(self, request: Any, context: Any) -> Any:
        self._check_gpu(request.gpu, context)
        return control_pb2.ReturnGpuReply(detail=self._records.return_gpu(request.gpu))

    def _validate(self, request: Any, context: Any) -> Any:
        self._check_gpu(request.gpu, context)
        with self._waiting.seat(context, "ask again later"):
            pending = self._records.validate(request.gpu)
            _wait(pending.done, request.wait_ms, context)
        if pending.refusal:
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, pending.refusal)
        if not pending.done.is_set():
            message = "no verdict yet: the job has not come to an optimizer step; `jitc report` will have it"
            refuse(context, grpc.StatusCode.DEADLINE_EXCEEDED, message)
        return control_pb2.JsonReply(json=json.dumps(pending.document))

    def _inject(self, request: Any, context: Any) -> Any:
        fault = request.fault
        self._check_gpu(request.gpu, context)
        if fault.kind not in KINDS:
            refuse(
                context, grpc.StatusCode.INVALID_ARGUMENT, f"unknown fault {fault.kind!r}; known: {', '.join(KINDS)}"
            )
        if fault.phase and fault.phase not in PHASES:
            known = ", ".join(PHASES)
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, f"unknown phase {fault.phase!r}; known: {known}")
        if why := wrong_trigger(fault):
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, why)
        if request.wait_ms:
            with self._waiting.seat(context, "ask again later, or without --wait"):
                armed = self._faults.arm(request.gpu, fault)
                _wait(armed.done, request.wait_ms, context)
        else:
            armed = self._faults.arm(request.gpu, fault)
        fired = armed.done.is_set()
        if armed.detail.startswith("refused"):
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, armed.detail)
        return control_pb2.InjectReply(fired=fired, detail=armed.detail or "armed")

    def _check_gpu(self, gpu: int, context: Any) -> None:
        last = len(self._registry.gpus) - 1
        if gpu > last:
            there = f"it has GPUs 0 to {last}" if last else "it has GPU 0 alone"
            refuse(context, grpc.StatusCode.NOT_FOUND, f"this node has no GPU {gpu}; {there} (jitc status)")

    def _gpu(self, gpu: Gpu) -> model.GpuStatus:
        registry = self._registry
        with registry.changed:
            sessions = [one for one in registry.sessions.values() if one.gpu == gpu.index]
            waiting = {one.number: registry.communicators.waiting_for(one) for one in sessions}
            hosted = [one for one in registry.sessions.values() if one.host == gpu.index]
            workers, state = registry.workers_of(gpu), registry.state_of(gpu)
        stats = stats_of({*sessions, *hosted})
        return model.GpuStatus(
            index=gpu.index,
            device=registry.backend.device,
            name=gpu.facts.name,
            physical=gpu.facts.physical,
            state=state,
            worker_pid=workers[0].pid if workers else None,
            spare=gpu.spare,
            memory_used=sum(int(stats.get(one.number, {}).get("memory_used", 0)) for one in hosted),
            memory_total=gpu.facts.memory_total,
            sessions=[
                self._session(one, stats.get(one.number, {}), waiting[one.number])
                for one in sessions
                if one.state is not SessionState.CLOSED
            ],
            recoveries=gpu.recoveries,
        )

    def _session(self, session: Session, stats: dict[str, Any], waiting_for: str) -> model.SessionStatus:
        worker = session.worker
        return model.SessionStatus(
            pid=session.pid,
            job=self._registry.job_of(session),
            worker_pid=worker.pid if worker is not None and worker.alive() else None,
            rank=session.rank,
            world_size=session.world_size,
            host=session.host,
            state=session.state.value,
            waiting_for=waiting_for,
            boundary=int(stats.get("boundary", 0)),
            journal_bytes=int(stats.get("journal_bytes", 0)),
            memory_used=int(stats.get("memory_used", 0)),
            copies_bytes=int(stats.get("snapshot_bytes", 0)),
            copies_held_bytes=int(stats.get("snapshot_held", 0)),
            boundary_phases=_boundary_phases(stats),
            turns=_turns(stats),
            ops_executed=int(stats.get("ops_executed", stats.get("executed", 0))),
            diverged=session.diverged,
            compared=session.compared,
            uneven_steps=session.uneven,
            boundaries_apart=session.boundaries_apart,
            reserve=model.Reserve(boundary=session.reserve, every=session.reserves_apart),
            hang_seconds=session.hang_seconds,
            races=self._races.count(session.number),
        )


def _wait(done: threading.Event, wait_ms: int, context: Any) -> None:
    """Waits until the event is set, the time is over or the caller has hung up."""
    deadline = time.monotonic() + wait_ms / 1000
    while not done.wait(min(0.5, max(0.0, deadline - time.monotonic()))):
        if time.monotonic() >= deadline or not context.is_active():
            return


def _turns(stats: dict[str, Any]) -> model.Turns:
    """Returns the session's turns at its GPU, from its worker's counters; zeros for a session that has taken none."""
    told: dict[str, Any] = {"moved_out": 0, "bytes": 0, "seconds": 0.0, "waits": False} | stats.get("turns", {})
    return model.Turns(**told)


def _boundary_phases(stats: dict[str, Any]) -> model.BoundaryPhases:
    """Returns all phases always: zeros for a worker that does not answer, or has had no boundary."""
    told: dict[str, Any] = stats.get("boundary_phases", {})
    seconds = dict.fromkeys(_BOUNDARY_PHASES, 0.0) | told.get("seconds", {})
    sums: dict[str, Any] = {"boundaries": 0, "hashed_bytes": 0, "copied_bytes": 0} | told | {"seconds": seconds}
    return model.BoundaryPhases(**sums)
