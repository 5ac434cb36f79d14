"""A node's bridge as its service has it: begun by a real keeper, killed, left to the next service; a small program
stands for the bridge."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from standin_bridge import DEATH
from toolkit.waiting import until

from jitc.proxy.cluster import bridge_process as module
from jitc.proxy.cluster.bridge_process import BridgeProcess
from jitc.proxy.cluster.meetings import LinkError
from jitc.proxy.keeper.claim.socket_lock import SocketLock
from jitc.proxy.keeper.client import Keeper
from jitc.proxy.keeper.launch import open_keeper
from jitc.proxy.keeper.log import Log
from jitc.proxy.node import take_over
from jitc.v1 import bridge_pb2

SECONDS = 30.0
STANDIN = [sys.executable, str(Path(__file__).with_name("standin_bridge.py"))]


class Rig:
    """A keeper, and bridges of services that follow each other. events: what the newest service was told."""

    def __init__(self, folder: Path, ends: ExitStack) -> None:
        self.folder, self.log, self.ends = folder / "s.d", Log.make(), ends
        lock = SocketLock(str(folder / "s"), self.folder)
        self.keeper, _ = open_keeper(lock, {"keeper": 1}, False)
        ends.callback(lock.release)
        ends.callback(self.keeper.end)
        self.events: list[str] = []

    def bridge(self, how: str = "serves") -> BridgeProcess:
        self.events = events = []
        made = BridgeProcess(
            [*STANDIN, how], self.folder, self.keeper, self.log, begun=lambda: events.append("begun"),
            ended=lambda: events.append("ended"), environment=lambda: dict(os.environ),
        )  # fmt: skip
        self.ends.callback(made.stop)
        made.start()
        return made

    def serving(self, how: str = "serves") -> BridgeProcess:
        made = self.bridge(how)
        until(lambda: made.pid or None, SECONDS, "there is a bridge")
        return made

    def sockets(self) -> list[str]:
        return sorted(one.name for one in self.folder.iterdir() if one.name[0] == "b" and one.name[1:].isdigit())


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.05)
    with ExitStack() as ends:
        yield Rig(tmp_path, ends)
    assert not (tmp_path / "s.d").exists(), "a bridge has left something"


def answer(bridge: BridgeProcess) -> int:
    return int(bridge.call("Traffic", bridge_pb2.TrafficRequest()).json)


def test_one_begins_and_is_called(rig: Rig) -> None:
    bridge = rig.serving()
    assert answer(bridge) == bridge.pid and rig.sockets() == ["b1"]
    until(lambda: rig.events == ["ended", "begun"] or None, SECONDS, "it has begun, and none was there before")
    with pytest.raises(LinkError, match=r"bridge: no such link.{1,4}here"):
        bridge.call("Unlink", bridge_pb2.UnlinkRequest())
    assert rig.log.get(take_over.BRIDGE) == {"pid": bridge.pid, "socket": str(rig.folder / "b1")}
    bridge.stop()
    assert rig.log.get(take_over.BRIDGE) is None and not rig.sockets()
    with pytest.raises(LinkError, match="has not begun"):
        answer(bridge)


def test_one_that_is_killed_is_followed_by_another_one(rig: Rig, capfd: pytest.CaptureFixture[str]) -> None:
    bridge = rig.serving()
    first = bridge.pid
    os.kill(first, signal.SIGKILL)
    second = until(lambda: ((pid := bridge.pid) not in {0, first} and pid) or None, SECONDS, "another one has begun")
    assert answer(bridge) == second and rig.sockets() == ["b2"]
    until(lambda: rig.events == ["ended", "begun", "ended", "ended", "begun"] or None, SECONDS, f"{rig.events}")
    assert capfd.readouterr().err.count("the bridge to other nodes has ended; another one begins") == 1


def test_one_that_dies_in_a_call(rig: Rig) -> None:
    bridge = rig.serving()
    first = bridge.pid
    with pytest.raises(LinkError, match="this node's bridge"):
        bridge.call("SetPeers", bridge_pb2.SetPeersRequest(peers=[bridge_pb2.BridgePeer(node=DEATH)]))
    until(lambda: bridge.pid not in {0, first} or None, SECONDS, "another one has begun")


def test_the_next_service_goes_on_with_it(rig: Rig) -> None:
    before = rig.serving()
    pid = before.pid
    before.leave()
    assert not before.pid
    after = rig.serving("ends")  # nothing else would begin
    assert (after.pid, answer(after)) == (pid, pid) and rig.events in ([], ["begun"])
    until(lambda: rig.events == ["begun"] or None, SECONDS, "that is told")
    after.leave()
    assert rig.serving().pid == pid


def test_one_that_has_ended_without_a_service(rig: Rig) -> None:
    """Whether the keeper still knows it or not."""
    for known in (True, False):
        before = rig.serving()
        pid, process = before.pid, rig.keeper.process_of(before.pid)
        before.leave()
        os.kill(pid, signal.SIGKILL)
        assert module.processes.ends_within(process, SECONDS)
        os.close(process)
        if not known:
            rig.keeper.reap(pid)
        after = rig.bridge()
        until(lambda after=after, pid=pid: after.pid not in {0, pid} or None, SECONDS, "another one has begun")
        until(lambda: rig.events[-2:] == ["ended", "begun"] or None, SECONDS, f"{rig.events}")
        assert answer(after) == after.pid and len(rig.sockets()) == 1
        after.stop()


@pytest.mark.parametrize(
    ("how", "says"), [("ends", "it has ended; see the lines above"), ("hangs", "not ready within 0.1 s")]
)
def test_one_that_does_not_begin_is_tried_again_and_said_once(
    how: str, says: str, rig: Rig, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if how == "hangs":
        monkeypatch.setattr(module, "BEGIN_SECONDS", 0.1)
    bridge = rig.bridge(how)
    until(lambda: (rig.log.get("bridges") or 0) > 2 or None, SECONDS, "it is tried again")
    assert not bridge.pid and "begun" not in rig.events
    bridge.stop()
    assert capfd.readouterr().err.count(says) == 1
    monkeypatch.setattr(module, "BEGIN_SECONDS", SECONDS)
    assert rig.serving().pid
    assert len(rig.sockets()) == 1


def test_a_service_that_ends_does_not_wait_for_one_that_hangs(rig: Rig) -> None:
    bridge = rig.bridge("hangs")
    until(lambda: rig.log.get("bridges"), SECONDS, "one is begun")
    bridge.stop()
    assert not bridge._thread.is_alive() and rig.log.get(take_over.BRIDGE) is None


def test_an_error_of_who_is_told_ends_nothing(rig: Rig, capfd: pytest.CaptureFixture[str]) -> None:
    failures = [RuntimeError("made by the test")]

    def begun() -> None:
        if failures:
            raise failures.pop()

    made = BridgeProcess(
        [*STANDIN, "serves"], rig.folder, rig.keeper, rig.log, begun=begun, ended=lambda: None,
        environment=lambda: dict(os.environ),
    )  # fmt: skip
    rig.ends.callback(made.stop)
    made.start()
    until(lambda: (not failures and made.pid) or None, SECONDS, "it goes on")
    assert answer(made) == made.pid and "made by the test" in capfd.readouterr().err


def take_over_with(keeper: Any, log: Log, cluster: object) -> list[int]:
    """Lets a service take over. Returns whom it has ended."""
    forgotten: list[int] = []

    def forget(pid: int, socket: str) -> int | None:
        forgotten.append(pid)
        return Keeper.reap(keeper, pid)

    registry: Any = SimpleNamespace(config=SimpleNamespace(cluster=cluster))
    supervisor: Any = SimpleNamespace(forget=forget)
    take_over.TakeOver(registry, supervisor, keeper, log)._adopt_workers()
    return forgotten


@pytest.mark.parametrize("in_a_cluster", [True, False])
def test_a_service_that_takes_over_leaves_it_alone_if_it_is_in_a_cluster(in_a_cluster: bool, rig: Rig) -> None:
    bridge = rig.serving()
    pid = bridge.pid
    bridge.leave()
    rig.keeper.children.append(pid)  # as the next service's keeper says
    ended = take_over_with(rig.keeper, rig.log, object() if in_a_cluster else None)
    assert ended == ([] if in_a_cluster else [pid])
    assert (rig.log.get(take_over.BRIDGE) is not None) == in_a_cluster == bool(rig.sockets())
    if in_a_cluster:
        assert answer(rig.serving("ends")) == pid
