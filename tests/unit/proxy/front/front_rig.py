"""A relay with one private socket behind it, and both ends of its connections; nothing may be left of them."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolkit.waiting import patient

from jitc.proxy.front.relay import Relay
from jitc.proxy.keeper.peer import Peer


class Accepting(socket.socket):
    """A listener that counts how often it was asked for a connection."""

    asked = 0

    def accept(self) -> tuple[socket.socket, Any]:
        self.asked += 1
        return super().accept()


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("jitc-relay")]


class Front:
    """A relay, and one private socket behind it."""

    def __init__(self, folder: Path) -> None:
        self.public, self.private = str(folder / "s"), str(folder / "private")
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.server.bind(self.private)
        self.server.listen(2048)
        self.server.settimeout(patient(20))
        self.listener = Accepting(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.public)
        self.listener.listen(2048)
        self.peers: list[Peer] = []
        self.route: Callable[[Peer], str | None] = lambda peer: self.private
        self.relay: Relay | None = None
        self.ends: list[socket.socket] = []

    def start(self) -> None:
        def routed(peer: Peer) -> str | None:
            self.peers.append(peer)
            return self.route(peer)

        self.relay = Relay(self.listener, routed)
        self.relay.start()

    def connect(self) -> socket.socket:
        one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.ends.append(one)
        one.settimeout(patient(20))
        one.connect(self.public)
        return one

    def accept(self) -> socket.socket:
        one, _ = self.server.accept()
        self.ends.append(one)
        one.settimeout(patient(20))
        return one

    def pair(self) -> tuple[socket.socket, socket.socket]:
        """Both ends of one connection through the relay."""
        one = self.connect()
        return one, self.accept()

    def stands(self) -> bool:
        """Whether bytes of a new connection arrive, and come back."""
        one, other = self.pair()
        with one, other:
            one.sendall(b"there")
            assert other.recv(100) == b"there"
            other.sendall(b"back")
            return one.recv(100) == b"back"

    def close(self) -> None:
        for one in (*self.ends, self.server):
            one.close()
        if self.relay is not None:
            self.relay.stop()
        self.listener.close()


def closed(one: socket.socket) -> bool:
    """Whether the other end is gone; what had not been read there comes as an error."""
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True


def everything(one: socket.socket) -> bytes:
    parts = []
    while part := one.recv(1 << 20):
        parts.append(part)
    return b"".join(parts)
