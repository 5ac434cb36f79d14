"""A link: the way to one node, at one address, with one certificate. It opens when it is needed, and again by itself.

A link is opened in three steps: the node is asked for its certificate, which must be the one that the store has; a
channel is made that trusts no other; the first call says what the two nodes are. A thread of its own does that. From
then on gRPC keeps the connection, and makes it again after a cut.

Called by: client.py; the bridge, for channels of its own (`open_channel`). Promises: each call ends within its time,
with an answer or a PeerError that names the node; calls that come while the link is being opened wait for that, at most
WAITING_MOST of them; a node whose certificate is not the expected one gets no call; no lock is held while another node
is waited for; after close() no thread is left for longer than one attempt takes.
"""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from typing import Any, NamedTuple

import grpc

from jitc.v1 import peer_pb2

from ...common import rpc
from ...common.printable import LINE, printable
from . import names
from .contract import OPTIONS, as_metadata, facts
from .credentials import Credentials, for_channel
from .probe import NoCertificate, certificate_of

#: Seconds of one attempt: until the node has shown its certificate, and until it has answered the first call.
SHOW_SECONDS, HELLO_SECONDS = 1.0, 1.0
#: Calls that wait for one link to open.
WAITING_MOST = 256
_OPTIONS = [
    *OPTIONS,
    ("grpc.use_local_subchannel_pool", 1),
    # After a cut each attempt to connect is given up soon: the next one is sent at once when the link is whole again.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 1000),
]
_METHODS = frozenset(one.name for one in peer_pb2.DESCRIPTOR.services_by_name["Peer"].methods)
_CLOSED = "the link to it has been closed"


class PeerError(grpc.RpcError):
    """A call to another node that has no answer, with gRPC's code and a text that names the node (rpc.status_of)."""

    def __init__(self, node: str, code: grpc.StatusCode, text: str) -> None:
        super().__init__(text if text.startswith(f"node {node} ") else f"node {node}: {text}")
        self._code = code

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return str(self)


class Target(NamedTuple):
    """The other end of a link, as the store has it."""

    node: str
    address: str
    hash: str


@dataclass(frozen=True, eq=False)
class Ask:
    """A call: a method of the contract, its request, and until when it must have ended (time.monotonic)."""

    method: str
    request: Any
    seconds: float
    deadline: float
    answer: Future[Any]


class _Way:
    """A channel that is open, and the number of its calls."""

    def __init__(self, channel: grpc.Channel, identity: object, facts: peer_pb2.Facts) -> None:
        self.channel, self.identity, self.facts = channel, identity, facts
        self.stub, self.calls = rpc.peer(channel), 0


def open_channel(target: Target, credentials: Credentials) -> grpc.Channel:
    """Returns a channel to a node that has shown the certificate of the target, and that trusts no other certificate.
    Raises PeerError."""
    identity = credentials.identity
    if why := credentials.expired:
        raise PeerError(target.node, grpc.StatusCode.UNAUTHENTICATED, why)
    try:
        place = names.address(target.address)
        shown = certificate_of(target.node, place, identity, SHOW_SECONDS)
    except (ValueError, NoCertificate) as error:
        raise PeerError(target.node, grpc.StatusCode.UNAVAILABLE, printable(str(error), LINE)) from None
    if shown.hash != target.hash:
        text = (
            f"the service at {place} shows the certificate {shown.hash[:16]}..., and the store has "
            f"{target.hash[:16]}... for it: is it another machine of this name, or an old certificate?"
        )
        raise PeerError(target.node, grpc.StatusCode.UNAUTHENTICATED, text)
    verified = ("grpc.ssl_target_name_override", names.dns_name(target.node))
    return grpc.secure_channel(f"dns:///{place}", for_channel(identity, shown.pem), [*_OPTIONS, verified])


