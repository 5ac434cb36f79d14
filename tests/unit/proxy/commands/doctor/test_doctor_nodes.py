"""The checks of `jitc doctor` about the nodes of a cluster: entries, versions, certificates, addresses and clocks."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from cluster_rig import SeenCluster, be_patient, record

from jitc.proxy.cluster.peers import contract, server
from jitc.proxy.commands.cluster import nodes as of_nodes
from jitc.proxy.commands.cluster.asked import Asked, asked
from jitc.proxy.commands.cluster.store import StoreSeen
from jitc.proxy.commands.doctor.check import BAD, GOOD, UNKNOWN, Context, Finding, Result, run
from jitc.proxy.commands.doctor.cluster import nodes as checks


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    be_patient(monkeypatch)


def found_by(
    cluster: SeenCluster, name: str, address: str = "127.0.0.1:7431", folder: Path | None = None
) -> dict[str, Finding]:
    """All findings about nodes, as one that would be at this address has them. folder: of its certificate."""
    other = {"peer-certificates": str(folder)} if folder else {}
    context = Context("software", cluster=cluster.words(name, address) | other)
    results: list[Result] = list(run([("cluster", checks.CHECKS)], context))
    return {one.name: one.finding for one in results}


def verdicts(found: dict[str, Finding]) -> dict[str, str]:
    return {name: one.verdict for name, one in found.items()}


ALL_GOOD = dict.fromkeys(("nodes", "versions", "services", "bridges", "clocks"), GOOD)


# -- nodes that answer ----------------------------------------------------------------------------


def test_all_is_well(cluster: SeenCluster) -> None:
    one, other = cluster.node("n0"), cluster.node("n1")
    found = found_by(cluster, "n0", one.address)
    assert verdicts(found) == ALL_GOOD, found
    assert found["nodes"].says == f"n0 (number 1, {one.address}), n1 (number 2, {other.address})"
    assert found["services"].says.startswith("all answer with their certificates (n0: ")
    assert found["clocks"].says.startswith("at most 0.")


def test_nobody_is_there_yet(cluster: SeenCluster) -> None:
    cluster.certificate("n0")
    found = found_by(cluster, "n0")
    assert verdicts(found) == {"nodes": GOOD} and "no service of a node runs" in found["nodes"].says


def test_a_node_that_is_not_in_the_cluster_yet_may_ask(cluster: SeenCluster) -> None:
    cluster.node("n1")
    cluster.certificate("n0")
    found = found_by(cluster, "n0")
    assert verdicts(found) == {name: GOOD for name in ALL_GOOD if name != "clocks"}
    assert found["services"].says.endswith("(n1: yes); this node is not in the cluster yet")


def test_services_and_bridges_that_do_not_answer(cluster: SeenCluster) -> None:
    one, other = cluster.node("n0"), cluster.node("n1")
    other.bridge.stop()
    found = found_by(cluster, "n0", one.address)
    assert verdicts(found) == ALL_GOOD | {"bridges": BAD} and "Connection refused" in found["bridges"].says
    other.service.stop()
    found = found_by(cluster, "n0", one.address)
    assert verdicts(found) == ALL_GOOD | {"services": BAD, "bridges": BAD}
    assert f"node n1 at {other.address} cannot be reached" in found["services"].says
    assert "firewall" in found["services"].remedy


def test_other_certificates(cluster: SeenCluster, tmp_path: Path) -> None:
    one, other = cluster.node("n0"), cluster.node("n1")
    cluster.enter("n1", record(2, other.address, other.bridge_address, "cd" * 32))
    found = found_by(cluster, "n0", one.address)
    assert found["services"].verdict == BAD and "the store has cdcdcdcdcdcdcdcd... for it" in found["services"].says
    cluster.enter("n1", record(2, one.address, other.bridge_address, cluster.known["n1"]))
    found = found_by(cluster, "n0", one.address)
    assert "shows the certificate of node n0: is the address right?" in found["services"].says
    assert found["nodes"].verdict == BAD and "have one address" in found["nodes"].says
    stranger = SeenCluster(tmp_path / "other", cluster.etcd).certificate("n0")
    found = found_by(cluster, "n0", one.address, stranger)
    assert found["services"].verdict == BAD and "shows a certificate of another CA" in found["services"].says


def test_a_certificate_that_other_nodes_do_not_know(cluster: SeenCluster) -> None:
    """Another machine of this name has the place in the cluster."""
    one = cluster.node("n0")
    cluster.node("n1")
    shutil.rmtree(one.folder)
    cluster.authority.renew("n0")
    shutil.copytree(cluster.authority.folder / "nodes" / "n0", one.folder)
    found = found_by(cluster, "n0", one.address)
    assert (
        found["services"].verdict == BAD and "is there another node of this name, or an old" in found["services"].says
    )


def test_without_a_certificate_no_node_is_asked(cluster: SeenCluster) -> None:
    cluster.node("n1")
    found = found_by(cluster, "n0")
    assert verdicts(found) == {"nodes": GOOD, "versions": GOOD, "services": UNKNOWN}
    assert "none was asked" in found["services"].says


def test_a_clock_that_differs(cluster: SeenCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts are those of another machine for whoever answers, in a process that has one clock."""
    one, here = cluster.node("n0"), contract.facts()
    cluster.node("n1")

    def late() -> object:
        other = contract.facts()
        other.wall_ms -= 7_200_000
        return other

    monkeypatch.setattr(server, "facts", late)
    found = found_by(cluster, "n0", one.address)
    assert here.wall_ms > 0 and found["clocks"].verdict == UNKNOWN
    assert " s behind the one here" in found["clocks"].says and "NTP" in found["clocks"].remedy
    assert verdicts(found) == ALL_GOOD | {"clocks": UNKNOWN}


