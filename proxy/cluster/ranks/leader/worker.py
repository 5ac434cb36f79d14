"""The worker of a rank on another node, as recovery and health see it.

Called by: them; table.py, which tells it what its home has reported. Promises: whether it works and lives is what the
newest document says, until it was told to end; that it is to end reaches its home however long the way is cut, or the
worker's end is known before; no method but ends_within and starved waits.
"""

from __future__ import annotations

import functools
import secrets
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.message_factory import GetMessageClass

from jitc.v1 import peer_pb2, worker_pb2

from ....ranks.causes import OUT_OF_MEMORY, WORKER_DEATH
from ..documents import TEXT_MOST
from ..errands import RETRY_SECONDS, Errands
from .call import ABORTED, PatientCall, RemoteCall, failed, once

if TYPE_CHECKING:
    from .session import RemoteSession

_METHODS = worker_pb2.DESCRIPTOR.services_by_name["Worker"].methods_by_name
END_SECONDS = 10.0


class RemoteWorker:
    """One worker process of another node."""

    def __init__(self, session: RemoteSession, pid: int, changed: threading.Condition, errands: Errands) -> None:
        """changed: is notified with each document."""
        self.session, self.pid = session, pid
        self.gpu: int | None = session.host
        self._changed, self._errands = changed, errands
        self.cause, self.message = WORKER_DEATH, ""
        self.noticed_dead = self.unhealthy_since = 0.0
        self.replaced = self._killed = False
        self.told = peer_pb2.WorkerDocument(pid=pid, alive=True, works=True)  # by the newest document
        self.reported = False  # its end, as an event
        self._told_slow = False

    @property
    def node(self) -> str:
        return self.session.node

    def ready(self) -> bool:
        return self.told.alive

    def alive(self) -> bool:
        return self.told.alive

    def works(self) -> bool:
        return not self._killed and self.told.alive and self.told.works

    def ends_within(self, seconds: float) -> bool:
        if seconds <= 0 or not self.told.alive:
            return not self.told.alive
        with self._changed:
            return self._changed.wait_for(lambda: not self.told.alive, seconds)

    def ask(self, method: str, request: Any, seconds: float, patient: bool = False) -> RemoteCall:
        read = functools.partial(_read, method)
        if patient:
            make = functools.partial(self._request, method, request.SerializeToString(), secrets.token_bytes(16))
            call = PatientCall(self.session, "CallWorker", seconds, make, read)
            self._errands.add(call)
            return call.future
        if why := self.session.unreachable():
            return failed(grpc.StatusCode.UNAVAILABLE, why)
        sent = self._request(method, request.SerializeToString(), b"", seconds)
        answer = self._errands.ask(self.node, "CallWorker", sent, seconds)
        return once(answer, self.session, read)

    def kill(self) -> None:
        self._killed = True
        self._end("kill")

    def kill_with_cause(self, cause: str, since: float, message: str = "") -> None:
        self.cause, self.unhealthy_since, self.message = cause, since, message
        self.kill()

    def replace(self) -> None:
        self.replaced = self._killed = True
        self._end("replace")

    def finish(self) -> None:
        self._end("finish")

    def tell_slow(self) -> None:
        if not self._told_slow:
            self._told_slow = True
            print(f"jitc-proxyd: {self.slow()}", file=sys.stderr, flush=True)

    def slow(self) -> str:
        where = f"worker {self.pid} of GPU {self.gpu} on node {self.node}"
        return f"{where} has not ended yet, though it does nothing any more"

    def starved(self) -> str:
        """Returns how the kernel ended it for lack of memory; empty: it did not. Its home has looked why before it told
        of the end."""
        return self.message if self.cause == OUT_OF_MEMORY and not self.told.alive else ""

    def close(self) -> None:
        """Its home releases what is left of it."""

    # -- parts ------------------------------------------------------------------------------------

    def _request(self, method: str, request: bytes, call: bytes, seconds: float) -> peer_pb2.CallWorkerRequest:
        timeout, note = int(seconds * 1000), self.session.unsent()
        return peer_pb2.CallWorkerRequest(
            target=self._target(), method=method, request=request, timeout_ms=timeout, call=call, note=note
        )

    def _target(self) -> peer_pb2.Target:
        return self.session.target(self.pid)

    def _end(self, how: str) -> None:
        if self.told.alive:
            since = max(0.0, time.monotonic() - self.unhealthy_since) if self.unhealthy_since else 0.0
            request = peer_pb2.EndWorkerRequest(
                target=self._target(), how=how, cause=self.cause if self.unhealthy_since else "",
                message=self.message[:TEXT_MOST], since_ms=int(since * 1000),
            )  # fmt: skip
            self._errands.add(_End(self, request))


class _End:
    """The errand that a worker's end is."""

    method, seconds = "EndWorker", END_SECONDS

    def __init__(self, worker: RemoteWorker, request: peer_pb2.EndWorkerRequest) -> None:
        self.node, self._worker, self._request = worker.node, worker, request

    def request(self) -> Any | None:
        if not self._worker.told.alive or self._worker.session.gone:
            return None
        self._request.target.term = self._worker.session.term
        return self._request

    def answered(self, reply: Any) -> float | None:
        """Asks again of a home that takes this node for no leader, or for the one of before: it will know."""
        self._worker.session.heard(reply)
        return RETRY_SECONDS if reply.code == ABORTED else None

    def late(self, why: str) -> None:
        """Lets the errand be asked again."""


def _read(method: str, reply: peer_pb2.CallWorkerReply) -> Any:
    return GetMessageClass(_METHODS[method].output_type).FromString(reply.reply)
