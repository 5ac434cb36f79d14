"""gRPC channels, stubs and options in one typed place (generated stubs carry no types).

Called by: the service, the worker, the command line. Promise: unix sockets only, no proxy settings of
the environment, the same size limits on both sides.
"""

from __future__ import annotations

from typing import Any, NoReturn

import grpc

from jitc.v1 import control_pb2_grpc, worker_pb2_grpc

from .paths import PROTOCOL_VERSION

#: Largest message: a batch of ops (the client keeps them far smaller) or of completions.
MESSAGE_LIMIT = 32 << 20

OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_receive_message_length", MESSAGE_LIMIT),
    ("grpc.max_send_message_length", MESSAGE_LIMIT),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]
SERVER_OPTIONS: list[tuple[str, Any]] = [
    *OPTIONS[:2],
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.max_concurrent_streams", 1000),
]


def channel(socket: str) -> grpc.Channel:
    return grpc.insecure_channel(f"unix:{socket}", options=OPTIONS)


def node(link: grpc.Channel) -> Any:
    return control_pb2_grpc.NodeStub(link)  # type: ignore[no-untyped-call]


def admin(link: grpc.Channel) -> Any:
    return control_pb2_grpc.AdminStub(link)  # type: ignore[no-untyped-call]


def coordinator(link: grpc.Channel) -> Any:
    return control_pb2_grpc.CoordinatorStub(link)  # type: ignore[no-untyped-call]


def worker(link: grpc.Channel) -> Any:
    return worker_pb2_grpc.WorkerStub(link)  # type: ignore[no-untyped-call]


def add_node(servicer: object, server: grpc.Server) -> None:
    control_pb2_grpc.add_NodeServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]


def add_admin(servicer: object, server: grpc.Server) -> None:
    control_pb2_grpc.add_AdminServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]


def add_coordinator(servicer: object, server: grpc.Server) -> None:
    control_pb2_grpc.add_CoordinatorServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]


def add_worker(servicer: object, server: grpc.Server) -> None:
    worker_pb2_grpc.add_WorkerServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]


def status_of(error: grpc.RpcError) -> tuple[grpc.StatusCode, str]:
    """Code and text of a failed call."""
    call: Any = error
    return call.code(), str(call.details() or "")


def answered(error: grpc.RpcError) -> bool:
    """Whether the other side refused; else the call was lost on the way, as it is when that side dies."""
    refusals = (grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED)
    return status_of(error)[0] in refusals


def version_message(got: object) -> str:
    return (
        f"protocol version {got or 'missing'} does not match {PROTOCOL_VERSION} of this service; "
        "use the jitc library and service of one installation"
    )


def refuse(context: Any, code: grpc.StatusCode, message: str) -> NoReturn:
    context.abort(code, message)
    raise AssertionError("abort raises")
