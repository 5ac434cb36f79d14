"""A connection with the test at both ends.

Called by: tests of what lies between: networks of nodes, and relays.
"""

from __future__ import annotations

import socket

from .waiting import patient

LIMIT = 30.0


class Ends:
    """Both wait for the other at most LIMIT seconds."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self.near, self.far = near, far
        for one in (near, far):
            one.settimeout(patient(LIMIT))

    def passes(self) -> None:
        for one, other in ((self.near, self.far), (self.far, self.near)):
            one.sendall(b"passes")
            assert other.recv(100) == b"passes"

    def close(self) -> None:
        self.near.close()
        self.far.close()
