"""Calls to workers of other nodes, and to the services there: their futures, with the face of gRPC's.

Called by: worker.py, memory.py, replacements.py. Promises: a call that may be repeated is made again until it has an
answer, and its time counts only while its node can be reached; one that may not is made once, and ends within its time;
the error of each is a grpc.RpcError with code and details; callbacks run without a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

import grpc

from jitc.v1 import peer_pb2

from ....common.rpc import status_of
from ..errands import RETRY_SECONDS

#: By its number in a message.
CODES = {one.value[0]: one for one in grpc.StatusCode}
ABORTED: int = grpc.StatusCode.ABORTED.value[0]
NOT_FOUND: int = grpc.StatusCode.NOT_FOUND.value[0]
#: Beyond the time of a call itself, for the home to say that it is over.
MARGIN_SECONDS = 2.0


class CallError(grpc.RpcError):
    """A call has failed."""

    def __init__(self, code: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self._code, self._text = code, text

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._text


class RemoteCall:
    """The future of one call."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._result: Any = None
        self._error: CallError | None = None
        self._done = self._cancelled = False
        self._callbacks: list[Callable[[Any], None]] = []

    def done(self) -> bool:
        return self._done

    def cancelled(self) -> bool:
        return self._cancelled

    def ended_within(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._done, seconds)

    def exception(self) -> CallError | None:
        """Waits for the end. Raises FutureCancelledError."""
        with self._changed:
            self._changed.wait_for(lambda: self._done)
        if self._cancelled:
            raise grpc.FutureCancelledError
        return self._error

    def result(self) -> Any:
        if (error := self.exception()) is not None:
            raise error
        return self._result

    def code(self) -> grpc.StatusCode:
        error = self.exception()
        return error.code() if error is not None else grpc.StatusCode.OK

    def details(self) -> str:
        error = self.exception()
        return error.details() if error is not None else ""

    def cancel(self) -> bool:
        """Gives the call up: nobody waits for it any more, wherever it is."""
        return self._end(cancelled=True)

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    # -- by those who make it ---------------------------------------------------------------------

    def finish(self, result: Any) -> None:
        self._end(result=result)

    def fail(self, code: grpc.StatusCode, text: str) -> None:
        self._end(error=CallError(code, text))

    def _end(self, result: Any = None, error: CallError | None = None, cancelled: bool = False) -> bool:
        with self._changed:
            if self._done:
                return False
            self._result, self._error, self._cancelled, self._done = result, error, cancelled, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for one in callbacks:
            one(self)
        return True


class Whose(Protocol):
    """The session that a call is for (session.py)."""

    @property
    def node(self) -> str: ...
    @property
    def term(self) -> int:
        """The worker of the session's newest document."""

    @property
    def gone(self) -> bool:
        """This node does not lead it any more, or it has ended."""

    def unreachable(self) -> str: ...

    def heard(self, home: peer_pb2.HomeReply) -> None:
        """Takes what its home has said about it in the answer to a call."""


class PatientCall:
    """An errand (../errands.py): a call that is made again until its future has an answer.

    A home that refuses because this node does not lead, by what it knows, is asked again until it has told of another
    term, or this node does not lead any more: it may be behind.
    """

    def __init__(
        self, whose: Whose, method: str, seconds: float, make: Callable[[float], Any], read: Callable[[Any], Any]
    ) -> None:  # fmt: skip
        """make: makes the request, told how many seconds are left; read: returns what the future is to have."""
        self._whose, self._term = whose, whose.term
        self.node, self.method, self._left = whose.node, method, seconds
        self._make, self._read = make, read
        self.future = RemoteCall()

    @property
    def seconds(self) -> float:
        return self._left + MARGIN_SECONDS

    def request(self) -> Any | None:
        if self.future.done():
            return None
        if self._whose.gone or self._whose.term != self._term:
            text = f"the service of node {self.node} is another one by now, or has followed another leader"
            self.future.fail(grpc.StatusCode.ABORTED, text)
            return None
        return self._make(self._left)

    def answered(self, reply: Any) -> float | None:
        home = home_of(reply)
        self._whose.heard(home)
        if home.code in (ABORTED, NOT_FOUND):  # the next report says why, or the session is gone
            return RETRY_SECONDS
        conclude(self.future, home, lambda: self._read(reply))
        return None

    def late(self, why: str) -> None:
        if not self._whose.unreachable():
            self.future.fail(
                grpc.StatusCode.DEADLINE_EXCEEDED, f"no answer of node {self.node} to {self.method}: {why}"
            )


def once(answer: Future[Any], whose: Whose, read: Callable[[Any], Any]) -> RemoteCall:
    """Returns the future of a call that is made once. answer: that of the call to the other service."""
    future = RemoteCall()

    def answered(done: Future[Any]) -> None:
        error = done.exception()
        if error is None:
            whose.heard(home_of(done.result()))
            conclude(future, home_of(done.result()), lambda: read(done.result()))
        elif isinstance(error, grpc.RpcError):
            future.fail(*status_of(error))
        else:
            future.fail(grpc.StatusCode.INTERNAL, repr(error))

    answer.add_done_callback(answered)
    return future


def failed(code: grpc.StatusCode, text: str) -> RemoteCall:
    """Returns the future of a call that cannot be made."""
    future = RemoteCall()
    future.fail(code, text)
    return future


def home_of(reply: Any) -> peer_pb2.HomeReply:
    """Returns what a home has said of a request."""
    return reply if isinstance(reply, peer_pb2.HomeReply) else reply.home


def conclude(future: RemoteCall, home: peer_pb2.HomeReply, read: Callable[[], Any]) -> None:
    """Ends a future with the home's answer."""
    if home.code:
        return future.fail(CODES.get(home.code, grpc.StatusCode.UNKNOWN), home.text)
    try:
        result = read()
    except Exception as error:  # the home's worker may be a user's own program
        return future.fail(grpc.StatusCode.INTERNAL, f"the answer cannot be read: {error}")
    return future.finish(result)
