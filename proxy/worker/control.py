"""The Worker service: the node service's calls, handed to the executor.

Called by: jitc-proxyd over the worker's socket. Promises: one executor per process, made by Assign; a refusal of the
executor becomes FAILED_PRECONDITION with its text.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from jitc.v1 import control_pb2, worker_pb2

from ..common import rpc
from ..common.executor import Executor, ExecutorError, Joined, JoinRefused, JoinSuperseded, Options
from ..common.rpc import refuse
from ..keeper.worker_end import NoMemory
from .json_codec import from_document, to_document
from .kept_memory import KeptMemory

CUDA_ERROR_UNKNOWN = 999
#: Seconds to wait for a service that has ended, as programs do (JITC_SERVICE_TIMEOUT).
SERVICE_SECONDS = 120.0
_SERVICE = worker_pb2.DESCRIPTOR.services_by_name["Worker"]


class CoordinatorClient:
    """A client that carries the executor's requests to the node service's coordinator."""

    def __init__(self, service: str, memory: KeptMemory) -> None:
        self._stub = rpc.coordinator(rpc.channel(service))
        self._memory = memory
        self.gpu = 0

    def join(self, session: int, unique_id: bytes, ranks: int, rank: int, epoch: int) -> Joined:
        request = control_pb2.JoinRequest(session=session, unique_id=unique_id, ranks=ranks, rank=rank, epoch=epoch)
        try:
            reply = _patiently(self._stub.JoinCommunicator, request)
        except grpc.RpcError as error:
            code, text = rpc.status_of(error)
            raise JoinRefused(CUDA_ERROR_UNKNOWN, f"jitc-proxyd did not answer ({code.name}: {text})") from None
        if reply.superseded:
            raise JoinSuperseded
        if reply.refusal:
            raise JoinRefused(reply.status, reply.refusal)
        try:
            segment = self._memory.segment(reply.identity)
        except NoMemory as error:
            raise JoinRefused(CUDA_ERROR_UNKNOWN, str(error)) from None
        return Joined(segment, reply.segment_bytes, reply.identity)

    def fault(self, session: int, sequence: int, status: int, cause: str, message: str) -> None:
        request = control_pb2.ReportFaultRequest(
            session=session, sequence=sequence, status=status, cause=cause, message=message
        )
        _patiently(self._stub.ReportFault, request)

    def fault_fired(self, number: int, detail: str) -> None:
        self._stub.FaultFired(control_pb2.FaultFiredRequest(gpu=self.gpu, number=number, detail=detail), timeout=5)

    def race(self, report: dict[str, Any]) -> None:
        message = control_pb2.RaceReport()
        from_document(report, message)
        self._stub.ReportRace(message, timeout=30)


def _patiently(method: Any, request: Message) -> Any:
    """Makes the call, again if the service ends meanwhile. Only for calls that may be made twice."""
    deadline = time.monotonic() + SERVICE_SECONDS
    while True:
        left = deadline - time.monotonic()
        try:
            return method(request, timeout=max(1.0, left), wait_for_ready=True)
        except grpc.RpcError as error:
            gone = rpc.status_of(error)[0] in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
            if not gone or left <= 0:
                raise


class WorkerControl:
    """The state of the worker: without an executor it is a spare."""

    def __init__(
        self,
        make: Callable[[Options, CoordinatorClient], Executor],
        operators: str,
        op_socket: str,
        coordinator: CoordinatorClient,
        memory: KeptMemory,
    ) -> None:
        self._make, self._memory = make, memory
        self._operators, self._op_socket = operators, op_socket
        self._coordinator = coordinator
        self._executor: Executor | None = None

    def handler(self) -> Any:
        """Returns the handler. It serves methods that change this process; all others go straight to the executor."""
        own = {
            "Assign": self._assign,
            "Ping": lambda _: worker_pb2.Empty(),
            "OpenSession": self._open,
            "CloseSession": self._close,
        }
        methods = {}
        for method in _SERVICE.methods:
            request = GetMessageClass(method.input_type)
            reply = GetMessageClass(method.output_type)
            act = own.get(method.name) or self._forward(method.name, reply)
            methods[method.name] = grpc.unary_unary_rpc_method_handler(
                _guarded(act), request_deserializer=request.FromString, response_serializer=reply.SerializeToString
            )
        return grpc.method_handlers_generic_handler(_SERVICE.full_name, methods)

    def _assign(self, request: Any) -> Message:
        if self._executor is not None:
            raise ExecutorError("this worker already serves a GPU")
        self._coordinator.gpu = request.gpu
        os.environ.update(request.environment)  # the driver and NCCL read it when they are opened
        self._executor = self._make(_options(request, self._operators, self._op_socket), self._coordinator)
        return worker_pb2.AssignReply(pid=os.getpid())

    def _open(self, request: Any) -> Message:
        executor = self._serving()
        with self._memory.filled_in(request) as filled:
            executor.open_session(to_document(filled))
        return worker_pb2.OpenSessionReply()

    def _close(self, request: Any) -> Message:
        self._serving().close_session(request.session)
        return worker_pb2.Empty()

    def _forward(self, name: str, reply: type[Message]) -> Callable[[Any], Message]:
        def act(request: Any) -> Message:
            executor = self._serving()
            with self._memory.filled_in(request) as filled:
                document = executor.command(name, to_document(filled))
            message = reply()
            if isinstance(message, worker_pb2.StatsReply):
                import json

                message.json = json.dumps(document)
            else:
                from_document(document, message)
            return message

        return act

    def _serving(self) -> Executor:
        if self._executor is None:
            raise ExecutorError("this worker is a spare: it has no GPU yet")
        return self._executor


def _options(request: Any, operators: str, op_socket: str) -> Options:
    return Options(
        op_socket=op_socket,
        device=request.device,
        gpu=request.gpu,
        memory_limit=request.memory_limit,
        threads=request.threads,
        ordinal=request.ordinal,
        libraries={"operators": operators, **request.libraries},
        images=request.images,
        options=dict(request.options),
    )


def _guarded(act: Callable[[Any], Message]) -> Callable[[Any, Any], Message]:
    def handle(request: Any, context: Any) -> Message:
        try:
            return act(request)
        except (ExecutorError, NoMemory) as error:
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, str(error))

    return handle
