"""A cluster as `jitc doctor` and `jitc cluster show` see it: an etcd, nodes that stand in it, and services that answer.

Called by: tests of those commands. Promises: certificates, TLS and etcd are real, and a node is no more than the server
of its service (which is its bridge as well); an entry has a lease, as a service's, but nothing renews it.
"""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import pytest
from toolkit.etcd import Etcd
from toolkit.waiting import patient

from jitc.proxy.cluster.nodes import NodeRecord
from jitc.proxy.cluster.peers import link
from jitc.proxy.cluster.peers.certificates import Authority
from jitc.proxy.cluster.peers.contract import versions
from jitc.proxy.cluster.peers.credentials import Credentials
from jitc.proxy.cluster.peers.server import PeerServer, PeerService
from jitc.proxy.cluster.store.engines.etcd import calls
from jitc.proxy.commands.cluster import nodes, store
from jitc.v1 import peer_pb2

#: Seconds: longer than any test.
LEASE = 3600
#: Times for an answer.
_LIMITS = (
    (calls, "CALL_SECONDS"), (store, "SECONDS"), (nodes, "SECONDS"), (nodes, "CALL_SECONDS"), (link, "SHOW_SECONDS"),
    (link, "HELLO_SECONDS"),
)  # fmt: skip


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives a busy machine more time for each answer."""
    for module, name in _LIMITS:
        monkeypatch.setattr(module, name, patient(getattr(module, name)))


def numbers() -> dict[str, int]:
    """The versions of this installation, as an entry has them."""
    return {one.name: value for one, value in versions().ListFields()}


def record(number: int, peer: str, bridge: str = "", certificate: str = "ab" * 32, **other: int) -> NodeRecord:
    return NodeRecord(number, peer, bridge or f"{peer}0", certificate, numbers() | other)


class Answering:
    """A node whose service answers."""

    def __init__(self, folder: Path, cluster: SeenCluster) -> None:
        self.folder = folder
        self.credentials = Credentials(folder)
        self.name = self.credentials.identity.node
        service = PeerService(lambda node, request: peer_pb2.BeatReply())
        self.service = PeerServer("127.0.0.1:0", self.credentials, cluster.known.get, service.add)
        self.bridge = PeerServer("127.0.0.1:0", self.credentials, cluster.known.get, service.add)
        self.address, self.bridge_address = (f"127.0.0.1:{one.port}" for one in (self.service, self.bridge))

    def close(self) -> None:
        self.service.stop()
        self.bridge.stop()


class SeenCluster:
    """The cluster. known: the certificates of nodes, as services know them from the store."""

    def __init__(self, folder: Path, etcd: Etcd) -> None:
        self.authority = Authority(folder / "ca")
        self.authority.create()
        self.folder, self.etcd = folder, etcd
        self.known: dict[str, str] = {}
        self.nodes: list[Answering] = []
        self._lease = etcd.members[0].call("/v3/lease/grant", {"TTL": LEASE})["ID"]

    def certificate(self, name: str) -> Path:
        """A node's folder, as it is on the node."""
        place = self.folder / "nodes" / name
        shutil.copytree(self.authority.add(name), place)
        return place

    def node(self, name: str) -> Answering:
        """A node whose service answers, and stands in the store."""
        made = Answering(self.certificate(name), self)
        self.nodes.append(made)
        self.known[name] = made.credentials.identity.hash
        self.enter(name, record(len(self.nodes), made.address, made.bridge_address, self.known[name]))
        return made

    def enter(self, name: str, entry: NodeRecord | bytes, lease: bool = True) -> None:
        """Puts an entry of a node, or anything, in place of the one that there is."""
        value = entry if isinstance(entry, bytes) else entry.encoded()
        key, text = (base64.b64encode(one).decode() for one in (f"jitc/nodes/{name}".encode(), value))
        body = {"key": key, "value": text, "lease": self._lease if lease else 0}
        self.etcd.members[0].call("/v3/kv/put", body)

    def words(self, name: str, address: str = "127.0.0.1:7431") -> dict[str, str]:
        """The settings of a node, by name."""
        return {
            "cluster": f"etcd://{self.etcd.endpoints}", "node": name, "peer-address": address,
            "peer-certificates": str(self.folder / "nodes" / name),
        }  # fmt: skip

    def close(self) -> None:
        for one in self.nodes:
            one.close()
        key, end = (base64.b64encode(one).decode() for one in (b"jitc/", b"jitc0"))
        self.etcd.members[0].call("/v3/kv/deleterange", {"key": key, "range_end": end})
