"""A service of one of the nodes ends, and another one takes its place: a home's, the leader's, in each phase."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from nodes_rig import SECONDS, rig
from phases_rig import IDS, PLACES, At
from toolkit.waiting import until

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("place", PLACES, ids=IDS)
@pytest.mark.parametrize("victim", [0, 1], ids=["leader-s", "home-s"])
def test_home_in_a_recovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: int, place: tuple[str, str, str]
) -> None:  # fmt: skip
    with rig(tmp_path) as nodes:
        healthy = nodes.worker(0).pid
        at = At(place, lambda: nodes.restart(1))
        at.install(monkeypatch)
        nodes.worker(victim).kill()
        until(at.done.is_set, SECONDS, "another service has begun")
        found = nodes.well()
        assert found[-1]["outcome"] == "recovered", found
        assert victim == 0 or nodes.worker(0).pid == healthy


@pytest.mark.parametrize("place", PLACES, ids=IDS)
def test_leader_in_a_recovery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: tuple[str, str, str]) -> None:
    """The node leads on, with another service: it asks the homes for what it does not know."""
    waits, goes_on = threading.Event(), threading.Event()

    def stand() -> None:
        waits.set()
        goes_on.wait(SECONDS)

    with rig(tmp_path) as nodes:
        at = At(place, stand)
        at.install(monkeypatch)
        nodes.worker(1).kill()
        until(waits.is_set, SECONDS, "the recovery is there")
        old = nodes.nodes[0]
        old.coordinator._jobs[0].leave()  # as with the end of the process, it ends without a result
        goes_on.set()
        nodes.restart(0)
        nodes.well()
        assert nodes.leader is not old


def test_leader_between_faults(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        nodes.restart(0)
        nodes.settled()
        nodes.worker(1).kill()
        [found] = nodes.well()
        assert found["cause"] == "worker-death"


def test_home_between_faults(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        remote = nodes.leader.remote(nodes.numbers[1])
        assert remote is not None
        term = remote.term
        nodes.restart(1)
        until(lambda: remote.term > term, SECONDS, "the leader knows the next term")
        assert nodes.leader.remote(nodes.numbers[1]) is remote, "the same rank is the same object"
        nodes.worker(1).kill()
        [found] = nodes.well()
        assert found["cause"] == "worker-death"


def test_a_session_that_ended_while_no_service_ran(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        number = nodes.numbers[1]
        nodes.log = nodes.nodes[1].log
        nodes.nodes[1].log.delete(f"session/{number}")
        nodes.restart(1)
        until(lambda: nodes.leader.remote(number) is None, SECONDS, "the leader knows that it has ended")
        assert nodes.leader.over_nodes._table.is_gone(number)
        with nodes.store.lock:
            nodes.store.job.discard(number)
        nodes.store.tell()
        nodes.worker(0).kill()
        nodes.well()
