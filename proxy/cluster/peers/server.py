"""The server of the Peer service, for other nodes' services: TLS alone, and nodes of the cluster alone.

Called by: the service. Promises: connections without a certificate of the cluster's CA reach no handler; one that says
nothing, or something else, ends; the number of connections and of calls at a time is limited; nothing that arrives ends
the service; a certificate that is renewed is shown to each new connection.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from jitc.v1 import peer_pb2

from ...common.rpc import OneLine, add_peer, refuse
from . import names
from .admission import Known, NodeAdmission, peer_of
from .contract import ASKED_MS, OPTIONS, facts
from .credentials import Credentials

#: Threads for calls, which are answered at once, and calls at a time; others have threads of their own (rpc.Waiting).
THREADS, CALLS_MOST = 16, 256
#: Connections at a time: a node has two to each other one, and one more while it opens them.
CONNECTIONS_MOST = 1024
#: Until a connection has ended its handshake.
HANDSHAKE_MS = 5000
STOP_SECONDS = 5.0

_OPTIONS = [
    *OPTIONS,
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", ASKED_MS // 2),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.max_concurrent_streams", CALLS_MOST),
]


_METHODS = frozenset(one.name for one in peer_pb2.DESCRIPTOR.services_by_name["Peer"].methods)


class PeerService:
    """The methods of Peer. answer: takes a node's beat (beats.py). Others are attributes that the service sets before
    the server is made (../ranks/assembly.py)."""

    def __init__(self, answer: Callable[[str, peer_pb2.BeatRequest], peer_pb2.BeatReply]) -> None:
        self._answer = answer

    def add(self, server: grpc.Server) -> None:
        add_peer(self, server)

    def __getattr__(self, name: str) -> Any:
        """Returns a handler for a method of the contract that nobody has set."""
        if name not in _METHODS:
            raise AttributeError(name)
        return _not_served

    def Hello(self, request: Any, context: Any) -> Any:
        return peer_pb2.HelloReply(facts=facts())

    def Beat(self, request: Any, context: Any) -> Any:
        try:
            return self._answer(peer_of(context).node, request)
        except ValueError as error:
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))


def _not_served(request: Any, context: Any) -> Any:
    refuse(context, grpc.StatusCode.UNIMPLEMENTED, "this service has no jobs over nodes")


class CannotListen(Exception):
    """The address is not free, or not this machine's; the text says which."""


class PeerServer:
    """A server that runs. Raises CannotListen when it cannot be made."""

    def __init__(
        self, address: str, credentials: Credentials, known: Known, add: Callable[[grpc.Server], None], *,
        threads: int = THREADS, handshake_ms: int = HANDSHAKE_MS,
    ) -> None:  # fmt: skip
        """address: HOST:PORT, with port 0 a free one; known: what the cluster knows of a node; add: adds servicers
        (`PeerService.add`); threads: for calls, of which a stream keeps one. Raises CannotListen."""
        place = _free(_parsed(address))
        self._pool = ThreadPoolExecutor(threads, "jitc-peer")
        self._server = grpc.server(
            self._pool,
            interceptors=[OneLine(), NodeAdmission(credentials.identity.node, known)],
            options=[
                *_OPTIONS,
                ("grpc.server_handshake_timeout_ms", handshake_ms),
                ("grpc.max_allowed_incoming_connections", CONNECTIONS_MOST),
            ],
            maximum_concurrent_rpcs=CALLS_MOST,
        )
        add(self._server)
        try:
            self.port = self._server.add_secure_port(str(place), credentials.for_server())
        except RuntimeError as error:
            raise CannotListen(f"the service of this node cannot listen at {place}: {error}") from None
        self._server.start()

    def stop(self) -> None:
        """Ends all connections. Calls that run have their time to end."""
        self._server.stop(STOP_SECONDS).wait(2 * STOP_SECONDS)
        self._pool.shutdown(wait=False)


def _parsed(address: str) -> names.Address:
    try:
        return names.address(address)
    except ValueError as error:
        raise CannotListen(str(error)) from None


def _free(place: names.Address) -> names.Address:
    """Returns the address as a number, after it has tried to listen there: gRPC does not say why it cannot."""
    try:
        family, *_, where = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(where)
            tried.listen(1)
        return names.Address(str(where[0]), place.port)
    except OSError as error:
        why = error.strerror or str(error)
        raise CannotListen(
            f"the service of this node cannot listen at {place}: {why}; --peer-address is an address of this machine "
            "with a free port"
        ) from None
