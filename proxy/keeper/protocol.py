"""The messages between a service and its keeper: a JSON document in each packet, with descriptors attached.

Used by: server.py, client.py, launch.py. Promises: a packet that is truncated, is no JSON object, is nested deeper than
any of jitc's or carries too much raises Malformed, and none of its descriptors stays open; descriptors are closed on
exec.
"""

from __future__ import annotations

import array
import json
import os
import socket
from collections.abc import Iterable
from typing import Any

#: Of this protocol and of what the log holds. Another one cannot take over.
VERSION = 4
#: Bytes of a document: an environment may be large.
LIMIT = 1 << 20
#: Bytes of a document of a connection that has not been let in, and levels of any document.
HELLO_LIMIT, DEPTH = 4096, 8
#: What the kernel needs of a connection's room for a packet itself.
OVERHEAD = 1024
#: Descriptors beside a document.
DESCRIPTORS = 8
#: Key of a document whose descriptors could not be taken.
TOO_MANY = "too many descriptors"
#: The keeper's sockets in the service's private folder: for services, and for training processes (programs.py).
NAME, PROGRAMS_NAME = "keeper", "programs"
#: Connections to each of them that the keeper has not accepted yet.
WAITING = 64


class Closed(Exception):
    """The other end has closed the connection."""


class Busy(Exception):
    """The other end does not read."""


class Malformed(Exception):
    """The received data is no packet of this protocol."""


class TooLarge(OSError):
    """The document does not fit into a packet; the text gives the limit."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"a message of {size} bytes is too large for the keeper, which takes {most}")
        self.size, self.most = size, most


def roomy(connection: socket.socket) -> socket.socket:
    """Returns the connection, with room for the largest document."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LIMIT)
    return connection


def send(
    connection: socket.socket, document: dict[str, Any], descriptors: Iterable[int] = (), wait: bool = True
) -> None:
    """Sends a document. Raises Closed, TooLarge, or Busy instead of waiting for room."""
    data = json.dumps(document).encode()
    if len(data) > (most := room(connection)):
        raise TooLarge(len(data), most)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    try:
        # Not send_fds: that of Python 3.11 passes no flags on.
        connection.sendmsg([data], rights, 0 if wait else socket.MSG_DONTWAIT)
    except BlockingIOError as error:
        raise Busy(str(error)) from None
    except OSError as error:
        raise Closed(str(error)) from None


def room(connection: socket.socket) -> int:
    """Returns the bytes of the largest document: the kernel may grant less than requested (net.core.wmem_max)."""
    given = connection.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    return min(LIMIT, given - OVERHEAD)


def receive(connection: socket.socket, limit: int = LIMIT) -> tuple[dict[str, Any], list[int]]:
    """Returns the next document, and its descriptors, which the caller owns. Raises Closed or Malformed, and Busy if a
    nonblocking connection has no data.

    If this process can have no more descriptors there are none, and the document reports it.
    """
    try:
        data, descriptors, flags, _ = socket.recv_fds(connection, limit + 1, DESCRIPTORS)
    except BlockingIOError as error:
        raise Busy(str(error)) from None
    except OSError as error:
        raise Closed(str(error)) from None
    for one in descriptors:
        os.set_inheritable(one, False)  # Python 3.11 passes no flags on to recvmsg
    try:
        if not data:
            raise Closed("the connection has ended")
        if flags & socket.MSG_TRUNC:
            raise Malformed("a packet is too large")
        document = _document(data)
        if flags & socket.MSG_CTRUNC:
            close(descriptors)
            return document | {TOO_MANY: True}, []
    except BaseException:
        close(descriptors)
        raise
    return document, list(descriptors)


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except ValueError:
        raise Malformed("a packet is no JSON") from None
    except RecursionError:
        raise Malformed("a packet is nested too deep") from None
    if not isinstance(document, dict):
        raise Malformed("a packet is no JSON object")
    level: list[Any] = [document]
    for _ in range(DEPTH):
        level = [inner for one in level if isinstance(one, (dict, list)) for inner in _within(one)]
    if level:
        raise Malformed("a packet is nested too deep")
    return document


def _within(one: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return one.values() if isinstance(one, dict) else one


def close(descriptors: Iterable[int]) -> None:
    for one in descriptors:
        os.close(one)


def namespace() -> int:
    """Returns the number of this process's namespace of processes; 0 if that cannot be seen."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0