def test_what_is_far_away_is_left(cluster: SeenCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.certificate("n0")
    cluster.node("n1")
    ending = threading.Event()
    monkeypatch.setattr(of_nodes, "SECONDS", 0.1)
    monkeypatch.setattr(of_nodes, "_ask", lambda *_: ending.wait())
    try:
        found = found_by(cluster, "n0")
    finally:
        ending.set()
    assert found["services"].verdict == BAD and found["services"].says == f"node n1: {of_nodes._LATE}"


def test_names_and_addresses_of_two(cluster: SeenCluster) -> None:
    one = cluster.node("n0")
    found = found_by(cluster, "n0", "127.0.0.1:7431")
    assert found["nodes"].verdict == BAD and "--node" in found["nodes"].remedy
    assert f"a node n0 runs at {one.address}, and the one of this machine would be" in found["nodes"].says
    cluster.certificate("n9")
    found = found_by(cluster, "n9", one.address)
    assert found["nodes"].verdict == BAD and f"node n0 is at {one.address}, where this one, n9" in found["nodes"].says


def test_entries_that_are_none(cluster: SeenCluster) -> None:
    cluster.certificate("n0")
    cluster.enter("n1", b"nothing")
    found = found_by(cluster, "n0")
    assert verdicts(found) == {"nodes": BAD} and "nodes/n1 in the store is not what jitc writes" in found["nodes"].says
    cluster.enter("n1", record(2, "127.0.0.1:1"), lease=False)
    found = found_by(cluster, "n0")
    assert found["nodes"].verdict == BAD and "of n1 have no lease" in found["nodes"].says
    cluster.enter("n1", record(2, "127.0.0.1:1", board=99))
    found = found_by(cluster, "n0")
    assert found["versions"].verdict == BAD and "node n1 has board version 99, not " in found["versions"].says
    assert found["versions"].remedy == "install one release of jitc on all nodes"


# -- verdicts alone -------------------------------------------------------------------------------


def own(address: str = "10.0.0.1:7431") -> Asked:
    found = asked({"cluster": "etcd://127.0.0.1:1", "node": "n0", "peer-address": address})
    assert found is not None
    return found


def test_addresses_of_loopback_in_a_cluster_of_machines() -> None:
    two = {"n1": record(1, "127.0.0.1:7431"), "n2": record(2, "10.0.0.2:7431")}
    found = checks.of_nodes_seen(StoreSeen(nodes=two), own())
    assert found.verdict == BAD and found.says.startswith("node n1 is at 127.0.0.1:7431, which is no address")
    found = checks.of_nodes_seen(StoreSeen(nodes={"n2": two["n2"]}), own("localhost:7431"))
    assert found.verdict == BAD and found.says.startswith("node n0 is at localhost:7431")
    found = checks.of_nodes_seen(StoreSeen(nodes={"n1": two["n1"]}), own("[::1]:7431"))
    assert found.verdict == GOOD, "all on one machine"
    assert checks.of_nodes_seen(StoreSeen(nodes=two), own("")).verdict == BAD


def test_many_nodes_are_not_all_named() -> None:
    many = {f"n{number}": record(number, f"10.0.0.{number}:7431") for number in range(1, 41)}
    found = checks.of_nodes_seen(StoreSeen(nodes=many), own("10.0.0.200:7431"))
    assert found.verdict == GOOD and found.says.endswith(" and 32 more")
    same = {name: record(one.number, "10.0.0.1:7431", f"10.0.0.1:{one.number}") for name, one in many.items()}
    assert len(checks.of_nodes_seen(StoreSeen(nodes=same), own("10.0.0.200:7431")).says) < 10_000


@pytest.mark.parametrize(("ahead", "says"), [(90.0, "is 90 s ahead of the one here"), (-4000.0, "is 4000 s behind")])
def test_clocks(ahead: float, says: str) -> None:
    found = checks.of_clocks({"n1": 0.1, "n2": ahead})
    assert found.verdict == UNKNOWN and f"that of node n2 {says}" in found.says
    assert checks.of_clocks({"n1": 0.1, "n2": -2.0}) == Finding(GOOD, "at most 2.0 s from the one here")


@pytest.mark.parametrize("version", ["text", -1, 1 << 40, None])
def test_versions_that_are_none(version: object) -> None:
    wrong = record(1, "10.0.0.1:7431")
    assert of_nodes.differing("n1", wrong) == ""
    object.__setattr__(wrong, "versions", {**wrong.versions, "board": version})
    assert "node n1 has " in of_nodes.differing("n1", wrong)
