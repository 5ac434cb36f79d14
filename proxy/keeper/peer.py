"""The other end of a unix socket, as the kernel reports it: its process, its user and all of its groups.

Called by: the keeper, and the relay in front of a service that several users share (../front). Promises: the answer is
that of the moment at which the other end connected, whatever that end says of itself, and cannot be forged; a kernel
that does not report groups gives none, so that nobody is let in because of a group that is not known.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from dataclasses import dataclass

#: Linux's number, which Python has no name for.
_SO_PEERGROUPS = 59
#: A process's number has a sign, those of users and groups have none.
_CREDENTIALS = struct.Struct("iII")
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Peer:
    """A process at the other end. pid is 0 if that process cannot be seen from here; groups are the further ones,
    beside gid, and may repeat it."""

    pid: int
    uid: int
    gid: int
    groups: tuple[int, ...] = ()


def peer_of(connection: socket.socket) -> Peer:
    """Returns who connected. Raises OSError."""
    given = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(given)
    return Peer(pid, uid, gid, _groups(connection.fileno()))


def _groups(descriptor: int) -> tuple[int, ...]:
    """Returns the further groups; none if the kernel does not report them.

    Python's own getsockopt ends at 1024 bytes, which are 256 groups; a process may have 65536.
    """
    count, size = 0, ctypes.sizeof(ctypes.c_uint)
    while True:
        found, length = (ctypes.c_uint * count)(), ctypes.c_uint(count * size)
        if not _libc.getsockopt(descriptor, socket.SOL_SOCKET, _SO_PEERGROUPS, found, ctypes.byref(length)):
            return tuple(found[: length.value // size])
        if (why := ctypes.get_errno()) in (errno.ENOPROTOOPT, errno.ENODATA):
            return ()
        if why != errno.ERANGE or length.value <= count * size:
            raise OSError(why, os.strerror(why))
        count = length.value // size  # the kernel reports how much room the groups need
