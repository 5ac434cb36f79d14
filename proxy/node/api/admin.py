"""The Admin service: the questions of the jitc command.

Called by: gRPC threads. Promises: the JSON documents keep the form that docs/cli.md gives; every refusal says why.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import grpc

from jitc.ops.faults import KINDS, PHASES, wrong_trigger
from jitc.v1 import control_pb2

from ...common.rpc import Waiting, refuse
from ...status.documents import document
from ..fault_injector import FaultInjector
from ..registry import Registry
from .status import status_of


class Races(Protocol):
    """Races: operators of programs without an order between them (../../health/races.py)."""

    def documents(self) -> list[dict[str, Any]]: ...

    def count(self, session: int) -> int: ...


class Pending(Protocol):
    """A validation in flight: the document is there once it is done; a refusal says why there will be none."""

    done: threading.Event
    document: dict[str, Any]
    refusal: str


class Seen(Protocol):
    """A tenant that the caller may see (../../tenants/tenant.py)."""

    @property
    def user(self) -> str: ...
    @property
    def registry(self) -> Registry: ...
    @property
    def faults(self) -> FaultInjector: ...
    @property
    def races(self) -> Races: ...

    def recoveries(self) -> list[dict[str, Any]]: ...

    def validations(self) -> list[dict[str, Any]]: ...

    def divergences(self) -> list[dict[str, Any]]: ...

    def validate(self, gpu: int) -> Pending: ...

    def return_gpu(self, gpu: int) -> str: ...


class AdminService:
    """Status, report, inject, validate."""

    def __init__(self, seen: Callable[[], Sequence[Seen]], waiting: Waiting) -> None:
        """seen: returns the tenants that the caller may see, the own one first."""
        self._seen, self._waiting = seen, waiting
        self._started = time.time()
        self.Inject, self.Validate = waiting.serve(self._inject), waiting.serve(self._validate)

    def Status(self, request: Any, context: Any) -> Any:
        found = status_of(self._seen(), self._started)
        return control_pb2.JsonReply(json=json.dumps(document(found)))

    def Report(self, request: Any, context: Any) -> Any:
        seen = self._seen()
        found = {
            "recoveries": _by_time([(one.user, one.recoveries()) for one in seen]),
            "validations": _by_time([(one.user, one.validations()) for one in seen]),
            "divergences": _by_time([(one.user, one.divergences()) for one in seen]),
            "races": _by_time([(one.user, one.races.documents()) for one in seen]),
            "injected": _by_time([(one.user, one.faults.documents()) for one in seen]),
        }
        return control_pb2.JsonReply(json=json.dumps(found))

    def ReturnGpu(self, request: Any, context: Any) -> Any:
        self._check_gpu(request.gpu, context)
        lost = [one for one in self._seen() if one.registry.gpus[request.gpu].lost] or self._seen()[:1]
        details = [one.return_gpu(request.gpu) for one in lost]
        return control_pb2.ReturnGpuReply(detail="; ".join(dict.fromkeys(details)))

    def _concerned(self, gpu: int) -> list[Seen]:
        """Returns the tenants that a command about a GPU concerns: those that have a session there, else the own."""
        seen = self._seen()
        return [one for one in seen if one.registry.used(one.registry.gpus[gpu])] or [seen[0]]

    def _validate(self, request: Any, context: Any) -> Any:
        self._check_gpu(request.gpu, context)
        with self._waiting.seat(context, "ask again later"):
            tenant = self._concerned(request.gpu)[0]
            pending = tenant.validate(request.gpu)
            _wait(pending.done, request.wait_ms, context)
        if pending.refusal:
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, pending.refusal)
        if not pending.done.is_set():
            message = "no verdict yet: the job has not come to an optimizer step; `jitc report` will have it"
            refuse(context, grpc.StatusCode.DEADLINE_EXCEEDED, message)
        return control_pb2.JsonReply(json=json.dumps(pending.document | {"user": tenant.user}))

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
        injectors = [one.faults for one in self._concerned(request.gpu)]
        if request.wait_ms:
            with self._waiting.seat(context, "ask again later, or without --wait"):
                armed = [one.arm(request.gpu, fault) for one in injectors]
                deadline = time.monotonic() + request.wait_ms / 1000
                for one in armed:
                    _wait(one.done, 1000 * max(0.0, deadline - time.monotonic()), context)
        else:
            armed = [one.arm(request.gpu, fault) for one in injectors]
        fired = all(one.done.is_set() for one in armed)
        details = [one.detail for one in armed if one.detail]
        if len(details) == len(armed) and all(one.startswith("refused") for one in details):
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, details[0])
        return control_pb2.InjectReply(fired=fired, detail="; ".join(details) or "armed")

    def _check_gpu(self, gpu: int, context: Any) -> None:
        last = len(self._seen()[0].registry.gpus) - 1
        if gpu > last:
            there = f"it has GPUs 0 to {last}" if last else "it has GPU 0 alone"
            refuse(context, grpc.StatusCode.NOT_FOUND, f"this node has no GPU {gpu}; {there} (jitc status)")


def _wait(done: threading.Event, wait_ms: float, context: Any) -> None:
    """Waits until the event is set, the time is over or the caller has hung up."""
    deadline = time.monotonic() + wait_ms / 1000
    while not done.wait(min(0.5, max(0.0, deadline - time.monotonic()))):
        if time.monotonic() >= deadline or not context.is_active():
            return


def _by_time(documents: list[tuple[str, list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    """Returns the documents of several tenants, each with its user's name, as one list, oldest first."""
    found = [one | {"user": user} for user, some in documents for one in some]
    if len(documents) == 1:
        return found
    return sorted(found, key=lambda one: float(one.get("time", 0)))