class Link:
    """The link to one node."""

    def __init__(self, target: Target, credentials: Credentials) -> None:
        self.target, self._credentials = target, credentials
        self._lock = threading.Lock()
        self._way: _Way | None = None
        self._left: list[_Way] = []  # with an older certificate of this node: they close with their last call
        self._waiting: list[Ask] = []
        self._opening = self._closed = False
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """Returns why the link could not be opened when it was last tried; empty: it is open, or was not tried."""
        return self._trouble

    @property
    def facts(self) -> peer_pb2.Facts | None:
        """Returns what the node has said of itself when the link was opened; None: it is not open."""
        with self._lock:
            return self._way.facts if self._way else None

    def ask(self, method: str, request: Any, seconds: float) -> Future[Any]:
        """Calls the node. The future has the answer, or raises PeerError; its callbacks must not wait. Raises
        ValueError for a method that the contract does not have."""
        if method not in _METHODS:
            raise ValueError(f"{method} is no method of Peer")
        ask = Ask(method, request, seconds, time.monotonic() + seconds, Future())
        ask.answer.set_running_or_notify_cancel()
        why: PeerError | None = None
        with self._lock:
            if (way := self._way) is not None:
                way.calls += 1
            else:
                why = self._wait(ask)
        if way is not None:
            self._send(ask, way)
        elif why is not None:
            _fail(ask, why)
        else:
            self._limit(ask)
        return ask.answer

    def renew(self) -> None:
        """Opens the link again if this node has another certificate by now; calls go on meanwhile. To be called again
        and again, which also closes what is no longer used."""
        with self._lock:
            ended = [one for one in self._left if not one.calls]
            self._left = [one for one in self._left if one.calls]
            if self._way is not None and self._way.identity is not self._credentials.identity:
                self._open()
        for one in ended:
            one.channel.close()

    def close(self) -> None:
        """Ends the link, and all calls of it."""
        with self._lock:
            self._closed = True
            ways = [*self._left, *([self._way] if self._way else [])]
            waiting = self._waiting
            self._way, self._left, self._waiting = None, [], []
        for ask in waiting:
            _fail(ask, self._error(grpc.StatusCode.UNAVAILABLE, _CLOSED))
        for one in ways:
            one.channel.close()

    # -- calls ----------------------------------------------------------------------------------------

    def _wait(self, ask: Ask) -> PeerError | None:
        """Has a call wait until the link is open. Returns why it cannot. Requires the lock."""
        if self._closed:
            return self._error(grpc.StatusCode.UNAVAILABLE, _CLOSED)
        if len(self._waiting) >= WAITING_MOST:
            text = f"{WAITING_MOST} calls wait for the link to it already"
            return self._error(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
        self._waiting.append(ask)
        self._open()
        return None

    def _limit(self, ask: Ask) -> None:
        """Ends a call that waits when its time is over."""
        late = self._error(grpc.StatusCode.DEADLINE_EXCEEDED, f"{_late(ask)}{self._because()}")
        timer = threading.Timer(max(0.0, ask.deadline - time.monotonic()), _fail, (ask, late))
        timer.daemon = True
        ask.answer.add_done_callback(lambda _: timer.cancel())
        timer.start()

    def _because(self) -> str:
        return f"; when it was last tried: {self._trouble}" if self._trouble else ""

    def _send(self, ask: Ask, way: _Way) -> None:
        left = max(0.001, ask.deadline - time.monotonic())
        try:
            call = getattr(way.stub, ask.method).future(ask.request, timeout=left, metadata=self._metadata())
        except ValueError:  # the channel has been closed
            self._ended(way)
            _fail(ask, self._error(grpc.StatusCode.UNAVAILABLE, _CLOSED))
            return
        call.add_done_callback(lambda done: self._answered(ask, way, done))

    def _answered(self, ask: Ask, way: _Way, call: Any) -> None:
        self._ended(way)
        code = call.code()
        if code is grpc.StatusCode.OK:
            with contextlib.suppress(InvalidStateError):
                ask.answer.set_result(call.result())
        elif code is grpc.StatusCode.CANCELLED:  # by close()
            _fail(ask, self._error(grpc.StatusCode.UNAVAILABLE, _CLOSED))
        elif code is grpc.StatusCode.DEADLINE_EXCEEDED:
            _fail(ask, self._error(code, _late(ask)))
        else:
            _fail(ask, self._error(code, str(call.details() or code.name)))

    def _ended(self, way: _Way) -> None:
        with self._lock:
            way.calls -= 1

    def _metadata(self) -> Any:
        return as_metadata(self._credentials.identity.node)

    def _error(self, code: grpc.StatusCode, text: str) -> PeerError:
        return PeerError(self.target.node, code, printable(text, LINE))

    # -- opening --------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Begins an attempt, unless there is one. Requires the lock."""
        if not self._opening:
            self._opening = True
            threading.Thread(target=self._run, name=f"jitc-link-{self.target.node}", daemon=True).start()

    def _run(self) -> None:
        try:
            way = self._attempt()
        except PeerError as error:
            self._failed(error)
        except Exception as error:  # the thread has calls to answer
            self._failed(self._error(grpc.StatusCode.INTERNAL, repr(error)))
        else:
            self._opened(way)

    def _attempt(self) -> _Way:
        """Raises PeerError."""
        identity = self._credentials.identity
        channel = open_channel(self.target, self._credentials)
        try:
            hello = peer_pb2.HelloRequest(facts=facts())
            reply = rpc.peer(channel).Hello(hello, timeout=HELLO_SECONDS, metadata=self._metadata())
            return _Way(channel, identity, reply.facts)
        except grpc.RpcError as error:
            channel.close()
            code, text = rpc.status_of(error)
            raise self._error(code, text or code.name) from None

    def _opened(self, way: _Way) -> None:
        with self._lock:
            self._opening, self._trouble = False, ""
            waiting, self._waiting = self._waiting, []
            closed = self._closed
            if not closed:
                self._left += [self._way] if self._way else []
                self._way = way
                way.calls = len(waiting)
        if closed:
            way.channel.close()
        for ask in waiting:
            self._send(ask, way)

    def _failed(self, error: PeerError) -> None:
        with self._lock:
            self._opening, self._trouble = False, str(error)
            waiting, self._waiting = self._waiting, []
        for ask in waiting:
            _fail(ask, error)


def _late(ask: Ask) -> str:
    return f"no answer to {ask.method} within {ask.seconds:g} s"


def _fail(ask: Ask, error: PeerError) -> None:
    with contextlib.suppress(InvalidStateError):  # it has ended in another way
        ask.answer.set_exception(error)
