"""This node's services to the leaders of its sessions' jobs: calls to workers, their ends, other workers, states.

Called by: ../methods.py. Promises: nothing is done for a node that does not lead the session's job, by what this node
knows, or that means another worker than the session has now; a state that is older than the newest one changes nothing;
a call that is asked for again is not made again; what a leader has decided is in this node's log before it is answered.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError
from typing import Any

import grpc
from google.protobuf.message_factory import GetMessageClass

from jitc.v1 import peer_pb2, worker_pb2

from ....common.rpc import status_of
from ....node.fault_injector import FaultInjector
from ....node.registry import Registry
from ....node.session import Session
from ....node.workers.worker import Worker
from .following import Following, Refused

_METHODS = worker_pb2.DESCRIPTOR.services_by_name["Worker"].methods_by_name
#: Calls of worker.proto that a leader may have made.
ALLOWED = frozenset(
    {
        "OpenSession", "Stats", "Ping", "Fence", "Keep", "Rollback", "FinishStep", "SkipStep", "Export", "Import",
        "Send", "Receive", "Resume", "Abandon", "BoundaryTable", "SetPolicy", "SetSpacing", "Validate", "Hold", "Tell",
    }
)  # fmt: skip
#: Codes by which a leader knows that its home refuses; a worker's own are others.
_HOME_S = (grpc.StatusCode.ABORTED, grpc.StatusCode.NOT_FOUND)
#: Bytes of a worker's answer that are passed on.
ANSWER_MOST = 4_000_000
#: Calls of a session whose answers are kept, should a leader ask again, and bytes of such an answer.
KEPT, KEPT_BYTES = 8, 64 << 10
#: Time of a call: more than any has.
SECONDS_MOST = 3600.0
#: For a worker whose call has run out of time to say so.
MARGIN_SECONDS = 1.0


class Calls:
    """The calls of leaders to workers of this node."""

    def __init__(self, registry: Registry, following: Following, faults: FaultInjector) -> None:
        self._registry, self._following, self._faults = registry, following, faults
        self._lock = threading.Lock()
        self._kept: dict[int, OrderedDict[bytes, Future[peer_pb2.CallWorkerReply]]] = {}  # by session
        self.rebuilt: set[int] = set()  # sessions whose worker is new, and has no armed faults yet

    def call(self, node: str, request: peer_pb2.CallWorkerRequest) -> peer_pb2.CallWorkerReply:
        """Calls a worker, and waits for it. Raises Refused."""
        with self._registry.changed:
            note = request.note if request.HasField("note") else None
            session, away = self._following.taken(node, request.target, note)
            worker, noted = session.worker, away.noted
        message = _message(request)
        if worker is None or worker.pid != request.target.worker:
            raise Refused(grpc.StatusCode.UNAVAILABLE, "the session has another worker by now, or none", noted)
        seconds = min(request.timeout_ms / 1000, SECONDS_MOST)
        if not request.call:
            reply = self._made(worker, request.method, message, seconds)
        else:
            reply = self._once(request, lambda: self._prepared(session, worker, request.method, message, seconds))
        reply.home.noted = noted
        return reply

    def end(self, node: str, request: peer_pb2.EndWorkerRequest) -> int:
        """Ends a worker, unless the session has another one. Returns the state's version. Raises Refused."""
        with self._registry.changed:
            session, away = self._following.taken(node, request.target)
            worker, noted = session.worker, away.noted
        if worker is None or worker.pid != request.target.worker:
            return noted
        if request.how == "finish":
            worker.finish()
        elif request.how == "replace":
            worker.replace()
        elif request.cause:
            worker.kill_with_cause(request.cause, time.monotonic() - request.since_ms / 1000, request.message)
        else:
            worker.kill()
        return noted

    # -- parts ------------------------------------------------------------------------------------

    def _once(
        self, request: peer_pb2.CallWorkerRequest, make: Callable[[], peer_pb2.CallWorkerReply]
    ) -> peer_pb2.CallWorkerReply:  # fmt: skip
        """Returns the answer of the call that was made the first time."""
        with self._lock:
            for number in self._kept.keys() - self._registry.sessions.keys():
                del self._kept[number]
            kept = self._kept.setdefault(request.target.session, OrderedDict())
            known = kept.get(request.call)
            if known is None:
                mine = kept[request.call] = Future()
                while len(kept) > KEPT:
                    kept.popitem(last=False)
        if known is not None:
            return _waited_for(known, min(request.timeout_ms / 1000, SECONDS_MOST) + MARGIN_SECONDS)
        try:
            mine.set_result(make())
        except BaseException as error:
            mine.set_exception(error)
            raise
        if mine.result().ByteSize() > KEPT_BYTES:  # who asks again has it made again: all calls may be made twice
            with self._lock:
                kept.pop(request.call, None)
        return _waited_for(mine, 0)

    def _prepared(
        self, session: Session, worker: Worker, method: str, message: Any, seconds: float
    ) -> peer_pb2.CallWorkerReply:  # fmt: skip
        if method == "Resume" and session.number in self.rebuilt:
            self.rebuilt.discard(session.number)
            self._faults.session_rebuilt(session)
        return self._made(worker, method, message, seconds)

    def _made(self, worker: Worker, method: str, message: Any, seconds: float) -> peer_pb2.CallWorkerReply:
        try:
            data: bytes = worker.ask(method, message, seconds).result().SerializeToString()
        except grpc.RpcError as error:
            code, text = status_of(error)
            return _failed(grpc.StatusCode.UNKNOWN if code in _HOME_S else code, text)
        except (grpc.FutureCancelledError, ValueError):  # its channel has been closed
            return _failed(grpc.StatusCode.UNAVAILABLE, "the worker has ended")
        if len(data) > ANSWER_MOST:
            return _failed(grpc.StatusCode.OUT_OF_RANGE, f"the worker's answer has {len(data):,} bytes")
        return peer_pb2.CallWorkerReply(reply=data)


def _waited_for(call: Future[peer_pb2.CallWorkerReply], seconds: float) -> peer_pb2.CallWorkerReply:
    try:
        reply = peer_pb2.CallWorkerReply()
        reply.CopyFrom(call.result(seconds))
        return reply
    except TimeoutError:
        return _failed(grpc.StatusCode.DEADLINE_EXCEEDED, "the worker has not answered in time")


def _message(request: peer_pb2.CallWorkerRequest) -> Any:
    """Returns the request for the worker. Raises Refused."""
    if request.method not in ALLOWED:
        raise Refused(grpc.StatusCode.INVALID_ARGUMENT, f"{request.method!r} is nothing that another node may ask for")
    try:
        message = GetMessageClass(_METHODS[request.method].input_type).FromString(request.request)
    except Exception as error:  # of protobuf's own kinds
        raise Refused(grpc.StatusCode.INVALID_ARGUMENT, f"the request cannot be read: {error}") from None
    if getattr(message, "session", request.target.session) != request.target.session:
        raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "the request is for another session than its target")
    return message


def _failed(code: grpc.StatusCode, text: str) -> peer_pb2.CallWorkerReply:
    return peer_pb2.CallWorkerReply(home=peer_pb2.HomeReply(code=code.value[0], text=text))
