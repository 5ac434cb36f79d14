"""gRPC channels, stubs and options in one typed place (generated stubs carry no types).

Called by: the service, the worker, the command line; ../cluster/peers, which has servers and channels of its own.
Promises: unix sockets only; proxy settings of the environment have no effect; both sides have the same size limits; a
server limits its connections, and closes those that never speak HTTP/2 or have not called for a while; an exception in
a call ends that call, with one line, and a request that does not parse is refused.
"""

from __future__ import annotations

import contextlib
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote

import grpc

from jitc.v1 import bridge_pb2_grpc, control_pb2_grpc, peer_pb2_grpc, worker_pb2_grpc

from .paths import PROTOCOL_VERSION
from .printable import printable

#: Largest message: a batch of ops (the client keeps them far smaller) or of completions.
MESSAGE_LIMIT = 32 << 20

#: Largest request to the service: an environment, a report of a race.
REQUEST_LIMIT = 256 << 10
_RECEIVE = "grpc.max_receive_message_length"

OPTIONS: list[tuple[str, Any]] = [
    (_RECEIVE, MESSAGE_LIMIT),
    ("grpc.max_send_message_length", MESSAGE_LIMIT),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Before the server does (below), which gRPC would tell of on standard error; the next call connects again.
    ("grpc.client_idle_timeout_ms", 15_000),
]
SERVER_OPTIONS: list[tuple[str, Any]] = [
    *OPTIONS[:2],
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.max_concurrent_streams", 1000),
    # A crowd that says or calls nothing may not hold all places for good; a channel of ours connects again by itself.
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.max_connection_idle_ms", 30_000),
]
#: Threads for calls that are answered at once.
THREADS = 32
#: The answer of a service that is about to be another one in the same process.
ANEW = "jitc-proxyd begins anew; ask again"
#: Connections that a server has at most, and of its process's descriptors the share that they may be.
CONNECTIONS, SHARE = 1024, 4


class Refused(Exception):
    """Raised after the call has been answered with a refusal."""


def serve(
    add: Callable[[grpc.Server], None], socket: str, handlers: Any = (), largest: int = MESSAGE_LIMIT
) -> grpc.Server:
    """Starts a server on the socket; add: what it serves besides handlers; largest: bytes of a request."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = min(CONNECTIONS, soft // SHARE) if soft != resource.RLIM_INFINITY else CONNECTIONS
    server = grpc.server(
        ThreadPoolExecutor(THREADS, "jitc-rpc"),
        handlers=handlers,
        interceptors=[OneLine()],
        options=[
            *((name, largest if name == _RECEIVE else value) for name, value in SERVER_OPTIONS),
            ("grpc.max_allowed_incoming_connections", most),
        ],
        compression=grpc.Compression.NoCompression,
    )
    add(server)
    server.add_insecure_port(address(socket))
    server.start()
    return server


class OneLine(grpc.ServerInterceptor):  # type: ignore[type-arg]
    """Reports an exception in a call to its caller, and to the log, in one line."""

    def intercept_service(self, continuation: Any, details: Any) -> Any:
        handler = continuation(details)
        if handler is None or handler.unary_unary is None:
            return handler
        return grpc.unary_unary_rpc_method_handler(
            _answered(details.method, handler.unary_unary),
            _read(handler.request_deserializer),
            handler.response_serializer,
        )


class _Unreadable(NamedTuple):
    """Replaces a request that does not parse: gRPC would print a traceback for each."""

    why: str


def _read(deserialize: Any) -> Any:
    def read(data: bytes) -> Any:
        try:
            return deserialize(data)
        except Exception as error:
            return _Unreadable(printable(str(error)))

    return read


def _answered(name: str, method: Any) -> Any:
    def answer(request: Any, context: Any) -> Any:
        if isinstance(request, _Unreadable):
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, f"the request cannot be read: {request.why}")
        try:
            return method(request, context)
        except Refused:
            raise
        except Exception as error:
            text = printable(f"{name.rpartition('/')[2]}: {error!r}")
            print(f"jitc: a call has failed: {text}", file=sys.stderr, flush=True)
            refuse(context, grpc.StatusCode.INTERNAL, text)

    pool = getattr(method, "experimental_thread_pool", None)
    return _InPool(answer, pool) if pool is not None else answer


def address(socket: str) -> str:
    """Returns the address of a unix socket for gRPC, which parses it as a URI: % and # of a path are quoted."""
    return f"unix:{quote(socket)}"


