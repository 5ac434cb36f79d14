"""Recoveries of a job over two nodes by the node that leads it: workers die on either node, in each phase."""

from __future__ import annotations

from pathlib import Path

import pytest
from nodes_rig import SECONDS, Rig, rig
from phases_rig import IDS, PLACES, At
from toolkit.waiting import until

from jitc.proxy.node.joins.communicator import Communicator

pytestmark = pytest.mark.timeout(120)
OWN, REMOTE = 0, 1


def lose(nodes: Rig, rank: int) -> None:
    """Its worker dies, which the leader has learned when this returns."""
    worker = nodes.worker(rank)
    worker.kill()
    remote = nodes.leader.remote(nodes.numbers[rank])
    if remote is not None:
        known = remote.worker
        until(lambda: known is None or not known.alive(), SECONDS, "the leader knows of the death")


@pytest.mark.parametrize("victim", [OWN, REMOTE], ids=["own", "remote"])
def test_a_worker_dies(tmp_path: Path, victim: int) -> None:
    with rig(tmp_path) as nodes:
        nodes.worker(victim).kill()
        [found] = nodes.well()
        assert (found["outcome"], found["cause"], found["attempts"]) == ("recovered", "worker-death", 1), found
        assert [one["lost"] for one in found["standings"]] == [victim == OWN, victim == REMOTE]
        assert nodes.store.given == [("n1", 1)]


def test_both_workers_die(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        for rank in (OWN, REMOTE):
            nodes.worker(rank).kill()
        nodes.well()


@pytest.mark.parametrize("place", PLACES, ids=IDS)
@pytest.mark.parametrize("second", [OWN, REMOTE], ids=["then-own", "then-remote"])
@pytest.mark.parametrize("first", [OWN, REMOTE], ids=["own", "remote"])
def test_another_worker_dies_in_a_recovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int, second: int, place: tuple[str, str, str]
) -> None:
    with rig(tmp_path) as nodes:
        at = At(place, lambda: lose(nodes, second) if nodes.session(second).worker else None)
        at.install(monkeypatch)
        nodes.worker(first).kill()
        nodes.well()
        assert at.done.is_set()
        assert nodes.leader.coordinator.reports.documents()[-1]["outcome"] == "recovered"


def meet(nodes: Rig) -> list[Communicator]:
    """All ranks join a communicator. Returns it as each node has it."""
    found = []
    for rank, node in enumerate(nodes.nodes):
        with node.registry.changed:
            made = node.registry.communicators.join(nodes.session(rank), b"u" * 128, len(nodes.nodes), rank)
            others = {other: number for other, number in enumerate(nodes.numbers) if other != rank}
            node.registry.communicators.joined_elsewhere(b"u" * 128, others)
        found.append(made)
    return found


@pytest.mark.parametrize("victim", [OWN, REMOTE], ids=["own", "remote"])
def test_communicators_are_renewed_on_all_nodes(tmp_path: Path, victim: int) -> None:
    """In the same epoch, so that their next generations find each other."""
    with rig(tmp_path) as nodes:
        met = meet(nodes)
        assert all(one.spans_nodes() and one.segment is not None for one in met)
        nodes.worker(victim).kill()
        nodes.well()
        assert [(one.renewed, one.segment) for one in met] == [(1, None)] * 2
        nodes.worker(1 - victim).kill()
        nodes.well(2)
        assert [one.renewed for one in met] == [2] * 2


def test_nobody_leads_what_the_store_does_not_know_yet(tmp_path: Path) -> None:
    """A communicator connects ranks over nodes, and the store has no job of them: it may be about to."""
    nodes = Rig(tmp_path, 2)
    try:
        meet(nodes)
        for one in nodes.nodes:
            one.over_nodes._leads.wake()
            number = next(iter(one.registry.sessions))
            until(lambda one=one, number=number: one.over_nodes._leads.is_away(number), SECONDS, "nobody leads it")
        nodes.worker(0).kill()
        assert nodes.store.given == [] and not any(one.coordinator._jobs for one in nodes.nodes)
        nodes.begin()
        nodes.well()
    finally:
        nodes.close()


def test_communicators_of_other_nodes_are_known_to_the_leader(tmp_path: Path) -> None:
    with rig(tmp_path, 3) as nodes:
        first, second = nodes.numbers[1:]
        for rank in (1, 2):
            registry = nodes.nodes[rank].registry
            with registry.changed:
                registry.communicators.join(nodes.session(rank), b"v" * 128, 2, rank - 1)
                registry.communicators.joined_elsewhere(b"v" * 128, {2 - rank: nodes.numbers[3 - rank]})

        def known() -> bool:
            return [dict(one.members) for one in nodes.leader.ranks.communicators] == [{first: 0, second: 1}]

        until(known, SECONDS, "the leader knows of it")
        [one] = nodes.leader.ranks.communicators
        assert one.ranks == 2 and not one.gathering()
