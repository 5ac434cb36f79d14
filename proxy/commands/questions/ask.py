"""Sends one request of the `jitc` command to the service.

Called by: command.py, ../terminal, ../doctor, ../support, ../run.py. Promise: whatever is behind the socket, the
caller gets an answer, or one line that names the problem; what waits longer is a call without a time limit, as long as
the service answers others, and, after a line that says so, a question to a service that begins.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..options import FAILED, NO_SERVICE, USAGE, CommandError, chosen_socket, complain

if TYPE_CHECKING:
    import grpc

#: Time limit of calls that the service answers at once.
CALL_SECONDS = 15
#: While a call is out, the service is asked every so many seconds whether it lives, and has so many to answer.
LOOK_SECONDS, ANSWER_SECONDS = 5.0, 5.0
#: It is given up when it has been silent as often, one time after the other: once may be a moment of much work.
SILENT_TIMES = 3
#: Time limit of the first bytes, which the service sends before any work.
HELLO_SECONDS = 4
#: The same where systemd may just be starting the service, unless JITC_SERVICE_TIMEOUT is set.
BEGINNING_SECONDS = 120.0
#: The preface of an HTTP/2 client without settings; the server's first frame has this type.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_FRAME_BYTES, _SETTINGS = 9, 4
#: Codes of gRPC's for what the caller has done wrong.
_INVALID_ARGUMENT, _NOT_FOUND = 3, 5


def ask(
    named: str | None, method: str, request: Any, seconds: float | None = CALL_SECONDS, *, waits: bool = True
) -> Any:
    """Returns the reply of the Admin service. waits: for a service that begins. Raises CommandError."""
    return ask_together(named, method, [request], seconds, waits=waits)[0]


def ask_together(
    named: str | None, method: str, requests: Sequence[Any], seconds: float | None = CALL_SECONDS, *,
    waits: bool = True,
) -> list[Any]:  # fmt: skip
    """Returns the replies to several requests, which are made at once. Raises CommandError if one of them fails."""
    path = chosen_socket(named)
    _look(path)
    _say_hello(path, waits)
    import grpc  # heavy

    from jitc.v1.control_pb2 import DescribeRequest

    from ...common import rpc
    from ...common.paths import PROTOCOL_VERSION

    with rpc.channel(path) as channel:

        def describe(seconds: float) -> None:
            rpc.node(channel).Describe(DescribeRequest(protocol_version=PROTOCOL_VERSION), timeout=seconds)

        try:
            describe(CALL_SECONDS)
            call = getattr(rpc.admin(channel), method)
            calls = [call.future(one, timeout=seconds) for one in requests]
            return [_reply(one, describe) for one in calls]
        except grpc.RpcError as error:
            raise _meaning(path, error) from None


def _reply(call: Any, describe: Callable[[float], None]) -> Any:
    """Returns the reply to a call, for which a service that is stopped is not waited. Raises grpc.RpcError."""
    import grpc

    from ...common import rpc

    silent = 0  # so many times, one after the other
    while True:
        try:
            return call.result(timeout=LOOK_SECONDS)
        except grpc.FutureTimeoutError:
            pass
        try:
            describe(ANSWER_SECONDS)
            silent = 0
        except grpc.RpcError as error:  # only silence matters: a service that refuses lives, and an end ends the call
            silent += rpc.status_of(error)[0] is grpc.StatusCode.DEADLINE_EXCEEDED
            if silent == SILENT_TIMES and not call.done():
                raise


def _look(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except PermissionError:
        raise _no_service(path, "its folder is another user's") from None
    except OSError:
        raise _no_service(path, "no jitc-proxyd has made it") from None
    if not stat.S_ISSOCK(mode):
        raise CommandError(f"{path} is no socket; name a jitc-proxyd's with --socket or JITC_SOCKET", USAGE)


def _say_hello(path: str, waits: bool) -> None:
    """Tests whether a gRPC server listens: gRPC itself treats a silent listener as busy, and waits."""
    begins = waits and not os.path.isdir(f"{path}.d")  # the first connection has systemd start the service
    try:
        return _greet(path, HELLO_SECONDS)
    except BlockingIOError:
        seconds = _service_timeout() if begins else 0.0
    if seconds > HELLO_SECONDS:
        complain(
            "jitc",
            f"the service at {path} does not answer; it may just begin, and is waited for up to {seconds:g} s "
            "(JITC_SERVICE_TIMEOUT)",
        )
        with contextlib.suppress(BlockingIOError):
            return _greet(path, seconds - HELLO_SECONDS)
    raise _silent(path)


def _service_timeout() -> float:
    """Returns JITC_SERVICE_TIMEOUT, as programs read it (interpose/session/environment.cpp)."""
    text = os.environ.get("JITC_SERVICE_TIMEOUT", "")
    return float(text) if re.fullmatch("[0-9]{1,9}", text, re.ASCII) else BEGINNING_SECONDS


def _greet(path: str, seconds: float) -> None:
    """Raises BlockingIOError if nothing comes in this time, and CommandError for what is no server."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        # Not settimeout: connect would give up at once where many clients wait to be accepted.
        for limit in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            connection.setsockopt(socket.SOL_SOCKET, limit, struct.pack("@ll", int(seconds), int(seconds % 1 * 1e6)))
        try:
            connection.connect(path)
        except PermissionError:
            raise _no_service(path, "it belongs to another user") from None
        except BlockingIOError:
            raise
        except OSError:
            raise _no_service(path, "nothing answers") from None
        try:
            with contextlib.suppress(BrokenPipeError):  # closed already; what was said before can be read all the same
                connection.sendall(_PREFACE)
            answer = connection.recv(_FRAME_BYTES, socket.MSG_WAITALL)
        except BlockingIOError:
            raise
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
    return CommandError(details, exit_status(code.value[0]))


def exit_status(code: int) -> int:
    """Returns the exit status for a refusal with this code of gRPC's."""
    return USAGE if code in (_INVALID_ARGUMENT, _NOT_FOUND) else FAILED


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
