"""Sends one request of the `jitc` command to the service.

Called by: command.py. Promise: whatever is behind the socket, the caller gets an answer, or one line that names the
problem; only a call without a time limit to a jitc-proxyd that answers waits longer.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
from typing import TYPE_CHECKING, Any

from ..options import FAILED, NO_SERVICE, USAGE, CommandError, chosen_socket

if TYPE_CHECKING:
    import grpc

#: Time limit of calls that the service answers at once.
CALL_SECONDS = 15
#: Time limit of the first bytes, which the service sends before any work.
HELLO_SECONDS = 4
#: The preface of an HTTP/2 client without settings; the server's first frame has this type.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_FRAME_BYTES, _SETTINGS = 9, 4


def ask(named: str | None, method: str, request: Any, seconds: float | None = CALL_SECONDS) -> Any:
    """Returns the reply of the Admin service. Raises CommandError."""
    path = chosen_socket(named)
    _look(path)
    _say_hello(path)
    import grpc  # heavy

    from jitc.v1.control_pb2 import DescribeRequest

    from ...common import rpc
    from ...common.paths import PROTOCOL_VERSION

    with rpc.channel(path) as channel:
        try:
            rpc.node(channel).Describe(DescribeRequest(protocol_version=PROTOCOL_VERSION), timeout=CALL_SECONDS)
            return getattr(rpc.admin(channel), method)(request, timeout=seconds)
        except grpc.RpcError as error:
            raise _meaning(path, error) from None


def _look(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except PermissionError:
        raise _no_service(path, "its folder is another user's") from None
    except OSError:
        raise _no_service(path, "no jitc-proxyd has made it") from None
    if not stat.S_ISSOCK(mode):
        raise CommandError(f"{path} is no socket; name a jitc-proxyd's with --socket or JITC_SOCKET", USAGE)


def _say_hello(path: str) -> None:
    """Tests whether a gRPC server listens: gRPC itself treats a silent listener as busy, and waits."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        # Not settimeout: connect would give up at once where many clients wait to be accepted.
        for limit in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            connection.setsockopt(
                socket.SOL_SOCKET, limit, struct.pack("@ll", int(HELLO_SECONDS), int(HELLO_SECONDS % 1 * 1e6))
            )
        try:
            connection.connect(path)
        except PermissionError:
            raise _no_service(path, "it belongs to another user") from None
        except BlockingIOError:
            raise _silent(path) from None
        except OSError:
            raise _no_service(path, "nothing answers") from None
        try:
            with contextlib.suppress(BrokenPipeError):  # closed already; what was said before can be read all the same
                connection.sendall(_PREFACE)
            answer = connection.recv(_FRAME_BYTES, socket.MSG_WAITALL)
        except BlockingIOError:
            raise _silent(path) from None
        except OSError:
            answer = b""
    if not answer:
        raise _closed(path)
    if len(answer) < _FRAME_BYTES or answer[3] != _SETTINGS:
        raise _stranger(path)


def _meaning(path: str, error: grpc.RpcError) -> CommandError:
    import grpc

    from ...common import rpc

    code, details = rpc.status_of(error)
    if code is grpc.StatusCode.UNAVAILABLE:
        return _no_service(path, "it ended before it had answered")
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return _stranger(path)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED and details == "Deadline Exceeded":  # gRPC's own, not the service's
        return CommandError(
            f"the jitc-proxyd on {path} has not answered in time; it is stopped or overloaded", NO_SERVICE
        )
    wrong = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)
    return CommandError(details, USAGE if code in wrong else FAILED)


def _no_service(path: str, why: str) -> CommandError:
    message = (
        f"no service on {path} ({why}); start one with `jitc-proxyd --device software --gpus 2`, "
        "or name its socket with --socket or JITC_SOCKET"
    )
    return CommandError(message, NO_SERVICE)


def _silent(path: str) -> CommandError:
    return CommandError(
        f"{path} accepts connections but does not answer: is it a jitc-proxyd, and running?", NO_SERVICE
    )


def _closed(path: str) -> CommandError:
    return CommandError(
        f"{path} closes the connection at once: it has no place left (one that is not used is free again after 30 s), "
        "its jitc-proxyd has just failed (journalctl -u jitc-proxyd), or it is the socket of something else; name "
        "another with --socket or JITC_SOCKET",
        NO_SERVICE,
    )


def _stranger(path: str) -> CommandError:
    message = f"{path} is the socket of something else than a jitc-proxyd; name another with --socket or JITC_SOCKET"
    return CommandError(message, NO_SERVICE)
