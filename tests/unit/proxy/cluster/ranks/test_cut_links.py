"""The way between the leader and another node is cut in a recovery, and whole again later: nothing is lost by it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from nodes_rig import SECONDS, Rig, rig
from phases_rig import IDS, PLACES, At
from toolkit.waiting import until

from jitc.proxy.ranks.states import SessionState

pytestmark = pytest.mark.timeout(120)
OWN, REMOTE = 0, 1


def waits(nodes: Rig) -> str:
    """What the recovery under way says that it waits for."""
    return nodes.leader.coordinator.waits_for(nodes.leader.registry.sessions[nodes.numbers[OWN]])


@pytest.mark.parametrize("kind", ["cut", "one-way"])
@pytest.mark.parametrize("place", PLACES, ids=IDS)
@pytest.mark.parametrize("victim", [OWN, REMOTE], ids=["own", "remote"])
@pytest.mark.sampled
def test_in_a_recovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: int, place: tuple[str, str, str], kind: str
) -> None:
    """cut: nothing arrives; one-way: calls arrive and are carried out, and no answer comes back."""

    def cut() -> None:
        if kind == "cut":
            nodes.wires.cut("n1", "n2")
        else:
            nodes.wires.mute.add(("n1", "n2"))

    with rig(tmp_path) as nodes:
        healthy = nodes.worker(1 - victim).pid
        at = At(place, cut)
        at.install(monkeypatch)
        nodes.worker(victim).kill()
        until(at.done.is_set, SECONDS, "the way is cut")
        until(lambda: nodes.leader.over_nodes.unreachable("n2"), SECONDS, "that is noticed")
        nodes.wires.heal()
        [found] = nodes.well()
        assert found["outcome"] == "recovered" and found["attempts"] == 1, found
        assert nodes.worker(1 - victim).pid == healthy, "a worker that cannot be reached is not a dead one"


def test_the_wait_has_no_limit_and_says_what_it_is_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("jitc.proxy.recovery.recovery.CALL_SECONDS", 0.2)
    monkeypatch.setattr("jitc.proxy.recovery.worker_calls.CALL_SECONDS", 0.2)
    monkeypatch.setattr("jitc.proxy.recovery.worker_calls.REACH_SECONDS", 0.05)
    with rig(tmp_path) as nodes:
        nodes.wires.cut("n1", "n2")
        nodes.worker(OWN).kill()
        said = until(lambda: waits(nodes) or None, SECONDS, "it says so")
        assert said == "node n2 cannot be reached: the way is cut"
        assert nodes.leader.registry.sessions[nodes.numbers[OWN]].state is SessionState.LOST
        nodes.wires.heal()
        nodes.well()
        assert not waits(nodes)
    assert capfd.readouterr().err.count("a recovery waits: node n2 cannot be reached") == 1


def test_a_death_behind_a_cut_is_recovered_when_it_is_whole(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        nodes.wires.cut("n1", "n2")
        nodes.worker(REMOTE).kill()
        until(lambda: nodes.nodes[REMOTE].over_nodes.unreachable("n1"), SECONDS, "the home cannot tell")
        assert not nodes.leader.coordinator._jobs
        nodes.wires.heal()
        [found] = nodes.well()
        assert found["cause"] == "worker-death"


def test_a_kill_reaches_its_worker_however_long_the_way_is_cut(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        remote = nodes.leader.remote(nodes.numbers[REMOTE])
        assert remote is not None and remote.worker is not None
        nodes.wires.cut("n1", "n2")
        before = nodes.worker(REMOTE)
        remote.worker.kill_with_cause("hung-worker", time.monotonic(), "it did not answer")
        assert not remote.worker.works() and remote.worker.alive() and before.alive()
        nodes.wires.heal()
        [found] = nodes.well()
        assert (found["cause"], found["message"]) == ("hung-worker", "it did not answer")
