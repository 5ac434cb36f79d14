"""Python's part of bridges in the test's process: TLS, sockets and streams are real, the data path is scripted.

Called by: tests of streams and of control calls. Promise: a node that has been closed leaves no thread of its streams.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from toolkit.waiting import patient, until

from jitc.proxy.bridge.control import Control
from jitc.proxy.bridge.outgoing import Outgoing, Peer
from jitc.proxy.cluster.peers.certificates import Authority
from jitc.proxy.cluster.peers.credentials import Credentials
from jitc.proxy.cluster.peers.link import Target, open_channel
from jitc.proxy.cluster.peers.server import PeerServer
from jitc.proxy.common import rpc
from jitc.v1 import bridge_pb2

SECONDS = 30.0
#: Of the server of a bridge, of which each stream takes one.
THREADS = 16


class ScriptedMirror:
    """The data path (`Mirror`). errors: what its calls raise from now on, by name."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[int, list[bytes]] = {}
        self.collected: list[bytes] = []
        self.applied: list[tuple[int, bytes]] = []
        self.cuts: list[tuple[int, str]] = []
        self.calls: list[tuple[str, Any]] = []
        self.errors: dict[str, Exception] = {}
        self.asked = 0  # how often frames were asked for

    def publish(self, peer: int, *frames: bytes) -> None:
        with self._changed:
            self._waiting.setdefault(peer, []).extend(frames)
            self._changed.notify_all()

    def collect(self, peer: int, milliseconds: int) -> bytes:
        with self._changed:
            self.asked += 1
            self._fail("collect")
            self._changed.wait_for(lambda: self._waiting.get(peer) or "collect" in self.errors, milliseconds / 1000)
            self._fail("collect")
            if not self._waiting.get(peer):
                return b""
            self.collected.append(self._waiting[peer].pop(0))
            return self.collected[-1]

    def apply(self, peer: int, frames: bytes) -> None:
        self._fail("apply")
        self.applied.append((peer, frames))

    def cut(self, peer: int, why: str) -> None:
        self.cuts.append((peer, why))
        self._fail("cut")

    def link(self, description: dict[str, Any]) -> None:
        self._called("link", description)

    def unlink(self, link: int) -> None:
        self._called("unlink", link)

    def show(self, slots: dict[str, Any]) -> None:
        self._called("show", slots)

    def counters(self) -> dict[str, Any]:
        self._called("counters", None)
        return {"links": 3}

    def _called(self, name: str, argument: Any) -> None:
        self._fail(name)
        self.calls.append((name, argument))

    def _fail(self, name: str) -> None:
        if (error := self.errors.get(name)) is not None:
            raise error


class Node:
    """A node's bridge."""

    def __init__(self, number: int, certificates: Path, take: Any = lambda identity: os.dup(0)) -> None:
        self.number, self.name = number, f"n{number}"
        self.credentials = Credentials(certificates, self.name)
        self.mirror = ScriptedMirror()
        self.control = Control(self.mirror, "software", take, self._connect)
        self.opened: list[Outgoing] = []
        self.channels: list[grpc.Channel] = []  # of a test's own, closed with the node
        self._server: PeerServer | None = None
        self.address = "127.0.0.1:0"
        self.serve()

    def serve(self) -> None:
        """Begins to serve, at the address of before."""
        added = lambda server: rpc.add_frames(self.control.incoming, server)  # noqa: E731
        self._server = PeerServer(self.address, self.credentials, self.control.known, added, threads=THREADS)
        self.address = f"127.0.0.1:{self._server.port}"

    def vanish(self) -> None:
        """Ends all streams to this node at once, as the end of its process does."""
        if self._server is not None:
            self._server._server.stop(0).wait(patient(SECONDS))
            self._server._pool.shutdown()
            self._server = None

    def peer(self, **changes: Any) -> bridge_pb2.BridgePeer:
        """What others are told of this node."""
        known = {"number": self.number, "node": self.name, "address": self.address}
        return bridge_pb2.BridgePeer(**{**known, "certificate": self.credentials.identity.hash, **changes})

    def meets(self, *others: Node | bridge_pb2.BridgePeer) -> None:
        """Has jobs in common with these from now on, and with no others."""
        peers = [one.peer() if isinstance(one, Node) else one for one in others]
        self.control.SetPeers(bridge_pb2.SetPeersRequest(peers=peers), None)

    def traffic(self, other: Node) -> Any:
        reply = self.control.Traffic(bridge_pb2.TrafficRequest(), None)
        return next((one for one in reply.peers if one.number == other.number), bridge_pb2.PeerTraffic())

    def wait_connected(self, *others: Node) -> None:
        def both() -> bool:
            return all((seen := self.traffic(one)).sends and seen.receives for one in others)

        until(both, SECONDS, f"{self.name} is connected")

    def wait_applied(self, *frames: bytes) -> None:
        until(lambda: len(self.mirror.applied) >= len(frames), SECONDS, f"{len(frames)} batches have come")
        assert [one for _, one in self.mirror.applied] == list(frames)

    def wait_cut(self, count: int = 1) -> None:
        until(lambda: len(self.mirror.cuts) >= count, SECONDS, f"{self.name} has cut {count} times")

    def stream(self, other: Node) -> Outgoing:
        """The newest to this node."""
        return next(one for one in reversed(self.opened) if one.peer.number == other.number)

    def close(self) -> None:
        for one in self.channels:
            one.close()
        self.control.close()
        self.vanish()

    def _connect(self, peer: Peer) -> Outgoing:
        def opened(one: Peer) -> grpc.Channel:
            return open_channel(Target(one.node, one.address, one.certificate), self.credentials)

        self.opened.append(Outgoing(peer, self.name, self.mirror, opened))
        return self.opened[-1]


class Town:
    """Nodes of a cluster, each with a certificate."""

    def __init__(self, folder: Path, count: int) -> None:
        self.authority = Authority(folder / "cluster")
        self.authority.create()
        self.nodes = [Node(number, self.authority.add(f"n{number}")) for number in range(1, count + 1)]

    def connect(self) -> list[Node]:
        """All have jobs in common with all."""
        for one in self.nodes:
            one.meets(*(other for other in self.nodes if other is not one))
        for one in self.nodes:
            one.wait_connected(*(other for other in self.nodes if other is not one))
        return self.nodes


@contextmanager
def town(folder: Path, count: int = 2) -> Iterator[Town]:
    made = Town(folder, count)
    try:
        yield made
    finally:
        with ThreadPoolExecutor() as together:
            list(together.map(Node.close, made.nodes))
        streams = [one for node in made.nodes for one in node.opened]
        assert not [one.peer.node for one in streams if one._thread.is_alive()], "threads are left"
