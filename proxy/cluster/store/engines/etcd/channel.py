"""Channels to members of etcd, with or without TLS.

Called by: calls.py. Promises: proxies of the environment do not apply; a connection on which nothing comes back is
given up within nine seconds, and made anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import grpc

from jitc.etcd import rpc_pb2_grpc

from ...locations import Address

#: Largest message: as many entries as one prefix may have, of a usual size.
MESSAGE_LIMIT = 32 << 20
_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_receive_message_length", MESSAGE_LIMIT),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),  # the time for an attempt to connect
    ("grpc.max_reconnect_backoff_ms", 1000),
    # etcd allows a ping in five seconds, and none without a call.
    ("grpc.keepalive_time_ms", 5500),
    ("grpc.keepalive_timeout_ms", 3000),
    ("grpc.http2.ping_timeout_ms", 3000),  # otherwise a minute
    ("grpc.http2.max_pings_without_data", 0),
]


@dataclass(frozen=True)
class Stubs:
    """The services of a member."""

    kv: Any
    lease: Any
    watch: Any
    auth: Any
    maintenance: Any


def open_channel(address: Address, secret: grpc.ChannelCredentials | None) -> grpc.Channel:
    target = f"dns:///{address}"
    if secret is None:
        return grpc.insecure_channel(target, _OPTIONS)
    return grpc.secure_channel(target, secret, _OPTIONS)


def stubs(channel: grpc.Channel) -> Stubs:
    return Stubs(
        rpc_pb2_grpc.KVStub(channel),  # type: ignore[no-untyped-call]
        rpc_pb2_grpc.LeaseStub(channel),  # type: ignore[no-untyped-call]
        rpc_pb2_grpc.WatchStub(channel),  # type: ignore[no-untyped-call]
        rpc_pb2_grpc.AuthStub(channel),  # type: ignore[no-untyped-call]
        rpc_pb2_grpc.MaintenanceStub(channel),  # type: ignore[no-untyped-call]
    )
