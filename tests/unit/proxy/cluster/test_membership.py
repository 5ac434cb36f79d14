"""A service that is a node of a cluster, or cannot be one: what it says, what it does then, and what it leaves behind.

Service, keeper, TLS and sockets are real; workers and the bridge are small programs, and the store is a dictionary.
"""

from __future__ import annotations

import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from standin_client import Client, config
from toolkit.waiting import until

from jitc.proxy.cluster import keys, member, membership, nodes, numbers
from jitc.proxy.cluster.nodes import CannotJoin, NodeRecord
from jitc.proxy.cluster.peers.certificates import Authority
from jitc.proxy.cluster.store import opening
from jitc.proxy.cluster.store.clock import BootClock
from jitc.proxy.cluster.store.engine import Change
from jitc.proxy.cluster.store.engines.local import Dictionary, LocalEngine
from jitc.proxy.common.config import ClusterOptions
from jitc.proxy.service import Service

SECONDS = 30.0
STANDIN = [sys.executable, str(Path(__file__).with_name("standin_bridge.py")), "serves"]


class Town:
    """A store, a CA, and services of node n1, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.store = Dictionary(BootClock())
        self.folder, self.place = folder, folder / "peer"
        self.authority = Authority(folder / "cluster")
        self.authority.create()
        self.services: list[Service] = []

    def certify(self, name: str = "n1", days: float = 0.0) -> None:
        """Gives the node a certificate; days: since when it is to have one."""
        shutil.rmtree(self.place, ignore_errors=True)
        signer = Authority(self.authority.folder, lambda: time.time() - days * 86400)
        there = signer.node_folder(name).exists()
        shutil.copytree(signer.renew(name) if there else signer.add(name), self.place)

    def options(self, **changes: Any) -> ClusterOptions:
        known = {"peer_address": "127.0.0.1:0", "bridge_address": "127.0.0.1:0", "certificates": str(self.place)}
        return ClusterOptions(**{**known, "store": "etcd://h:2379", "node": "n1", **changes})

    def service(self, **changes: Any) -> Service:
        made = Service(config(self.folder, gpus=1, cluster=self.options(**changes)))
        self.services.append(made)
        return made

    def nodes(self) -> list[str]:
        return sorted(one.removeprefix(keys.NODES) for one in self.store.state(keys.NODES).entries)

    def take_name(self) -> LocalEngine:
        """Has another service have it. Returns the service's engine."""
        other = LocalEngine(self.store)
        record = NodeRecord(7, "10.0.0.9:7431", "10.0.0.9:7432", "ab" * 32)
        other.register(f"{keys.NODES}n1", record.encoded(), lambda event: None)
        until(lambda: self.nodes() == ["n1"], SECONDS, "the name is taken")
        return other


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    one = Town(tmp_path)
    monkeypatch.setattr(opening, "open_engine", lambda *_: LocalEngine(one.store))
    monkeypatch.setattr(member, "bridge_command", lambda *_: STANDIN)
    monkeypatch.setattr(nodes, "BEGIN_SECONDS", 1.0)
    monkeypatch.setattr(membership, "RETRY_SECONDS", 0.1)
    yield one
    for service in one.services[-1:]:
        service.stop()
    assert not (tmp_path / "s.d").exists() and not (tmp_path / "s").exists()


def refused(service: Service) -> str:
    with pytest.raises(CannotJoin) as error:
        service.start()
    return str(error.value)


def test_without_a_cluster_there_is_nothing_of_it(tmp_path: Path) -> None:
    service = Service(config(tmp_path, gpus=1))
    try:
        service.start()
        one = service._membership
        assert (one._engine, one._member, one._thread.ident, one.config.node_number) == (None, None, None, 0)
    finally:
        service.stop()


def test_a_node_is_in_the_store_while_its_service_runs(town: Town) -> None:
    town.certify()
    service = town.service()
    assert service.config.node_number == 1
    service.start()
    assert town.nodes() == ["n1"]
    joined = service._membership._member
    assert joined is not None
    until(lambda: joined.bridge.pid or None, SECONDS, "its bridge has begun")
    service.stop()
    town.services.clear()
    assert not town.nodes() and town.store.entry(f"{keys.NUMBERS}n1")


