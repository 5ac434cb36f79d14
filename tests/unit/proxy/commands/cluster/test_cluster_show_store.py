"""What `jitc cluster show` says of the store, and of the nodes in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cluster_rig import SeenCluster, be_patient, record
from toolkit.documents import refusals

from jitc.proxy.cluster.peers import names
from jitc.proxy.commands import jitc
from jitc.proxy.commands.settings.setting import CLUSTER_SETTINGS
from jitc.proxy.status.cluster import Cluster
from jitc.proxy.status.documents import mistakes

Show = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings but those of the test."""
    be_patient(monkeypatch)
    for one in CLUSTER_SETTINGS:
        monkeypatch.delenv(one.variable, raising=False)
    monkeypatch.setattr(names, "_folder", lambda: tmp_path / "jitc")


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Show:
    def command(words: dict[str, str], *more: str) -> tuple[int, str, str]:
        given = [word for name, value in words.items() for word in (f"--{name}", value)]
        code = jitc.main(["cluster", "show", *given, *more])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def document(show: Show, words: dict[str, str], *more: str) -> tuple[int, dict[str, Any]]:
    code, said, errors = show(words, "--json", *more)
    found: dict[str, Any] = json.loads(said)
    assert errors == "" and refusals(found, "cluster") == [] and list(mistakes(found, Cluster)) == []
    return code, found


def test_the_store_and_its_nodes(cluster: SeenCluster, show: Show) -> None:
    one, other = cluster.node("n0"), cluster.node("n1")
    words, folder = cluster.words("n0", one.address), ("--folder", str(cluster.authority.folder))
    code, found = document(show, words, *folder)
    assert code == 0 and [each["name"] for each in found["nodes"]] == ["n0", "n1"]
    seen = found["store"]
    assert (seen["location"], seen["trouble"]) == (f"etcd://{cluster.etcd.endpoints}", "") and seen["seconds"] > 0
    [member] = seen["members"]
    assert member["leads"] and member["version"].startswith("3.") and member["seconds"] > 0
    assert [(each["name"], each["number"], each["peer_address"], each["bridge_address"]) for each in seen["nodes"]] == [
        ("n0", 1, one.address, one.bridge_address),
        ("n1", 2, other.address, other.bridge_address),
    ]
    assert all(each["seconds"] > 0 and each["troubles"] == [] for each in seen["nodes"])
    assert all(abs(each["clock_ahead"]) < 60 for each in seen["nodes"])
    code, said, errors = show(words, *folder)
    assert (code, errors) == (0, "")
    lines = said.splitlines()
    at = lines.index("") + 1
    assert lines[at].startswith(f"store etcd://{cluster.etcd.endpoints}, a read takes ")
    assert lines[at + 1].split()[1].startswith("3.") and lines[at + 1].endswith("leads")
    assert [line.split()[:3] for line in lines[at + 2 :]] == [
        ["node", "n0", one.address],
        ["node", "n1", other.address],
    ]


def test_nodes_that_do_not_answer_or_fit(cluster: SeenCluster, show: Show) -> None:
    one, other = cluster.node("n0"), cluster.node("n1")
    cluster.enter("n1", record(2, other.address, other.bridge_address, cluster.known["n1"], board=99))
    other.service.stop()
    code, found = document(show, cluster.words("n0", one.address), "--folder", str(cluster.authority.folder))
    troubles = {each["name"]: each["troubles"] for each in found["store"]["nodes"]}
    assert code == 1 and troubles["n0"] == []
    assert len(troubles["n1"]) == 2 and "cannot be reached" in troubles["n1"][0] and "board" in troubles["n1"][1]
    code, said, _ = show(cluster.words("n0", one.address), "--folder", str(cluster.authority.folder))
    assert code == 1 and "Connection refused; node n1 has board version 99" in said


def test_without_a_certificate_nodes_are_listed_and_not_asked(cluster: SeenCluster, show: Show) -> None:
    """On a machine that is no node, such as the one that has the CA: nothing is wrong there."""
    cluster.node("n1")
    words = {"cluster": f"etcd://{cluster.etcd.endpoints}"}
    code, found = document(show, words, "--folder", str(cluster.authority.folder))
    assert code == 0 and found["store"]["nodes"][0]["troubles"]
    code, found = document(show, words)
    assert code == 1 and found["authority"]["state"] == "unusable"
    [node] = found["store"]["nodes"]
    assert node["seconds"] is None and node["troubles"][0].startswith("not asked: ")
    code, said, _ = show(words)
    assert "there is no CA in" in said and "not asked: " in said


def test_the_folder_of_the_node_is_shown_where_there_is_no_ca(cluster: SeenCluster, show: Show) -> None:
    one = cluster.node("n0")
    code, found = document(show, cluster.words("n0", one.address))
    assert code == 0 and found["folder"] == str(one.folder) and [each["name"] for each in found["nodes"]] == ["n0"]


def test_a_store_that_does_not_answer(tmp_path: Path, cluster: SeenCluster, show: Show) -> None:
    shutil.copytree(cluster.authority.add("n0"), tmp_path / "jitc" / "peer")
    words = {"cluster": "etcd://127.0.0.1:1", "node": "n0"}
    code, found = document(show, words)
    assert code == 1 and found["store"]["seconds"] is None and found["store"]["nodes"] == []
    assert "127.0.0.1:1: connection refused" in found["store"]["trouble"]
    assert found["store"]["members"][0] == {
        "address": "127.0.0.1:1", "version": "", "leads": False, "seconds": None, "trouble": "connection refused",
    }  # fmt: skip
    code, said, _ = show(words)
    assert code == 1 and "store etcd://127.0.0.1:1: the store does not answer: " in said


def test_the_store_comes_from_the_environment_too(
    cluster: SeenCluster, show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ("--folder", str(cluster.authority.folder))
    assert document(show, {}, *folder)[1]["store"] is None
    monkeypatch.setenv("JITC_CLUSTER", f"etcd://{cluster.etcd.endpoints}")
    code, found = document(show, {}, *folder)
    assert code == 0 and found["store"]["nodes"] == [] and found["store"]["trouble"] == ""
    assert show({}, *folder)[1].endswith("no service of a node runs\n")


def test_entries_that_are_none(cluster: SeenCluster, show: Show) -> None:
    cluster.enter("n1", b"nothing")
    code, found = document(
        show, {"cluster": f"etcd://{cluster.etcd.endpoints}"}, "--folder", str(cluster.authority.folder)
    )
    assert code == 1 and "nodes/n1 in the store is not what jitc writes" in found["store"]["trouble"]