def channel(socket: str) -> grpc.Channel:
    return grpc.insecure_channel(address(socket), options=OPTIONS)


def node(channel: grpc.Channel) -> Any:
    return control_pb2_grpc.NodeStub(channel)  # type: ignore[no-untyped-call]


def admin(channel: grpc.Channel) -> Any:
    return control_pb2_grpc.AdminStub(channel)  # type: ignore[no-untyped-call]


def coordinator(channel: grpc.Channel) -> Any:
    return control_pb2_grpc.CoordinatorStub(channel)  # type: ignore[no-untyped-call]


def worker(channel: grpc.Channel) -> Any:
    return worker_pb2_grpc.WorkerStub(channel)  # type: ignore[no-untyped-call]


def peer(channel: grpc.Channel) -> Any:
    return peer_pb2_grpc.PeerStub(channel)  # type: ignore[no-untyped-call]


def bridge(channel: grpc.Channel) -> Any:
    return bridge_pb2_grpc.BridgeStub(channel)  # type: ignore[no-untyped-call]


def frames(channel: grpc.Channel) -> Any:
    return bridge_pb2_grpc.FramesStub(channel)  # type: ignore[no-untyped-call]


def add_node(servicer: object, server: grpc.Server) -> None:
    control_pb2_grpc.add_NodeServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]


def add_admin(servicer: object, server: grpc.Server) -> None:
    control_pb2_grpc.add_AdminServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]


def add_coordinator(servicer: object, server: grpc.Server) -> None:
    control_pb2_grpc.add_CoordinatorServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]


def add_peer(servicer: object, server: grpc.Server) -> None:
    peer_pb2_grpc.add_PeerServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]


def add_bridge(servicer: object, server: grpc.Server) -> None:
    bridge_pb2_grpc.add_BridgeServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]


def add_frames(servicer: object, server: grpc.Server) -> None:
    bridge_pb2_grpc.add_FramesServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]


def status_of(error: grpc.RpcError) -> tuple[grpc.StatusCode, str]:
    """Returns code and text of a failed call."""
    call: Any = error
    return call.code(), str(call.details() or "")


def refused(error: grpc.RpcError) -> bool:
    """Returns whether the other side refused the call; otherwise the call was lost, as when the other side dies."""
    refusals = (grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED)
    return status_of(error)[0] in refusals


def version_message(got: object) -> str:
    return (
        f"protocol version {got or 'missing'} does not match {PROTOCOL_VERSION} of this service; "
        "use the jitc library and service of one installation"
    )


def refuse(context: Any, code: grpc.StatusCode, message: str) -> NoReturn:
    try:
        context.abort(code, message)
    except Exception:  # that is how it leaves the call
        raise Refused(message) from None
    raise AssertionError("abort raises")


class Waiting:
    """A separate thread pool for calls that wait, so that calls that must be answered at once find a free thread.

    A limited number of calls wait at a time; half as many threads again refuse the calls beyond that.
    """

    def __init__(self, name: str, most: int) -> None:
        self._pool = ThreadPoolExecutor(most + most // 2, name)
        self._free = threading.BoundedSemaphore(most)
        self._most = most

    def serve(self, method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Marks a servicer's method to run in these threads."""
        return _InPool(method, self._pool)

    @contextlib.contextmanager
    def seat(
        self, context: Any, advice: str, code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE
    ) -> Iterator[None]:  # fmt: skip
        """Surrounds the wait; if all seats are taken, the call is refused, with a code by which clients try again."""
        if not self._free.acquire(blocking=False):
            refuse(context, code, f"{self._most} calls wait already; {advice}")
        try:
            yield
        finally:
            self._free.release()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


class _InPool:
    """A method with its pool, which grpcio takes from an attribute that all supported releases use."""

    def __init__(self, method: Callable[[Any, Any], Any], pool: ThreadPoolExecutor) -> None:
        self._method = method
        self.experimental_thread_pool = pool

    def __call__(self, request: Any, context: Any) -> Any:
        return self._method(request, context)
