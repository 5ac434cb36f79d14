"""The checks of `jitc doctor` about this node of a cluster: certificates, addresses and settings that are not right."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from doctor_rig import clean, look

from jitc.proxy.cluster.peers.certificates import Authority
from jitc.proxy.commands.cluster import asked as settings
from jitc.proxy.commands.doctor.check import BAD, GOOD, UNKNOWN, Context, Finding, run
from jitc.proxy.commands.doctor.cluster import nodes, store, this_node

DAY = 86400.0
FOLDER = os.path.dirname(__file__)
#: Makes one check in a process in which a package cannot be imported.
WITHOUT = """
import json, sys
words, settings = map(json.loads, sys.argv[1:])
sys.modules[words["missing"]] = None
from doctor_rig import clean, look
from jitc.proxy.commands.doctor.check import Context
found = look("cluster." + words["module"], words["name"], Context("software", cluster=settings))
print(json.dumps([found.verdict, found.says, found.remedy]))
"""
STORE = "etcd://127.0.0.1:1"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for one in settings.CLUSTER_SETTINGS:
        monkeypatch.delenv(one.variable, raising=False)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path / "ca")
    made.create()
    return made


def context(**words: str) -> Context:
    named = {name.replace("_", "-"): value for name, value in words.items()}
    return Context("software", cluster={"cluster": STORE} | named)


def of(name: str, **words: str) -> Finding:
    return look("cluster.this_node", name, context(**words))


def made_at(authority: Authority, days: float) -> Authority:
    """The CA as if the clock were so many days ahead."""
    return Authority(authority.folder, lambda: time.time() + days * DAY)


# -- settings -------------------------------------------------------------------------------------


def test_without_a_cluster_there_is_no_check() -> None:
    checks = [*this_node.CHECKS, *store.CHECKS, *nodes.CHECKS]
    for words in ({}, {"cluster": "local"}, {"node": "n0", "peer-address": "127.0.0.1:7431"}):
        assert list(run([("cluster", checks)], Context("software", cluster=words))) == []


def test_settings_come_from_wherever_a_service_has_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "jitc.toml").write_text(f'cluster = "{STORE}"\nnode = "file"\npeer-address = "10.0.0.9:65535"\n')
    monkeypatch.setenv("JITC_CONFIG", str(tmp_path / "jitc.toml"))
    found = settings.asked({})
    assert found is not None and (found.store, found.node, found.bridge_address) == (STORE, "file", "")
    monkeypatch.setenv("JITC_NODE", "variable")
    monkeypatch.setenv("JITC_PEER_ADDRESS", "10.0.0.9:7431")
    monkeypatch.setenv("JITC_CLUSTER_PASSWORD", "secret")
    found = settings.asked({"cluster-user": "me"})
    assert found is not None and (found.node, found.bridge_address) == ("variable", "10.0.0.9:7432")
    assert (found.options.user, found.options.password) == ("me", "secret")
    found = settings.asked({"node": "word", "bridge-address": "10.0.0.9:1"})
    assert found is not None and (found.node, found.bridge_address, found.options.password) == (
        "word",
        "10.0.0.9:1",
        "",
    )


def test_names_of_nodes() -> None:
    found = of("node", node="n0")
    assert found.verdict == GOOD and found.says == f"n0, of the cluster whose store is {STORE}"
    found = of("node", node="-n0")
    assert found.verdict == BAD and "--node" in found.remedy


# -- the certificate ------------------------------------------------------------------------------


def test_a_certificate_that_is_good_and_one_that_ends_soon(authority: Authority, tmp_path: Path) -> None:
    shutil.copytree(authority.add("n0"), tmp_path / "n0")
    found = of("certificate", node="n0", peer_certificates=str(tmp_path / "n0"))
    assert found.verdict == GOOD and found.says.startswith("of node n0, until 20") and "(89 days)" in found.says
    shutil.copytree(made_at(authority, -70).add("n1"), tmp_path / "n1")
    found = of("certificate", node="n1", peer_certificates=str(tmp_path / "n1"))
    assert found.verdict == UNKNOWN and "(19 days)" in found.says and "jitc cluster rotate n1" in found.remedy


def test_certificates_that_cannot_be_used(authority: Authority, tmp_path: Path) -> None:
    def wrong(name: str, place: Path, says: str, remedy: str) -> None:
        found = of("certificate", node=name, peer_certificates=str(place))
        assert found.verdict == BAD and says in found.says and remedy in found.remedy, found

    wrong("n0", tmp_path / "none", "is missing", "`jitc cluster add NODE` makes it")
    own = authority.add("n0")
    wrong("n1", own, "is of node n0, and this is node n1", "`jitc cluster add n1`")
    (own / "node.key").chmod(0o644)
    wrong("n0", own, "can be read by other users (mode 0644)", "chmod 600")
    (own / "node.key").chmod(0o600)
    shutil.copy(authority.add("n2") / "node.key", own / "node.key")
    wrong("n0", own, "does not fit", "bring both here again")
    (own / "node.key").unlink()
    wrong("n0", own, "is missing", "bring all files")
    other = Authority(tmp_path / "other")
    other.create()
    shutil.copy(other.folder / "ca.pem", authority.add("n3") / "ca.pem")
    wrong("n3", authority.folder / "nodes" / "n3", "is of another CA than", "bring all files here again")
    wrong("n4", made_at(authority, -100).add("n4"), "expired on 20", "jitc cluster rotate n4")
    wrong("n5", made_at(authority, 1).add("n5"), "is valid from 20", "the clocks of this machine")


@pytest.mark.parametrize(
    ("missing", "name", "says", "remedy"),
    [
        ("cryptography", "certificate", "need the package cryptography", "pip install 'jitc[cluster]'"),
        ("cryptography", "store's files", "were not read", "pip install 'jitc[cluster]'"),
        ("grpc", "store", "jitc's installation is broken", ""),
    ],
)
def test_what_an_installation_lacks(missing: str, name: str, says: str, remedy: str, authority: Authority) -> None:
    """There is a finding of each check, and no traceback."""
    place = authority.add("n0")
    words = {"module": "this_node" if name != "store" else "store", "name": name, "missing": missing}
    settings = {
        "cluster": STORE, "node": "n0", "peer-certificates": str(place), "cluster-ca": str(place / "ca.pem"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps(words), json.dumps(settings)], env=clean(PYTHONPATH=FOLDER),
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    found = Finding(*json.loads(done.stdout))
    assert found.verdict in (BAD, UNKNOWN) and says in found.says and remedy in found.remedy, found
    assert done.stderr == ""


# -- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "verdict", "says"),
    [
        ("127.0.0.1:7431", UNKNOWN, "is reached from this machine alone"),
        ("[::1]:7431", None, "::1"),
        ("localhost:7431", UNKNOWN, "localhost:7431 ("),
        ("0.0.0.0:7431", BAD, "is no address at which another node finds this one"),
        ("192.0.2.1:7431", BAD, "this machine does not have 192.0.2.1:7431"),
        ("127.0.0.1:0", BAD, "has no port"),
        ("127.0.0.1", BAD, "is no address like"),
        ("two\nlines:1", BAD, "'two\\nlines:1' is no address like"),
    ],
)
def test_addresses(address: str, verdict: str | None, says: str) -> None:
    """Where there is no IPv6, its address is not this machine's."""
    service = of("peer address", peer_address=address)
    bridge = of("bridge address", peer_address="127.0.0.1:9", bridge_address=address)
    for found, option in ((service, "--peer-address"), (bridge, "--bridge-address")):
        assert found.verdict in ((verdict,) if verdict else (UNKNOWN, BAD)), found
        assert says in found.says and option in found.remedy, found


