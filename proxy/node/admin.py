"""The Admin and Coordinator services: the jitc command's and the workers' questions.

The JSON documents' form is given in docs/cli.md and is kept stable.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import grpc

from jitc.v1 import control_pb2, worker_pb2

from ..rpc import refuse
from .config import SLOTS
from .faults import KINDS, PHASES, FaultDesk
from .memory import Communicator, NoSpace, shared
from .sessions import Gpu, Registry, Session

STATS_SECONDS = 5.0


class Records(Protocol):
    """What the coordinator has done, and can be asked to do."""

    def recoveries(self) -> list[dict[str, Any]]: ...

    def validations(self) -> list[dict[str, Any]]: ...

    def validate(self, gpu: int) -> Waiting: ...


class Waiting(Protocol):
    """The document is there once it is done; a refusal says why there will be none."""

    done: threading.Event
    document: dict[str, Any]
    refusal: str


class AdminService:
    """Status, report, inject, validate."""

    def __init__(self, registry: Registry, faults: FaultDesk, records: Records) -> None:
        self._registry, self._faults, self._records = registry, faults, records

    def Status(self, request: Any, context: Any) -> Any:
        document = {"gpus": [self._gpu(gpu) for gpu in self._registry.gpus]}
        return control_pb2.JsonReply(json=json.dumps(document))

    def Report(self, request: Any, context: Any) -> Any:
        document = {"recoveries": self._records.recoveries(), "validations": self._records.validations()}
        return control_pb2.JsonReply(json=json.dumps(document))

    def Validate(self, request: Any, context: Any) -> Any:
        self._check_gpu(request.gpu, context)
        ticket = self._records.validate(request.gpu)
        _wait(ticket.done, request.wait_ms, context)
        if ticket.refusal:
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, ticket.refusal)
        if not ticket.done.is_set():
            message = "no verdict yet: the job has not come to an optimizer step; `jitc report` will have it"
            refuse(context, grpc.StatusCode.DEADLINE_EXCEEDED, message)
        return control_pb2.JsonReply(json=json.dumps(ticket.document))

    def Inject(self, request: Any, context: Any) -> Any:
        fault = request.fault
        self._check_gpu(request.gpu, context)
        if fault.kind not in KINDS:
            refuse(
                context, grpc.StatusCode.INVALID_ARGUMENT, f"unknown fault {fault.kind!r}; known: {', '.join(KINDS)}"
            )
        if fault.phase and fault.phase not in PHASES:
            known = ", ".join(PHASES)
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, f"unknown phase {fault.phase!r}; known: {known}")
        armed = self._faults.arm(request.gpu, fault)
        _wait(armed.done, request.wait_ms, context)
        fired = armed.done.is_set()
        if armed.detail.startswith("refused"):
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, armed.detail)
        return control_pb2.InjectReply(fired=fired, detail=armed.detail or "armed")

    def _check_gpu(self, gpu: int, context: Any) -> None:
        if gpu >= len(self._registry.gpus):
            refuse(context, grpc.StatusCode.NOT_FOUND, f"GPU {gpu} does not exist")

    def _gpu(self, gpu: Gpu) -> dict[str, Any]:
        with self._registry.changed:
            worker = gpu.worker
            sessions = [one for one in self._registry.sessions.values() if one.gpu == gpu.index]
        stats = worker_stats(worker) if worker is not None and worker.alive() else {}
        of_session = {one.get("session"): one for one in stats.get("sessions", [])}
        return {
            "index": gpu.index,
            "device": self._registry.backend.device,
            "name": gpu.facts.name,
            "physical": gpu.facts.physical,
            "state": gpu.state,
            "worker_pid": worker.pid if worker is not None else None,
            "memory_used": sum(int(one.get("memory_used", 0)) for one in of_session.values())
            or int(stats.get("memory_used", 0)),
            "memory_total": gpu.facts.memory_total,
            "sessions": [_session(one, of_session.get(one.number, {})) for one in sessions],
            "recoveries": gpu.recoveries,
        }


def _wait(done: threading.Event, wait_ms: int, context: Any) -> None:
    """Until it is, the time is over or the caller has gone."""
    deadline = time.monotonic() + wait_ms / 1000
    while not done.wait(min(0.5, max(0.0, deadline - time.monotonic()))):
        if time.monotonic() >= deadline or not context.is_active():
            return


def _session(session: Session, stats: dict[str, Any]) -> dict[str, Any]:
    return {
        "pid": session.pid,
        "rank": session.rank,
        "world_size": session.world_size,
        "state": session.state.value,
        "boundary": int(stats.get("boundary", 0)),
        "journal_bytes": int(stats.get("journal_bytes", 0)),
        "ops_executed": int(stats.get("ops_executed", stats.get("executed", 0))),
    }


def worker_stats(worker: Any) -> dict[str, Any]:
    """The executor's counters; empty when the worker is dying or still a spare."""
    try:
        document: dict[str, Any] = json.loads(worker.stub.Stats(worker_pb2.Empty(), timeout=STATS_SECONDS).json)
        return document
    except (grpc.RpcError, ValueError):
        return {}


def session_stats(session: Session) -> dict[str, Any]:
    """The session's own of them; empty when its worker is dying."""
    if session.worker is None:
        return {}
    for one in worker_stats(session.worker).get("sessions", []):
        if one.get("session") == session.number:
            found: dict[str, Any] = one
            return found
    return {}


class CoordinatorService:
    """Workers' questions, in gRPC threads; recoveries themselves run in the coordinator's own thread."""

    def __init__(self, registry: Registry, faults: FaultDesk, report: Callable[[Any], None]) -> None:
        self._registry, self._faults, self._report = registry, faults, report

    def ReportFault(self, request: Any, context: Any) -> Any:
        self._report(request)
        return control_pb2.ReportFaultReply()

    def JoinCommunicator(self, request: Any, context: Any) -> Any:
        registry = self._registry
        with registry.changed:
            session = registry.sessions.get(request.session)
            if session is None:
                refuse(context, grpc.StatusCode.NOT_FOUND, f"unknown session {request.session}")
            if request.epoch != session.epoch:
                message = f"join of epoch {request.epoch}, but the session is at epoch {session.epoch}"
                refuse(context, grpc.StatusCode.FAILED_PRECONDITION, message)
            if not 0 < request.ranks <= SLOTS or request.rank >= request.ranks:
                message = f"rank {request.rank} of {request.ranks}: a communicator has 1 to {SLOTS} ranks on this node"
                refuse(context, grpc.StatusCode.INVALID_ARGUMENT, message)
            try:
                communicator = self._join(request)
            except NoSpace as error:
                refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
            except ValueError as error:
                refuse(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
            segment = communicator.segment
            assert segment is not None
            registry.changed.notify_all()
            return control_pb2.JoinReply(segment_path=segment.path, segment_bytes=segment.size)

    def FaultFired(self, request: Any, context: Any) -> Any:
        self._faults.fired(request.gpu, request.number, request.detail)
        return control_pb2.FaultFiredReply()

    def _join(self, request: Any) -> Communicator:
        registry = self._registry
        communicator = registry.communicators.get(request.unique_id)
        if communicator is None:
            communicator = registry.communicators[request.unique_id] = Communicator(request.ranks)
        if communicator.ranks != request.ranks:
            raise ValueError(f"this communicator has {communicator.ranks} ranks, not {request.ranks}")
        if communicator.segment is None:
            communicator.segment = shared("communicator", registry.shared.segment_bytes(request.ranks))
        communicator.members[request.session] = request.rank
        return communicator
