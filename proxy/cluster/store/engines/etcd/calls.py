"""Calls of etcd, on whichever of its members serves them.

Called by: engine.py, watch.py. Thread-safe. Promises: each try ends within CALL_SECONDS, as does the login before it,
and every member is tried; a call that may be served once only is not repeated after a try that may have had an effect;
the answers of another cluster are not used; no lock is held while a member is waited for; files of certificates that
are replaced are used from the next call on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import grpc

from jitc.etcd import rpc_pb2

from ...engine import AnotherCluster, Refused, StoreError, Unreachable
from ...locations import Address, Options
from .channel import Stubs, open_channel, stubs
from .errors import Failure, Kind, judge
from .files import Files
from .outage import Outage

#: For one answer of one member.
CALL_SECONDS = 1.0
#: A member that knows no leader says so at once, and ends its streams.
_WITH_LEADER = ("hasleader", "true")

#: A method of the stubs, called with a request and gRPC's options.
Method = Callable[..., Any]


class NoLease(StoreError):
    """The store has forgotten the lease; nothing was changed."""


_REFUSALS: dict[Kind, type[StoreError]] = {Kind.REFUSED: Refused, Kind.NO_LEASE: NoLease}


class Link:
    """A member's address, and the connection to it."""

    def __init__(self, address: Address, secret: grpc.ChannelCredentials | None) -> None:
        self.address = address
        self.channel = open_channel(address, secret)
        self.stubs: Stubs = stubs(self.channel)
        self.token: str | None = None  # None: not logged in; "": etcd knows no users


class Calls:
    """The members of one etcd."""

    def __init__(
        self, addresses: Sequence[Address], options: Options, moved: Callable[[], None], files: Files, outage: Outage
    ) -> None:
        """moved: is called when another link is tried first."""
        self._files, self._outage = files, outage
        self.links = [Link(one, self._files.secret) for one in addresses]
        self._left: list[Link] = []  # with older files; unused ones are closed by gRPC
        self._options, self._moved = options, moved
        self._lock = threading.Lock()
        self._first = 0  # the link that is tried first
        self._cluster = 0
        self._closed = False

    def close(self) -> None:
        """Ends all connections, and calls that wait on them."""
        with self._lock:
            self._closed = True
        for one in [*self.links, *self._left]:
            one.channel.close()

    def ask(self, method: Callable[[Stubs], Method], request: Any, once: bool = False) -> Any:
        """Returns the answer of a member.

        once: the request is not repeated after a try that may have had an effect. Raises Unreachable, AnotherCluster,
        Refused, NoLease.
        """
        failures: list[tuple[Link, Failure]] = []
        for link in self._in_order():
            try:
                found = self._try(link, method, request)
            except Failure as failure:
                if refusal := _REFUSALS.get(failure.kind):
                    self._outage.answered()
                    raise refusal(str(failure)) from None
                failures.append((link, failure))
                self.leave(link)
                if once and failure.kind is Kind.LOST:
                    break
            else:
                self._outage.answered()
                return found
        raise self._outage.of(_unanswered(failures))

    def current(self) -> Link:
        """Returns the link on which a stream is best opened."""
        return self.links[self._first]

    def leave(self, link: Link) -> None:
        """Lets later calls try another member first."""
        with self._lock:
            left = self.links[self._first] is link and len(self.links) > 1
            if left:
                self._first = (self._first + 1) % len(self.links)
        if left:
            self._moved()

    def metadata(self, link: Link) -> list[tuple[str, str]]:
        """Returns what a call must have with it; logs in if need be. Raises Failure."""
        if self._options.user and link.token is None:
            self._log_in(link)
        return [_WITH_LEADER, *([("token", link.token)] if link.token else [])]

    def check(self, header: Any) -> None:
        """Raises Failure if an answer is another cluster's. Headers of some answers name none."""
        with self._lock:
            self._cluster = self._cluster or header.cluster_id
            known = self._cluster
        if header.cluster_id not in (0, known):
            text = f"another cluster answers there: {header.cluster_id:x} instead of {known:x}"
            raise Failure(Kind.OTHER, text)

    def answer(self, link: Link, method: Callable[[Stubs], Method], request: Any) -> Any:
        """Returns the answer of this member. Raises Failure."""
        if self._files.trouble:
            raise Failure(Kind.UNSENT, self._files.trouble)
        try:
            found = method(link.stubs)(request, timeout=CALL_SECONDS, metadata=self.metadata(link))
        except grpc.RpcError as error:
            raise judge(error) from None
        except ValueError as error:  # the channel is closed
            raise Failure(Kind.UNSENT, str(error)) from None
        self.check(found.header)
        return found

    def _try(self, link: Link, method: Callable[[Stubs], Method], request: Any) -> Any:
        try:
            return self.answer(link, method, request)
        except Failure as failure:
            if failure.kind is not Kind.LOGIN:
                raise
            link.token = None
        return self.answer(link, method, request)

    def _log_in(self, link: Link) -> None:
        request = rpc_pb2.AuthenticateRequest(name=self._options.user, password=self._options.password)
        try:
            link.token = link.stubs.auth.Authenticate(request, timeout=CALL_SECONDS, metadata=[_WITH_LEADER]).token
        except grpc.RpcError as error:
            failure = judge(error)
            if failure.kind is not Kind.NO_LOGIN:
                raise (Failure(Kind.UNSENT, str(failure)) if failure.kind is Kind.LOST else failure) from None
            link.token = ""

    def _in_order(self) -> Sequence[Link]:
        if self._files.look():
            self._open_anew()
        with self._lock:
            return self.links[self._first :] + self.links[: self._first]

    def _open_anew(self) -> None:
        """Makes connections with other files; calls that run end on those that there are."""
        with self._lock:
            if self._closed:
                return
            closing, self._left = self._left, self.links
            self.links = [Link(one.address, self._files.secret) for one in self._left]
        for one in closing:
            one.channel.close()
        self._moved()


def keep_alive(stubs: Stubs) -> Method:
    """Returns LeaseKeepAlive as a call with one answer: a stream of its own for each, so that none can be stale."""

    def ask(request: Any, **options: Any) -> Any:
        stream = stubs.lease.LeaseKeepAlive(iter([request]), **options)
        try:
            return next(stream)
        except StopIteration:
            raise Failure(Kind.LOST, "it has ended the stream without an answer") from None
        finally:
            stream.cancel()

    return ask


def _unanswered(failures: Sequence[tuple[Link, Failure]]) -> StoreError:
    if any(failure.kind is Kind.OTHER for _, failure in failures):
        return AnotherCluster(f"{_text(failures)}. If that is meant, replace the service (jitc-proxyd --replace)")
    return Unreachable(_text(failures))


def _text(failures: Sequence[tuple[Link, Failure]]) -> str:
    return "the store does not answer: " + "; ".join(f"{link.address}: {failure}" for link, failure in failures)
