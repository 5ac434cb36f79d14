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

from ...common.printable import LINE, printable
from ...common.rpc import Waiting, refuse
from ...status.documents import document
from ..fault_injector import FaultInjector
from ..registry import Registry
from ..session import Session
from .nodes import NoAnswer, OtherNodes, answered, limited
from .status import Elsewhere, status_of

#: A command whose wait has no place is told so: it need not look for a service that runs.
_FULL = grpc.StatusCode.RESOURCE_EXHAUSTED


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

    def elsewhere(self, session: Session) -> Elsewhere: ...

    def recoveries(self) -> list[dict[str, Any]]: ...

    def validations(self) -> list[dict[str, Any]]: ...

    def divergences(self) -> list[dict[str, Any]]: ...

    def validate(self, gpu: int) -> Pending: ...

    def return_gpu(self, gpu: int) -> str: ...


class AdminService:
    """Status, report, inject, validate; here or on another node."""

    def __init__(
        self, seen: Callable[[], Sequence[Seen]], waiting: Waiting, nodes: OtherNodes | None = None
    ) -> None:  # fmt: skip
        """seen: returns the tenants that the caller may see, the own one first; nodes: the way to other nodes, if there
        are any and the caller may ask them."""
        self._seen, self.waiting, self._nodes = seen, waiting, nodes
        self._started = time.time()
        self.Inject, self.Validate = waiting.serve(self._inject), waiting.serve(self._validate)
        self.AskNode = waiting.serve(self._ask_node)

    def Status(self, request: Any, context: Any) -> Any:
        found = status_of(self._seen(), self._started)
        return control_pb2.JsonReply(json=json.dumps(document(found)))

    def Report(self, request: Any, context: Any) -> Any:
        seen, node = self._seen(), self._node
        lists = {
            "recoveries": [(one.user, [_placed(each, node) for each in one.recoveries()]) for one in seen],
            "validations": [(one.user, one.validations()) for one in seen],
            "divergences": [(one.user, one.divergences()) for one in seen],
            "races": [(one.user, one.races.documents()) for one in seen],
            "injected": [(one.user, one.faults.documents()) for one in seen],
        }
        found = {kind: _by_time(some, node) for kind, some in lists.items()}
        return control_pb2.JsonReply(json=json.dumps({**found, "nodes": []}))

    def Nodes(self, request: Any, context: Any) -> Any:
        return control_pb2.NodesReply(node=self._node, others=self._names(self._others(context), context))

    def ReturnGpu(self, request: Any, context: Any) -> Any:
        self._check_gpu(request.gpu, context)
        lost = [one for one in self._seen() if one.registry.gpus[request.gpu].lost] or self._seen()[:1]
        details = [one.return_gpu(request.gpu) for one in lost]
        return control_pb2.ReturnGpuReply(detail="; ".join(dict.fromkeys(details)))

    @property
    def _node(self) -> str:
        return self._seen()[0].registry.config.node

    def _others(self, context: Any) -> OtherNodes:
        if not self._node:
            text = "this service is in no cluster (jitc-proxyd --cluster), and there are no other nodes to be asked"
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, text)
        if self._nodes is None:
            text = "other nodes answer commands of the service's own user, of root and of --admins alone"
            refuse(context, grpc.StatusCode.PERMISSION_DENIED, text)
        return self._nodes

    @staticmethod
    def _names(nodes: OtherNodes, context: Any) -> Sequence[str]:
        try:
            return nodes.others()
        except NoAnswer as error:
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, str(error))

    def _ask_node(self, request: Any, context: Any) -> Any:
        nodes, node = self._others(context), request.node
        if node == self._node:
            found = answered(self, request.method, request.request, context.is_active)
            return control_pb2.AskNodeReply(code=found.code, text=found.text, reply=found.reply)
        if node not in (others := self._names(nodes, context)):
            known = ", ".join([self._node, *others])
            text = f"the cluster has no node {printable(node, LINE)}, as far as this one knows; its nodes are {known}"
            refuse(context, grpc.StatusCode.NOT_FOUND, text)
        try:
            carried, seconds = limited(request.method, request.request)
        except ValueError as error:
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
        with self.waiting.seat(context, "ask again later", _FULL):
            try:
                found = nodes.ask(node, request.method, carried, seconds, context.is_active)
            except NoAnswer as error:
                return control_pb2.AskNodeReply(trouble=str(error))
        return control_pb2.AskNodeReply(code=found.code, text=found.text, reply=found.reply)

    def _concerned(self, gpu: int) -> list[Seen]:
        """Returns the tenants that a command about a GPU concerns: those that have a session there, else the own."""
        seen = self._seen()
        return [one for one in seen if one.registry.used(one.registry.gpus[gpu])] or [seen[0]]

    def _validate(self, request: Any, context: Any) -> Any:
        self._check_gpu(request.gpu, context)
        with self.waiting.seat(context, "ask again later", _FULL):
            tenant = self._concerned(request.gpu)[0]
            pending = tenant.validate(request.gpu)
            _wait(pending.done, request.wait_ms, context)
        if pending.refusal:
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, pending.refusal)
        if not pending.done.is_set():
            message = "no verdict yet: the job has not come to an optimizer step; `jitc report` will have it"
            refuse(context, grpc.StatusCode.DEADLINE_EXCEEDED, message)
        whose = {"user": tenant.user, "node": self._node}
        return control_pb2.JsonReply(json=json.dumps(pending.document | whose))

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
            with self.waiting.seat(context, "ask again later, or without --wait", _FULL):
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


def _placed(recovery: dict[str, Any], node: str) -> dict[str, Any]:
    """Returns a recovery in which this node has its name; its sources do not know it."""
    kinds = ("places", "ranks")
    named = {kind: [one | {"node": one.get("node") or node} for one in recovery.get(kind, ())] for kind in kinds}
    return recovery | {kind: some for kind, some in named.items() if some}


def _by_time(documents: list[tuple[str, list[dict[str, Any]]]], node: str) -> list[dict[str, Any]]:
    """Returns the documents of several tenants, each with its user's and this node's name, as one list, oldest
    first."""
    found = [one | {"user": user, "node": node} for user, some in documents for one in some]
    if len(documents) == 1:
        return found
    return sorted(found, key=lambda one: float(one.get("time", 0)))
