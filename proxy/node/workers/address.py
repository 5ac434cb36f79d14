"""The path at which the service calls a worker's socket.

Called by: worker.py. Promise: a socket in a folder of another user's leads to what that user has bound, whatever the
name stands for by then: the service, which may call more than the user, is not sent to a third one's socket.
"""

from __future__ import annotations

import os
import stat

#: A call there fails as one to a worker that has ended does.
NOWHERE = "/proc/self/fd/-1"


class Address:
    """The address of one worker. Not thread-safe."""

    def __init__(self, socket: str, uid: int) -> None:
        """uid: the worker's user."""
        self._socket, self._uid = socket, uid
        self._held = -1

    def path(self) -> str:
        """Returns the path for a call."""
        if self._uid == os.geteuid():
            return self._socket
        if self._held < 0:
            self._held = self._hold()
        return f"/proc/self/fd/{self._held}" if self._held >= 0 else NOWHERE

    def close(self) -> None:
        """Releases the socket; the worker has ended."""
        held, self._held = self._held, -1
        if held >= 0:
            os.close(held)

    def _hold(self) -> int:
        """Opens the socket itself, so that it can be checked before it is called; -1: it is not the user's."""
        try:
            held = os.open(self._socket, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return -1
        found = os.fstat(held)
        if stat.S_ISSOCK(found.st_mode) and found.st_uid == self._uid:
            return held
        os.close(held)
        return -1
