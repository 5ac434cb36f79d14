"""The engine for etcd over three members, of which one is killed, stopped, or cut off from the others."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from engine_rig import LIMIT, Seen, come_back, etcd_engine, put, texts, threads
from toolkit.etcd import Etcd, Member, etcd, why_not
from toolkit.nodes import NamespaceNodes
from toolkit.nodes import why_not as why_no_namespaces
from toolkit.nodes.node import Address, Node
from toolkit.waiting import until

from jitc.proxy.cluster.store.engine import Change, Held, Leading, Lost, NotLeading, State, StoreError, Taken, Unknown
from jitc.proxy.cluster.store.engines.etcd.watch import STREAM_SECONDS

#: Longer than etcd needs for an election: nothing is lost meanwhile.
LEASE = 60.0
LATE = Change("late", 0, b"")

pytestmark = pytest.mark.slow


class Door:
    """A listener of the test's, whose connections go on from inside a node's network."""

    def __init__(self, node: Node, target: Address) -> None:
        self._node, self._target = node, target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "{}:{}".format(*self._listener.getsockname())
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._serve, name="door")]
        self._threads[0].start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._open.append(near)
                self._threads.append(threading.Thread(target=self._relay, args=(near,), name="door"))
                self._threads[-1].start()

    def _relay(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError), self._node.connect(self._target) as far:
            self._open.append(far)
            others = {near: far, far: near}
            while True:
                for one in select.select([near, far], [], [])[0]:
                    if not (data := one.recv(1 << 16)):
                        return
                    others[one].sendall(data)

    def close(self) -> None:
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()


class Trio:
    """Three members, and an engine that has registered, leads and watches."""

    def __init__(self, cluster: Etcd, addresses: list[str]) -> None:
        self.cluster, self.addresses = cluster, addresses
        self.engine = etcd_engine(",".join(addresses), lease_seconds=LEASE)
        self.other = etcd_engine(",".join(reversed(addresses)), lease_seconds=LEASE)
        self.seen, self.led, self.states = (
            Seen[Held | Lost | Taken](),
            Seen[Leading | NotLeading](),
            Seen[State](),
        )
        self.registration = self.engine.register("nodes/n0", b"here", self.seen)
        self.seen.next(Held)
        self.campaign = self.engine.lead("jobs/1/leader", b"n0", self.registration, self.led)
        self.led.next(Leading)
        self.engine.watch("jobs/", self.states)
        self.states.next(State)
        self._number = 0

    def go_on(self) -> None:
        """A write is made, and seen in the watch, whatever member each of them was with."""
        self._number += 1
        until(self._written, LIMIT, "a write is made")
        self.states.until(lambda state: texts(state).get("jobs/1") == str(self._number), "it is seen")

    def _written(self) -> bool:
        with contextlib.suppress(StoreError, AssertionError):
            put(self.other, "jobs/1", str(self._number))
            return True
        return False

    def check(self) -> None:
        """Nothing was lost."""
        assert [type(one) for one in self.seen.all] == [Held] and [type(one) for one in self.led.all] == [Leading]
        assert self.registration.holds and self.campaign.leads

    def close(self) -> None:
        self.engine.close()
        self.other.close()
        until(lambda: not threads(), LIMIT, f"their threads have ended: {threads()}")


@pytest.fixture(autouse=True)
def _there_is_etcd() -> None:
    if reason := why_not():
        pytest.skip(reason)


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[Trio]:
    with etcd(tmp_path, 3) as cluster:
        one = Trio(cluster, cluster.endpoints.split(","))
        yield one
        one.close()


Fault = Callable[[Etcd, Member], None]


@pytest.mark.parametrize(("fault", "end"), [(Etcd.kill, Etcd.start), (Etcd.stop, Etcd.cont)], ids=["killed", "stopped"])
def test_each_member_is_lost_in_turn(trio: Trio, fault: Fault, end: Fault) -> None:
    trio.go_on()
    for member in trio.cluster.members:
        fault(trio.cluster, member)
        trio.go_on()
        end(trio.cluster, member)
        until(member.healthy, LIMIT, "it is there again")
        trio.go_on()
    trio.check()


@pytest.mark.parametrize(("fault", "end"), [(Etcd.kill, Etcd.start), (Etcd.stop, Etcd.cont)], ids=["killed", "stopped"])
def test_the_leader_is_lost_again_and_again(trio: Trio, fault: Fault, end: Fault) -> None:
    for _ in range(3):
        leader = trio.cluster.leader()
        fault(trio.cluster, leader)
        trio.go_on()
        end(trio.cluster, leader)
        until(leader.healthy, LIMIT, "it is there again")
    trio.check()


def test_no_write_is_made_while_most_members_are_gone(trio: Trio) -> None:
    first, second, _ = trio.cluster.members
    for one in (first, second):
        trio.cluster.kill(one)
    with pytest.raises(StoreError, match=r"the store does not answer: .*; .*; "):
        trio.other.get("jobs/1")
    assert isinstance(trio.other.compare_and_swap([LATE]), Unknown)
    trio.cluster.start(first, second)
    trio.go_on()
    trio.check()


def test_a_watch_without_any_call_leaves_a_member_that_is_stopped(trio: Trio) -> None:
    first, *_ = trio.cluster.members
    others = ",".join(one for one in trio.addresses if one != trio.addresses[0])
    with (
        contextlib.closing(etcd_engine(",".join(trio.addresses))) as watching,
        contextlib.closing(etcd_engine(others)) as writing,
    ):
        states = Seen[State]()
        watching.watch("jobs/", states)
        states.next(State)
        trio.cluster.stop(first)
        come_back(lambda: put(writing, "jobs/2", "after"))
        until(lambda: any("jobs/2" in one.entries for one in states.all), STREAM_SECONDS / 2, "it is seen")
        trio.cluster.cont(first)


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[tuple[NamespaceNodes, Trio]]:
    """Three members in nodes, and the engine beyond a fourth one."""
    if reason := why_no_namespaces():
        pytest.skip(reason)
    with contextlib.ExitStack() as ending:
        nodes = ending.enter_context(NamespaceNodes(4))
        cluster = ending.enter_context(etcd(tmp_path, 3, [nodes[number] for number in range(3)]))
        doors = [Door(nodes[3], one.client) for one in cluster.members]
        for one in doors:
            ending.callback(one.close)
        trio = Trio(cluster, [one.address for one in doors])
        ending.callback(trio.close)
        yield nodes, trio


def test_the_leader_is_cut_off_from_everybody(apart: tuple[NamespaceNodes, Trio]) -> None:
    nodes, trio = apart
    trio.go_on()
    for _ in range(2):
        leader = trio.cluster.leader()
        nodes.cut(leader.node.number)
        trio.go_on()
        nodes.heal(leader.node.number)
        until(leader.healthy, LIMIT, "it is there again")
        trio.go_on()
    trio.check()


def test_the_leader_is_cut_off_from_the_others_alone(apart: tuple[NamespaceNodes, Trio]) -> None:
    """It takes connections, and would answer from what it had."""
    nodes, trio = apart
    trio.go_on()
    leader = trio.cluster.leader()
    for other in trio.cluster.members:
        if other is not leader:
            nodes.cut(leader.node.number, other.node.number)
    trio.go_on()
    assert leader.get("jitc/jobs/1", serializable=True) == "1", "it does not know better"
    assert trio.other.get("jobs/1") == trio.engine.get("jobs/1")
    with contextlib.closing(etcd_engine(trio.addresses[trio.cluster.members.index(leader)])) as alone:
        with pytest.raises(StoreError):
            alone.get("jobs/1")
        assert isinstance(alone.compare_and_swap([LATE]), Unknown)
    nodes.heal(leader.node.number)
    until(leader.healthy, LIMIT, "it is there again")
    trio.go_on()
    trio.check()
    assert trio.engine.get("late") is None
