"""The status of a job that other nodes have ranks of: which ones, and what the job waits for."""

from __future__ import annotations

from pathlib import Path

from nodes_rig import SECONDS, Rig, rig
from toolkit.waiting import until

from jitc.proxy.node.api.status import Elsewhere

OWN, REMOTE = 0, 1


def elsewhere(nodes: Rig, rank: int) -> Elsewhere:
    node, session = nodes.nodes[rank], nodes.session(rank)
    return node.over_nodes.elsewhere(session, node.coordinator.waits_for(session))


def says(nodes: Rig, rank: int, text: str) -> None:
    until(lambda: elsewhere(nodes, rank).trouble == text, SECONDS, f"rank {rank}'s node says: {text}")


def test_each_node_names_the_others(tmp_path: Path) -> None:
    with rig(tmp_path, 3) as nodes:
        found = [elsewhere(nodes, rank) for rank in range(3)]
    assert found == [Elsewhere(["n2", "n3"]), Elsewhere(["n1", "n3"]), Elsewhere(["n1", "n2"])]


def test_a_job_of_one_node_has_no_others(tmp_path: Path) -> None:
    nodes = Rig(tmp_path, 2)
    try:
        assert [elsewhere(nodes, rank) for rank in range(2)] == [Elsewhere([])] * 2
    finally:
        nodes.close()


def test_a_recovery_that_waits_for_a_node(tmp_path: Path) -> None:
    """The leader says so of its own rank, and the other node that it cannot reach the leader."""
    with rig(tmp_path) as nodes:
        nodes.wires.cut("n1", "n2")
        nodes.worker(OWN).kill()
        nodes.worker(REMOTE).kill()
        says(nodes, OWN, "its recovery waits: node n2 cannot be reached: the way is cut")
        says(nodes, REMOTE, "node n1 cannot be reached: the way is cut")
        nodes.wires.heal()
        nodes.well()
        says(nodes, OWN, "")
        says(nodes, REMOTE, "")


def test_a_job_that_nobody_leads(tmp_path: Path) -> None:
    with rig(tmp_path) as nodes:
        nodes.store.lead(None)
        until(lambda: nodes.nodes[OWN].over_nodes._leads.is_away(nodes.numbers[OWN]), SECONDS, "the leader lets go")
        assert elsewhere(nodes, OWN) == Elsewhere(["n2"]), "nothing is wrong with a job that runs"
        nodes.worker(REMOTE).kill()
        says(nodes, REMOTE, "no node leads the job at present")
        nodes.store.lead("n2")
        nodes.well()
        says(nodes, REMOTE, "")