def test_an_address_of_this_machine() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))  # no packet is sent
        except OSError:
            pytest.skip("this machine is in no network")
        own = asking.getsockname()[0]
    found = of("peer address", peer_address=f"{own}:7431")
    assert found.verdict == GOOD and found.says == f"{own}:7431 is this machine's"


def test_no_address_at_all() -> None:
    found = of("peer address")
    assert found.verdict == BAD and "--peer-address" in found.remedy


def test_addresses_of_the_bridge() -> None:
    found = of("bridge address", peer_address="127.0.0.1:65535")
    assert found.verdict == BAD and "--bridge-address" in found.remedy
    found = of("bridge address", peer_address="127.0.0.1:1", bridge_address="127.0.0.1:1")
    assert found.verdict == BAD and "is that of the service" in found.says
    assert of("bridge address", peer_address="127.0.0.1:1").says.startswith("127.0.0.1:2 ")


@pytest.fixture
def forever() -> Iterator[threading.Event]:
    """For work that waits for another machine; the thread of it ends with the test."""
    ending = threading.Event()
    yield ending
    ending.set()


def test_names_that_are_not_found(monkeypatch: pytest.MonkeyPatch, forever: threading.Event) -> None:
    def unknown(_: str) -> str:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(this_node, "_number", unknown)
    found = of("peer address", peer_address="elsewhere:7431")
    assert found.verdict == BAD and "the name elsewhere is not known: Name or service not known" in found.says
    monkeypatch.setattr(this_node, "_number", lambda _: str(forever.wait()))
    monkeypatch.setattr(this_node, "LOOKUP_SECONDS", 0.1)
    found = of("peer address", peer_address="elsewhere:7431")
    assert found.verdict == UNKNOWN and "was not looked up within 0.1 s" in found.says


# -- files for the store --------------------------------------------------------------------------


def test_dates_of_files_for_the_store(authority: Authority, tmp_path: Path) -> None:
    ca = str(authority.folder / "ca.pem")
    assert look("cluster.this_node", "node", context()).verdict == GOOD
    found = of("store's files", cluster_ca=ca, cluster_cert=str(authority.add("n0") / "node.pem"))
    assert found.verdict == GOOD and "3649 days left" in found.says and "89 days left" in found.says
    found = of("store's files", cluster_cert=str(made_at(authority, -80).add("n1") / "node.pem"))
    assert found.verdict == UNKNOWN and "9 days left" in found.says and "renew it" in found.remedy
    for days, says in ((-100, "has expired"), (2, "is not valid yet")):
        found = of("store's files", cluster_cert=str(made_at(authority, days).add(f"n{abs(days)}") / "node.pem"))
        assert found.verdict == BAD and says in found.says and "clock" in found.remedy
    (tmp_path / "text").write_text("nothing")
    for name, says in (("text", "is no certificate"), ("none", "No such file")):
        found = of("store's files", cluster_ca=str(tmp_path / name))
        assert found.verdict == BAD and says in found.says and "--cluster-ca" in found.remedy