def test_a_store_that_is_not_there(
    town: Town, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Dead(LocalEngine):
        def get(self, key: str) -> Any:
            raise nodes.StoreError("nothing answers at h:2379")

    monkeypatch.setattr(opening, "open_engine", lambda *_: Dead(town.store))
    monkeypatch.setattr(numbers, "BEGIN_SECONDS", 0.1)
    with pytest.raises(CannotJoin, match="cannot join its cluster: nothing answers at h:2379"):
        town.service()
    assert capfd.readouterr().err.count("node n1 waits up to 0 s for the cluster's store") == 1


def test_a_number_that_is_none(town: Town) -> None:
    town.store.swap([Change(f"{keys.NUMBERS}n1", 0, b"x")])
    with pytest.raises(CannotJoin, match=f"{keys.NUMBERS}n1 in the store is no number"):
        town.service()


@pytest.mark.parametrize(
    ("name", "days", "says"),
    [
        ("", 0, "peer is missing, which has the certificate"),
        ("n2", 0, "is of node n2, and this is node n1"),
        ("n1", 200, "expired"),
    ],
)
def test_a_certificate_that_is_none(name: str, days: float, says: str, town: Town) -> None:
    if name:
        town.certify(name, days)
    assert says in refused(town.service()) and not town.nodes()


def test_an_address_that_is_in_use(town: Town) -> None:
    town.certify()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        text = refused(town.service(peer_address=f"127.0.0.1:{taken.getsockname()[1]}"))
    assert "cannot listen at 127.0.0.1" in text and "--peer-address" in text and not town.nodes()


def test_a_name_that_is_taken(town: Town) -> None:
    town.certify()
    other = town.take_name()
    text = refused(town.service())
    assert "has a node n1 already, at 10.0.0.9:7431" in text and "--node" in text
    other.close()


def test_the_next_service_goes_on_with_bridge_number_and_lease(town: Town) -> None:
    town.certify()
    service = town.service()
    service.start()
    first = service._membership._member
    assert first is not None
    pid, lease = until(lambda: first.bridge.pid or None, SECONDS, "its bridge"), first.nodes.registration.lease
    client = Client(service)
    assert client.reply.token
    service.leave()
    after = town.service()
    after.start()
    second = after._membership._member
    assert second is not None and after.config.node_number == 1 and second.nodes.registration.lease == lease
    until(lambda: second.bridge.pid == pid or None, SECONDS, "it is the same bridge")
    client.close()


@pytest.mark.parametrize("trouble", ["certificate", "name"])
def test_a_service_with_sessions_goes_on_and_tries_again(
    trouble: str, town: Town, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    town.certify()
    service = town.service()
    service.start()
    client = Client(service)
    service.leave()
    other: LocalEngine | None = None
    if trouble == "certificate":
        shutil.rmtree(town.place)
    else:
        for key, entry in town.store.state(keys.NODES).entries.items():
            town.store.revoke(entry.lease)
            assert key == f"{keys.NODES}n1"
        monkeypatch.setattr(nodes, "BEGIN_SECONDS", 0.2)
        other = town.take_name()
    after = town.service()
    after.start()
    assert after._membership._member is None and len(after.registry.sessions) == 1
    assert "node n1 is not in its cluster: " in capfd.readouterr().err
    if other is None:
        town.certify()
    else:
        for entry in town.store.state(keys.NODES).entries.values():
            town.store.revoke(entry.lease)
        other.close()
    until(lambda: after._membership._member, SECONDS, "it has joined")
    joined = after._membership._member
    assert joined is not None
    until(lambda: (joined.nodes.registered and town.nodes() == ["n1"]) or None, SECONDS, "it is in the store")
    client.close()


def test_a_service_with_sessions_that_finds_another_store(
    town: Town, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes nothing there, goes on with its sessions, and says so once; the next one with the right store joins."""
    town.certify()
    service = town.service()
    service.start()
    client = Client(service)
    service.leave()
    other = Dictionary(BootClock())
    with monkeypatch.context() as wrong:
        wrong.setattr(opening, "open_engine", lambda *_: LocalEngine(other))
        after = town.service(store="etcd://wrong:2379")
        after.start()
    said = capfd.readouterr().err
    assert "the store at etcd://wrong:2379 is not the one in which the jobs of this service began" in said
    tries = member.Lasting.begin
    counted: list[bool] = []
    monkeypatch.setattr(member.Lasting, "begin", lambda one, has_jobs: (counted.append(has_jobs), tries(one, has_jobs)))
    until(lambda: len(counted) >= 2, SECONDS, "it tries again")
    assert after._membership._member is None and len(after.registry.sessions) == 1 and not other.state("").entries
    assert "is not in its cluster" not in capfd.readouterr().err
    after.leave()
    last = town.service()
    last.start()
    assert last._membership._member is not None and len(last.registry.sessions) == 1 and town.nodes() == ["n1"]
    client.close()


def test_a_service_that_ends_while_it_tries(town: Town) -> None:
    town.certify()
    service = town.service()
    service.start()
    client = Client(service)
    service.leave()
    shutil.rmtree(town.place)
    after = town.service()
    after.start()
    client.close()
    after.stop()
    town.services.clear()
    assert not after._membership._thread.is_alive()


def test_another_service_without_the_cluster_ends_the_bridge(town: Town) -> None:
    town.certify()
    service = town.service()
    service.start()
    first = service._membership._member
    assert first is not None
    until(lambda: first.bridge.pid or None, SECONDS, "its bridge")
    service.leave()
    after = Service(config(town.folder, gpus=1))
    town.services.append(after)
    after.start()
    assert not [one for one in (town.folder / "s.d").iterdir() if one.name == "b1"]
