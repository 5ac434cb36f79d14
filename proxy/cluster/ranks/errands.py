"""Errands: requests to other nodes that are made again until they have been answered, however long a node is away.

Called by: both sides of this room. Promises: an errand is done once or more, in no order among several; one that is no
longer needed ends; a node that cannot be reached gets one request in a while, and all that waits for it as soon as it
answers; no lock is held while a request is made, or an errand is asked.
"""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import Future
from typing import Any, Protocol

import grpc

from jitc.v1 import peer_pb2

from ...common.complaints import Complaints
from ...common.rpc import status_of
from .leadership import NOT_JOINED, Cluster

#: From a request that did not reach its node to the next one, and for the thread to end.
RETRY_SECONDS, STOP_SECONDS = 0.25, 10.0
#: For a node to say that it is there.
PROBE_SECONDS = 5.0
_FOREVER = 3600.0
#: Errors that a service gives which could be reached, or that nobody has given in time.
_THERE = (
    grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.INTERNAL, grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.OUT_OF_RANGE, grpc.StatusCode.UNIMPLEMENTED,
)  # fmt: skip


class Errand(Protocol):
    """Something to be had done by a node. Its methods are called in any thread, one at a time, and must not wait."""

    @property
    def node(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def seconds(self) -> float:
        """Time that the answer may take."""

    def request(self) -> Any | None:
        """Returns what to ask; None: the errand is over."""

    def answered(self, reply: Any) -> float | None:
        """Takes the answer. Returns after how many seconds to ask again; None: the errand is over."""

    def late(self, why: str) -> None:
        """There was no answer that counts, though the node may be there. It will be asked again."""


class _Probe:
    """Finds out when a node is back, also if nothing else is to be asked of it."""

    method, seconds = "Hello", PROBE_SECONDS

    def __init__(self, node: str) -> None:
        self.node = node

    def request(self) -> Any | None:
        return peer_pb2.HelloRequest()

    def answered(self, reply: Any) -> float | None:
        return None

    def late(self, why: str) -> None:
        """Lets the errand be asked again."""


class Errands:
    """All errands of this node, and the thread that sees to them."""

    def __init__(self, cluster: Cluster) -> None:
        self._links, self._suspected = cluster.links, cluster.suspected
        self._changed = threading.Condition()
        self._due: list[tuple[float, Errand]] = []
        self._down: dict[str, str] = {}  # nodes that the newest request has not reached, and why
        self._probing: set[str] = set()  # such nodes to which a request is on its way
        self._stopped = False
        self._complaints = Complaints("jitc-errands")
        self._thread = threading.Thread(target=self._run, name="jitc-errands", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Drops all errands."""
        with self._changed:
            self._stopped = True
            self._due.clear()
            self._changed.notify_all()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)

    @property
    def stopped(self) -> bool:
        return self._stopped

    def add(self, errand: Errand, seconds: float = 0.0) -> None:
        """Has it done, after so many seconds."""
        with self._changed:
            if not self._stopped:
                self._due.append((time.monotonic() + seconds, errand))
                self._changed.notify_all()

    def ask(self, node: str, method: str, request: Any, seconds: float) -> Future[Any]:
        """Asks once. The future ends within this time; its callbacks must not wait."""
        answer = self._links.ask(node, method, request, seconds)
        answer.add_done_callback(lambda done: self._heard(node, done))
        return answer

    def retry(self, node: str) -> None:
        """Asks the node again at once: it may be back."""
        with self._changed:
            self._hasten(node)
            self._changed.notify_all()

    def unreachable(self, node: str) -> str:
        """Returns why a node cannot be reached, as far as is known; empty: it can."""
        with self._changed:
            why = self._down.get(node, "")
        if not why and self._suspected(node):
            why = "it has not been heard for a while"
        return f"node {node} cannot be reached: {why}" if why else ""

    # -- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        while (found := self._next()) is not None:
            try:
                self._do(found)
            except Exception as error:
                self._complaints.of(error)
                self._landed(found, RETRY_SECONDS)

    def _next(self) -> Errand | None:
        """Waits for an errand that is due; None: this has been stopped."""
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                able = [one for one in self._due if one[1].node not in self._probing]
                if due := next((one for one in able if one[0] <= now), None):
                    self._due.remove(due)
                    if due[1].node in self._down:
                        self._probing.add(due[1].node)
                    return due[1]
                self._changed.wait(min((one[0] - now for one in able), default=_FOREVER))
        return None

    def _do(self, errand: Errand) -> None:
        request = errand.request()
        if request is None:
            return self._landed(errand, None)
        answer = self._links.ask(errand.node, errand.method, request, errand.seconds)
        answer.add_done_callback(lambda done: self._answered(errand, done))
        return None

    def _answered(self, errand: Errand, answer: Future[Any]) -> None:
        again: float | None = RETRY_SECONDS
        try:
            reached = self._heard(errand.node, answer)
            if reached and answer.exception() is not None:
                errand.late(str(answer.exception()))
            elif reached:
                again = errand.answered(answer.result())
        except Exception as error:  # a thread of gRPC's, which must not end
            with self._changed:
                self._complaints.of(error)
        self._landed(errand, again)

    def _landed(self, errand: Errand, again: float | None) -> None:
        with self._changed:
            self._probing.discard(errand.node)
            if again is not None and not self._stopped:
                self._due.append((time.monotonic() + again, errand))
            self._changed.notify_all()

    def _heard(self, node: str, answer: Future[Any]) -> bool:
        """Notes whether a request has reached its node, as far as is known, and returns that."""
        error = answer.exception()
        code = status_of(error)[0] if isinstance(error, grpc.RpcError) else None
        if error is not None and code not in _THERE:
            self._missed(node, error)
            return False
        if code is not grpc.StatusCode.DEADLINE_EXCEEDED:
            self._reached(node)
        return True

    def _reached(self, node: str) -> None:
        with self._changed:
            if self._down.pop(node, None) is not None:
                self._hasten(node)

    def _missed(self, node: str, error: BaseException) -> None:
        why = status_of(error)[1] if isinstance(error, grpc.RpcError) else repr(error)
        later = time.monotonic() + RETRY_SECONDS
        with self._changed:
            new, before = node not in self._down, self._down.get(node, NOT_JOINED)
            self._down[node] = why.removeprefix(f"node {node}: ")
            self._due = [(max(at, later), one) if one.node == node else (at, one) for at, one in self._due]
            if new and not self._stopped:
                self._due.append((later, _Probe(node)))
                self._changed.notify_all()
        if before == NOT_JOINED != why:  # that one would say nothing of the other node
            print(f"jitc-proxyd: node {node} cannot be reached: {why}", file=sys.stderr, flush=True)

    def _hasten(self, node: str) -> None:
        """Requires the lock."""
        self._due = [(0.0, one) if one.node == node else (at, one) for at, one in self._due]
