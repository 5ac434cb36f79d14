"""Two services with real keepers and worker processes, and mutual TLS between them: one leads, both are recovered.

The store is that of the rig; workers are stand-ins that count (standin.py), in processes of their own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nodes_rig import Store, View
from standin_client import Client, config, session_of, started, wait_until
from toolkit.waiting import until

from jitc.proxy.cluster.peers.certificates import Authority
from jitc.proxy.cluster.peers.client import Peers
from jitc.proxy.cluster.peers.credentials import Credentials
from jitc.proxy.cluster.peers.server import PeerServer, PeerService
from jitc.proxy.common.config import ClusterOptions, Config
from jitc.proxy.service import Service
from jitc.v1 import control_pb2, peer_pb2

pytestmark = pytest.mark.timeout(200)
SECONDS = 60.0


class NoMembership:
    """Stands for a service's membership: the test makes it a member."""

    def __init__(self, config: Config, log: Any) -> None:
        self.config = config

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


class Town:
    """A CA, what the store has of nodes, and the services."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, Store()
        self.authority = Authority(folder / "cluster")
        self.authority.create()
        self.hashes: dict[str, str] = {}
        self.addresses: dict[str, str] = {}
        self.peers: dict[str, Peers] = {}

    def credentials(self, name: str) -> Credentials:
        place = self.folder / "nodes" / name
        if not place.exists():
            shutil.copytree(self.authority.add(name), place)
        return Credentials(place, name)

    @contextlib.contextmanager
    def node(self, number: int) -> Iterator[Service]:
        name = f"n{number}"
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        own = ClusterOptions("local", name, "127.0.0.1:0", "127.0.0.1:0", str(folder))
        one = Service(replace(config(folder, gpus=1), cluster=own, node_number=number))
        with started(one), self.joined(one, name, number):
            yield one

    @contextlib.contextmanager
    def joined(self, service: Service, name: str, number: int) -> Iterator[None]:
        nodes = service.own.over_nodes
        assert nodes is not None and nodes.methods is not None
        credentials = self.credentials(name)
        answers = PeerService(lambda node, request: peer_pb2.BeatReply())
        nodes.methods.install(answers)
        server = PeerServer("127.0.0.1:0", credentials, self.hashes.get, answers.add)
        self.hashes[name], self.addresses[name] = credentials.identity.hash, f"127.0.0.1:{server.port}"
        self.peers[name] = Peers(credentials)
        self.link()
        view = View(self.store, name, number)
        nodes.joining.join(view, self.peers[name])
        try:
            yield
        finally:
            self.store.views.remove(view)
            self.peers[name].close()
            server.stop()

    def link(self) -> None:
        for name, one in self.peers.items():
            for other in self.peers.keys() - {name}:
                one.link(other, self.addresses[other], self.hashes[other])


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Town:
    monkeypatch.setattr("jitc.proxy.service.Membership", NoMembership)
    return Town(tmp_path)


def join(town: Town, clients: list[tuple[Service, Client]], leader: str) -> None:
    """The clients' sessions are one job."""
    town.store.leader = leader
    town.store.connect(*(session_of(service, client).number for service, client in clients))


def train(client: Client) -> None:
    client.send("add", value=5)
    client.send("boundary")
    client.send("add", value=3)


def kill(service: Service, client: Client) -> int:
    """kill -9 of the worker's process."""
    worker = session_of(service, client).worker
    assert worker is not None
    os.kill(worker.pid, signal.SIGKILL)
    return worker.pid


def recoveries(service: Service, count: int) -> list[dict[str, Any]]:
    wait_until(service, lambda: len(service.own.recoveries()) >= count)
    return service.own.recoveries()


def test_workers_of_either_node_are_lost(town: Town) -> None:
    with town.node(1) as first, town.node(2) as second:
        both = [(first, Client(first)), (second, Client(second))]
        join(town, both, "n1")
        for _, client in both:
            train(client)
            assert client.call("get")["value"] == 8
        for count, (service, client) in enumerate(both, 1):
            before = kill(service, client)
            for _, each in both:
                each.send("add", value=1)
            assert [each.call("get")["value"] for _, each in both] == [8 + count] * 2
            [*_, found] = recoveries(first, count)
            assert (found["cause"], found["outcome"], len(found["sessions"])) == ("worker-death", "recovered", 2), found
            worker = session_of(service, client).worker
            assert worker is not None and worker.pid != before
        assert second.own.recoveries() == [], "it leads nothing"
        numbers = [session_of(service, client).number for service, client in both]
        assert {session_of(service, client).epoch for service, client in both} == {2}
        assert [number >> 32 for number in numbers] == [1, 2]
        for _, client in both:
            client.close()


def test_a_fault_that_a_worker_reports_reaches_the_leader(town: Town) -> None:
    with town.node(1) as first, town.node(2) as second:
        both = [(first, Client(first)), (second, Client(second))]
        join(town, both, "n1")
        for _, client in both:
            train(client)
            assert client.call("get")["value"] == 8
        answer = both[1][1].call("fail", cause="device-assert")
        assert (answer["fault"], answer["message"]) == (700, "it failed")
        [found] = recoveries(first, 1)
        assert found["cause"] == "device-assert" and found["outcome"].startswith("the program's own error")
        assert both[0][1].call("get")["value"] == 8
        for _, client in both:
            client.close()


def test_an_injected_fault_on_the_other_node_is_armed_there_again(town: Town) -> None:
    """The worker that follows the lost one gets what had not fired."""
    with town.node(1) as first, town.node(2) as second:
        both = [(first, Client(first)), (second, Client(second))]
        join(town, both, "n1")
        for _, client in both:
            train(client)
            assert client.call("get")["value"] == 8
        fault = control_pb2.Fault(kind="sticky-error", operations=1)
        kill(second, both[1][1])
        both[1][1].admin.Inject(control_pb2.InjectRequest(gpu=0, fault=fault), timeout=30)
        both[1][1].send("add", value=1)
        assert both[1][1].call("get")["value"] == 9
        until(lambda: second.own.faults.documents() or None, SECONDS, "it has fired")

        def causes() -> set[str]:
            return {cause for one in first.own.recoveries() for cause in one["cause"].split(", ")}

        until(lambda: causes() == {"worker-death", "sticky-error"}, SECONDS, "both were recovered")
        for _, client in both:
            client.close()


def test_the_other_node_leads_from_now_on(town: Town) -> None:
    with town.node(1) as first, town.node(2) as second:
        both = [(first, Client(first)), (second, Client(second))]
        join(town, both, "n1")
        for _, client in both:
            train(client)
            assert client.call("get")["value"] == 8
        kill(*both[0])
        town.store.lead("n2")
        for _, client in both:
            client.send("add", value=1)
        assert [each.call("get")["value"] for _, each in both] == [9, 9]
        until(lambda: not first.own.coordinator._jobs, SECONDS, "the first one has let go")
        kill(*both[0])
        for _, client in both:
            client.send("add", value=1)
        assert [each.call("get")["value"] for _, each in both] == [10, 10]
        assert recoveries(second, 1)[-1]["outcome"] == "recovered"
        for _, client in both:
            client.close()
