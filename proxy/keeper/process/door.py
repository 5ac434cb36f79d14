"""A listening socket of the keeper's, which decides who may connect.

Called by: server.py (services), programs.py (training processes). Promises: only processes of this user can connect,
or also those of users who have been admitted; accepting never raises, and a caller for which there is no descriptor is
rejected instead of being polled for ever.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Callable

from ..peer import Peer, peer_of

_NO_MORE = (errno.EMFILE, errno.ENFILE)


def nobody(peer: Peer) -> bool:
    """Admits no other user."""
    return False


class Door:
    """Owns the listening socket."""

    def __init__(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        self.listener = listener
        self.admits: Callable[[Peer], bool] = nobody  # besides this user
        self._reserve = self._reserved()

    def accept(self) -> socket.socket | None:
        """Returns the next connection of a user who may connect; None: there was none, or it was rejected."""
        try:
            connection, _ = self.listener.accept()
        except OSError as error:
            if error.errno in _NO_MORE:
                self._turn_away()
            return None
        peer = peer_of(connection)
        if peer.uid != os.geteuid() and not self.admits(peer):
            connection.close()
            return None
        return connection

    def _turn_away(self) -> None:
        """Rejects a caller, with the descriptor that was set aside for it; otherwise it would wait for ever."""
        if self._reserve >= 0:
            os.close(self._reserve)
        with contextlib.suppress(OSError):
            self.listener.accept()[0].close()
        self._reserve = self._reserved()

    def close(self) -> None:
        """Closes the socket: no caller can connect any more."""
        self.listener.close()
        if self._reserve >= 0:
            os.close(self._reserve)
        self._reserve = -1

    @staticmethod
    def _reserved() -> int:
        try:
            return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return -1
