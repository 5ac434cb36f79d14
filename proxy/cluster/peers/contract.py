"""Versions, sizes and times on which both ends of a link must agree, and how a call says who makes it.

Called by: admission.py, server.py, link.py. Promises: a call that lacks a caller, or has one that cannot be read, is
refused; of two nodes that differ in a version each names both numbers.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from jitc.ops.generated_names import FORMAT_VERSION
from jitc.v1 import peer_pb2

from ...common.paths import BOARD_VERSION, JOURNAL_VERSION, PROTOCOL_VERSION, WORKER_VERSION

#: Of protos/jitc/v1/peer.proto: what a method means, or what a caller may rely on.
PEER_VERSION = 1
#: The metadata that says who calls.
CALLER = "jitc-caller-bin"
#: Bytes of a request or an answer.
MESSAGE_MOST = 4 << 20
#: Without an answer for this time a connection is over, also for the kernel (TCP_USER_TIMEOUT): a cut is noticed.
SILENT_MS = 3000
#: Without traffic for this time a connection is asked for a sign of life.
ASKED_MS = 1000

OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_receive_message_length", MESSAGE_MOST),
    ("grpc.max_send_message_length", MESSAGE_MOST),
    ("grpc.enable_http_proxy", 0),
    ("grpc.keepalive_time_ms", ASKED_MS),
    ("grpc.keepalive_timeout_ms", SILENT_MS),
    ("grpc.http2.ping_timeout_ms", SILENT_MS),  # a minute otherwise, which counts as well
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
]
#: What a version is called in a message.
_NAMES = {
    "peer": "version {} of the calls between nodes", "protocol": "protocol version {}",
    "records": "version {} of ops and records", "board": "board version {}", "journal": "journal version {}",
    "worker": "worker version {}",
}  # fmt: skip


def versions() -> peer_pb2.Versions:
    """Returns this installation's."""
    return peer_pb2.Versions(
        peer=PEER_VERSION, protocol=PROTOCOL_VERSION, records=FORMAT_VERSION, board=BOARD_VERSION,
        journal=JOURNAL_VERSION, worker=WORKER_VERSION,
    )  # fmt: skip


def facts() -> peer_pb2.Facts:
    """Returns what this node says of itself."""
    release = ""
    with contextlib.suppress(PackageNotFoundError):
        release = version("jitc")
    return peer_pb2.Facts(release=release, host=socket.gethostname(), wall_ms=int(time.time() * 1000))


def differing(own: peer_pb2.Versions, caller: str, other: peer_pb2.Versions) -> str:
    """Returns in what another node differs, with both numbers; empty: in nothing."""
    found = [
        f"{text.format(getattr(other, name) or 'missing')}, not {getattr(own, name)}"
        for name, text in _NAMES.items()
        if getattr(own, name) != getattr(other, name)
    ]
    return f"node {caller} has {' and '.join(found)}; install one release of jitc on both nodes" if found else ""


def as_metadata(node: str) -> tuple[tuple[str, bytes], ...]:
    """Returns what every call of this node carries."""
    return ((CALLER, peer_pb2.Caller(node=node, versions=versions()).SerializeToString()),)


def caller_in(metadata: Iterable[tuple[str, str | bytes]]) -> peer_pb2.Caller:
    """Returns who says to make a call. Raises ValueError."""
    values = [value for key, value in metadata if key == CALLER]
    if len(values) != 1 or not isinstance(values[0], bytes):
        raise ValueError("a call between nodes says in its metadata who makes it, and this one does not")
    try:
        return peer_pb2.Caller.FromString(values[0])
    except Exception:  # of protobuf's own kinds
        raise ValueError("the metadata of a call cannot be read: it says wrongly who makes it") from None
