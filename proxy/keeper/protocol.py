"""What a service and its keeper say to each other: a JSON document in each packet, with descriptors beside it.

Used by: server.py, client.py. Promises: a packet that is cut short, is no JSON object or carries too much raises
Malformed, and none of its descriptors stays open; descriptors are closed on exec.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct
from collections.abc import Iterable
from typing import Any

#: Of this protocol and of what the log holds. Another one cannot take over.
VERSION = 2
#: Bytes of a document: an environment may be large.
LIMIT = 1 << 20
#: Descriptors beside a document.
DESCRIPTORS = 4
#: Key of a document whose descriptors could not be taken.
TOO_MANY = "too many descriptors"
#: The keeper's sockets in the service's private folder: for services, and for training processes (programs.py).
NAME, PROGRAMS_NAME = "keeper", "programs"


class Closed(Exception):
    """The other end has gone."""


class Busy(Exception):
    """The other end does not read."""


class Malformed(Exception):
    """What came is no packet of this protocol."""


def roomy(connection: socket.socket) -> socket.socket:
    """The connection, with room for the largest document."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LIMIT)
    return connection


def send(
    connection: socket.socket, document: dict[str, Any], descriptors: Iterable[int] = (), wait: bool = True
) -> None:
    """Raises Closed, ValueError for a document that is too large, or Busy instead of waiting for room."""
    data = json.dumps(document).encode()
    if len(data) > LIMIT:
        raise ValueError(f"a message of {len(data)} bytes is too large for the keeper")
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    try:
        # Not send_fds: that of Python 3.11 passes no flags on.
        connection.sendmsg([data], rights, 0 if wait else socket.MSG_DONTWAIT)
    except BlockingIOError as error:
        raise Busy(str(error)) from None
    except OSError as error:
        raise Closed(str(error)) from None


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """The next document, and the descriptors that came with it, which are the caller's. Raises Closed or Malformed.

    Where this process can have no more descriptors there are none, and the document says so.
    """
    try:
        data, descriptors, flags, _ = socket.recv_fds(connection, LIMIT + 1, DESCRIPTORS)
    except OSError as error:
        raise Closed(str(error)) from None
    for one in descriptors:
        os.set_inheritable(one, False)  # Python 3.11 passes no flags on to recvmsg
    try:
        if not data:
            raise Closed("the connection has ended")
        if flags & socket.MSG_TRUNC:
            raise Malformed("a packet is too large")
        document = json.loads(data)
        if not isinstance(document, dict):
            raise Malformed("a packet is no JSON object")
        if flags & socket.MSG_CTRUNC:
            close(descriptors)
            return document | {TOO_MANY: True}, []
    except ValueError:
        close(descriptors)
        raise Malformed("a packet is no JSON") from None
    except (Closed, Malformed):
        close(descriptors)
        raise
    return document, list(descriptors)


def close(descriptors: Iterable[int]) -> None:
    for one in descriptors:
        os.close(one)


def peer(connection: socket.socket) -> tuple[int, int]:
    """Process and user of the other end, as the kernel has them."""
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid
