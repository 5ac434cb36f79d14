"""Checks of the service: where its socket is, who could change that place, and whether a service answers.

Called by: command.py, last, since gRPC starts threads. Promises: nothing is made or removed there; a service that is
stopped, or another program on the socket, costs seconds; no service is no fault.
"""

from __future__ import annotations

import os
import socket
import stat
import statistics
import time
from contextlib import suppress
from pathlib import Path

from ...common import paths
from ...keeper.claim import folders
from ...keeper.claim.socket_lock import PATH_LIMIT
from ..options import CommandError
from .check import GOOD, Check, Context, Finding, bad, good, unknown
from .storage import nearest

#: Calls whose time is measured, and the time limit of each.
_CALLS, _CALL_SECONDS = 20, 2.0
#: Milliseconds from which on the median of the calls says that something is overloaded; usually it is below one.
_USUAL_MS = 20.0
_START = "start one: jitc-proxyd --device software --gpus 2"


def _path(context: Context) -> Path:
    return Path(os.path.abspath(context.socket or paths.client_socket()))


def socket_path(context: Context) -> Finding:
    path = _path(context)
    length = len(os.fsencode(path))
    text = f"{path} has {length} bytes, at most {PATH_LIMIT} are possible"
    if length > PATH_LIMIT or not str(path).isprintable():
        return bad(text, "choose a shorter path of printable characters with --socket or JITC_SOCKET")
    return good(text)


def folder(context: Context) -> Finding:
    """Looks as a service does when it claims the socket (keeper/claim/socket_lock.py), and changes nothing."""
    path = _path(context)
    remedy = "give a socket in a folder of your own with --socket or JITC_SOCKET"
    parent = path.parent
    if not os.path.lexists(parent):
        above = nearest(parent)
        if not os.access(above, os.W_OK | os.X_OK):
            return bad(f"{parent} does not exist, and cannot be made in {above}", remedy)
        return good(f"{parent} will be made by the service")
    try:
        handle = folders.open_parent(parent)
    except folders.Unsafe as error:
        return bad(str(error), remedy)
    except OSError as error:
        return bad(f"{parent} cannot be used: {error.strerror}", remedy)
    try:
        if _the_systems(path):
            return good(f"{parent} is safe, and the service there is root's")
        return _private(path, handle, remedy)
    finally:
        os.close(handle)


def _the_systems(path: Path) -> bool:
    """Returns whether root's service is on the system's socket and this user, who is another, will claim nothing."""
    if os.geteuid() == 0 or not (str(path) == paths.SYSTEM_SOCKET or _shared(path)):
        return False
    for one in (path, path.with_name(f"{path.name}.d")):
        with suppress(OSError):
            return os.lstat(one).st_uid == 0
    return False


def _shared(path: Path) -> bool:
    """Returns whether several users share the service there (--users)."""
    with suppress(OSError):
        return stat.S_IMODE(os.lstat(path.with_name(f"{path.name}.d")).st_mode) == 0o711
    return False


def _private(path: Path, parent: int, remedy: str) -> Finding:
    """Looks at the folder beside the socket; parent: a descriptor of the one around both."""
    name = f"{path.name}.d"
    try:
        private = folders.open_own(name, parent)
    except FileNotFoundError:
        if not os.access(path.parent, os.W_OK | os.X_OK):
            return bad(f"{path.parent} cannot be written to", remedy)
        return good(f"{path.parent} is safe: only this user or root can replace entries")
    except folders.Unsafe as error:
        return bad(f"{path.parent}/{name} {error}", f"remove or rename it, or {remedy}")
    try:
        folders.check_private(private)
    except folders.Unsafe as error:
        return bad(f"{path.parent}/{name} {error}", f"remove or rename it, or {remedy}")
    finally:
        os.close(private)
    return good(f"{path.parent} is safe, and {name} in it is this user's alone")


def service(context: Context) -> Finding:
    """Asks once. A service of another protocol version refuses, and says so."""
    from jitc.v1.control_pb2 import StatusRequest

    from ..questions.ask import ask

    path = str(_path(context))
    if why := _nobody(path):
        return unknown(f"{why}, so that nothing was asked", _START)
    try:
        ask(path, "Status", StatusRequest(), _CALL_SECONDS, waits=False)
    except CommandError as error:
        if "--users" in str(error):
            return bad(str(error), "ask its administrator, or start a service of your own (jitc run)")
        return bad(str(error), "see the service's own messages; if it is stopped, continue it (kill -CONT)")
    return good(f"a service answers on {path}, with protocol version {paths.PROTOCOL_VERSION} as here")


def _nobody(path: str) -> str:
    """Returns why there is no service; empty if something listens."""
    if not os.path.lexists(path):
        return f"there is no {path}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_CALL_SECONDS)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return f"{path} was left by a service that has ended"
        except OSError:
            return ""  # asking it gives the reason
    return ""


def round_trip(context: Context) -> Finding | None:
    """Measures calls on one connection; the first one, which connects, does not count."""
    if context.once(service).verdict != GOOD:
        return None
    import grpc

    from jitc.v1.control_pb2 import DescribeRequest

    from ...common import rpc

    request, taken = DescribeRequest(protocol_version=paths.PROTOCOL_VERSION), []
    with rpc.channel(str(_path(context))) as channel:
        try:
            for _ in range(_CALLS + 1):
                began = time.monotonic()
                rpc.node(channel).Describe(request, timeout=_CALL_SECONDS)
                taken.append((time.monotonic() - began) * 1e3)
        except grpc.RpcError as error:
            return bad(f"a call failed: {rpc.status_of(error)[1]}", "see the service's own messages")
    return of_calls(taken[1:])


def of_calls(taken: list[float]) -> Finding:
    """taken: milliseconds of each call."""
    middle = statistics.median(taken)
    text = f"{middle:.2f} ms, median of {len(taken)} calls; the longest took {max(taken):.2f} ms"
    if middle > _USUAL_MS:
        return unknown(
            f"{text}: programs start slowly, and a recovery takes longer",
            "see whether the machine is overloaded (top), or the service's container has too few CPUs",
        )
    return good(text)


def _service(context: Context) -> Finding:
    found: Finding = context.once(service)
    return found


CHECKS = (
    Check("socket", socket_path),
    Check("folder", folder),
    Check("service", _service),
    Check("round trip", round_trip),
)
