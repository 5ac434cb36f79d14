"""Services of several nodes in the test's process: a CA, certificates, servers and links; the store is a dictionary.

TLS and sockets are real. What a service does with beats is the test's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from toolkit.waiting import patient, until

from jitc.proxy.cluster.peers import contract, der
from jitc.proxy.cluster.peers.admission import Known
from jitc.proxy.cluster.peers.certificates import Authority
from jitc.proxy.cluster.peers.client import Peers
from jitc.proxy.cluster.peers.credentials import Credentials
from jitc.proxy.cluster.peers.identity import Identity
from jitc.proxy.cluster.peers.link import PeerError
from jitc.proxy.cluster.peers.server import HANDSHAKE_MS, PeerServer, PeerService
from jitc.proxy.common.rpc import status_of
from jitc.v1 import peer_pb2

#: For a call that is answered at once, on a busy machine.
CALL_SECONDS = 30.0
DAY = 86400.0


class Shown(Credentials):
    """Credentials that have not been checked."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self._now: Callable[[], float] = lambda: identity.begins

    def look(self) -> bool:
        return False


class Town:
    """A CA with its folder, and what the store has: node -> address and hash."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self.authority = Authority(folder / "cluster", now)
        self.authority.create()
        self.folder = folder
        self.store: dict[str, str] = {}
        self.nodes: list[Node] = []

    def certificate(self, name: str) -> Path:
        """A new node's folder, as it is on the node."""
        place = self.folder / "nodes" / name
        shutil.copytree(self.authority.add(name), place)
        return place

    def renew(self, name: str) -> None:
        """Other files in the node's folder, one after the other."""
        made = self.authority.renew(name)
        for one in made.iterdir():
            copy = self.folder / "nodes" / name / f".{one.name}"
            shutil.copy2(one, copy)
            copy.rename(self.folder / "nodes" / name / one.name)

    def credentials(self, name: str, days: float = 0.0) -> Credentials:
        """Credentials of a new node, made when the clock was so many days ahead; unchecked if that is not now."""
        if not days:
            return Credentials(self.certificate(name), name)
        other = Authority(self.authority.folder, lambda: time.time() + days * DAY)
        place = other.add(name)
        return Shown(read_shown(place))

    def misnamed(self, name: str, other: str) -> Path:
        """A certificate that has one node's name, and is valid for another one's."""
        place = self.authority.add(name)
        ca, signer = self.authority._load()
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        made = self.authority._builder(subject, ca.subject, key, time.time() + DAY)
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(f"{other}.jitc")]), critical=False)
        pem = made.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        plain = serialization.NoEncryption()
        (place / "node.pem").write_bytes(pem)
        (place / "node.key").write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        )
        return place

    def node(self, name: str, credentials: Credentials | None = None, **options: Any) -> Node:
        made = Node(self, credentials or self.credentials(name), **options)
        self.nodes.append(made)
        return made

    def close(self) -> None:
        for one in self.nodes:
            one.close()


def read_shown(place: Path) -> Identity:
    """The identity in a folder, also one that is not valid."""
    own = der.from_pem((place / "node.pem").read_bytes())
    authority, key = (place / "ca.pem").read_bytes(), (place / "node.key").read_bytes()
    return Identity(own.name, own.hash, own.begins, own.ends, authority, own.pem, key)


class Node:
    """A node's server and its links. Beats are answered by `beat`."""

    def __init__(
        self, town: Town, credentials: Credentials, handshake_ms: int = HANDSHAKE_MS, known: Known | None = None
    ) -> None:
        self.town, self.credentials, self.name = town, credentials, credentials.identity.node
        self.called: list[str] = []  # by whom
        self.beat: Callable[[peer_pb2.BeatRequest], peer_pb2.BeatReply] = lambda _: peer_pb2.BeatReply(promise_ms=7)
        self._handshake_ms, self._known = handshake_ms, known or town.store.get
        self.server = self._serve("127.0.0.1:0")
        town.store[self.name] = credentials.identity.hash
        self.peers = Peers(credentials, self._renewed)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    def _serve(self, address: str) -> PeerServer:
        return PeerServer(
            address, self.credentials, self._known, PeerService(self._answer).add, handshake_ms=self._handshake_ms
        )

    def _answer(self, node: str, request: peer_pb2.BeatRequest) -> peer_pb2.BeatReply:
        self.called.append(node)
        return self.beat(request)

    def _renewed(self, hash: str) -> None:
        self.town.store[self.name] = hash

    def begin_anew(self) -> None:
        """Another server, at the address of the one before."""
        self.server.stop()
        self.server = self._serve(self.address)

    def link(self, other: Node, hash: str | None = None, address: str | None = None, name: str | None = None) -> None:
        self.peers.link(name or other.name, address or other.address, hash or self.town.store[other.name])

    def ask(self, node: str, request: Any = None, method: str = "Beat", seconds: float = CALL_SECONDS) -> Future[Any]:
        return self.peers.ask(node, method, request or peer_pb2.BeatRequest(), patient(seconds))

    def close(self) -> None:
        self.peers.close()
        self.server.stop()


class Gate:
    """A beat that is answered when the test says so."""

    def __init__(self) -> None:
        self.entered, self.open = threading.Event(), threading.Event()

    def beat(self, _: peer_pb2.BeatRequest) -> peer_pb2.BeatReply:
        self.entered.set()
        assert self.open.wait(patient(60))
        return peer_pb2.BeatReply(promise_ms=11)


def outcome(answer: Future[Any]) -> Any:
    """The reply, or code and text of the error."""
    try:
        return answer.result(patient(CALL_SECONDS) + 10)
    except PeerError as error:
        return status_of(error)


def raw_channel(node: Node, identity: Identity | None, **options: Any) -> grpc.Channel:
    """A channel as a stranger may have it; identity: what it shows."""
    shown = (identity.key, identity.certificate) if identity else (None, None)
    credentials = grpc.ssl_channel_credentials(node.credentials.identity.authority, *shown)
    target = ("grpc.ssl_target_name_override", f"{node.name}.jitc")
    limit = ("grpc.max_send_message_length", 64 << 20)
    return grpc.secure_channel(node.address, credentials, options=[target, limit, *options.items()])


def raw_call(node: Node, identity: Identity | None, data: bytes, metadata: Any = (), method: str = "Beat") -> Any:
    """The bytes of the answer to these bytes, or code and text."""
    with raw_channel(node, identity) as channel:
        call = channel.unary_unary(f"/jitc.v1.Peer/{method}")
        try:
            return call(data, timeout=patient(CALL_SECONDS), metadata=metadata)
        except grpc.RpcError as error:
            return status_of(error)


def caller(name: str, **versions: int) -> tuple[tuple[str, bytes], ...]:
    """The metadata of a call, with other versions than this installation's."""
    own = contract.versions()
    for key, value in versions.items():
        setattr(own, key, value)
    return ((contract.CALLER, peer_pb2.Caller(node=name, versions=own).SerializeToString()),)


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith(("jitc-link", "jitc-peer", "jitc-beats"))]


def expect_no_threads() -> None:
    until(lambda: not threads(), 30, f"no thread is left of {threads()}")


def user_timeouts(port: int) -> list[int]:
    """TCP_USER_TIMEOUT, in ms, of both ends of the connections to this port."""
    found = []
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(entry))) as one:
            if one.family in (socket.AF_INET, socket.AF_INET6) and port in (one.getsockname()[1], one.getpeername()[1]):
                found.append(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))
    return found
