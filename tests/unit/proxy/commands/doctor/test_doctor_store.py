"""The checks of `jitc doctor` about the store of a cluster: one that answers, and what may be wrong with it."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_rig import be_patient
from doctor_rig import clean, look
from toolkit.etcd import Etcd, etcd, why_not
from toolkit.waiting import until

from jitc.proxy.cluster.store.engine import Member
from jitc.proxy.commands.cluster import store as of_store
from jitc.proxy.commands.cluster.store import StoreSeen
from jitc.proxy.commands.doctor.check import BAD, GOOD, UNKNOWN, Context, Finding
from jitc.proxy.commands.doctor.cluster import store as checks


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    be_patient(monkeypatch)


def context(endpoints: str, **words: str) -> Context:
    named = {name.replace("_", "-"): value for name, value in words.items()}
    return Context("software", cluster={"cluster": f"etcd://{endpoints}", "node": "n0"} | named)


def of(name: str, endpoints: str, **words: str) -> Finding:
    return look("cluster.store", name, context(endpoints, **words))


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a machine that takes connections, and answers nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        yield f"127.0.0.1:{port}"


# -- it answers -----------------------------------------------------------------------------------


def test_a_store_that_answers_is_left_as_it_is(one_etcd: Etcd) -> None:
    found = of("store", one_etcd.endpoints)
    assert found.verdict in (GOOD, UNKNOWN) and found.says.startswith("a read takes "), "unknown on a busy machine"
    found = of("members", one_etcd.endpoints)
    assert found.verdict == GOOD and found.says.startswith(f"{one_etcd.endpoints}: etcd 3.")
    assert ", leads, " in found.says and found.says.endswith(" ms")
    assert one_etcd.members[0].values("jitc/") == []


def test_a_member_that_is_away(one_etcd: Etcd, silent: str) -> None:
    found = of("members", f"{one_etcd.endpoints},{silent}")
    assert found.verdict == BAD and f"{silent}: " in found.says and "etcd runs" in found.remedy
    assert of("store", f"{one_etcd.endpoints},{silent}").verdict in (GOOD, UNKNOWN), "the other one answers"


def test_slow_answers() -> None:
    assert checks.of_store_seen(StoreSeen(seconds=0.002)).verdict == GOOD
    found = checks.of_store_seen(StoreSeen(seconds=0.4))
    assert found.verdict == UNKNOWN and found.says.startswith("a read takes 400.0 ms") and "disk" in found.remedy


def test_members_that_complain() -> None:
    def member(trouble: str = "", leads: bool = True) -> Member:
        return Member("10.0.0.1:2379", "3.5.9", leads, trouble, 0.0012)

    found = checks.of_members((member(), member("memberID:7 alarm:NOSPACE ", leads=False)))
    assert found.verdict == BAD and "alarm:NOSPACE" in found.says and "etcdctl alarm disarm" in found.remedy
    found = checks.of_members((member("memberID:7 alarm:CORRUPT "),))
    assert found.verdict == BAD and "backup" in found.remedy
    found = checks.of_members((member(leads=False),))
    assert found.verdict == UNKNOWN and "none of them leads" in found.says
    assert checks.of_members((member(), member(leads=False))).verdict == GOOD


# -- it does not ----------------------------------------------------------------------------------


def test_nothing_answers(silent: str) -> None:
    found = of("store", f"127.0.0.1:1,{silent}")
    assert found.verdict == BAD and "127.0.0.1:1: connection refused" in found.says and silent in found.says
    assert "port is open" in found.remedy
    found = of("members", f"127.0.0.1:1,{silent}")
    assert found.verdict == BAD and "127.0.0.1:1: connection refused" in found.says


def test_what_takes_too_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    ending = threading.Event()
    monkeypatch.setattr(of_store, "SECONDS", 0.1)
    monkeypatch.setattr(of_store, "_look", lambda _: ending.wait())
    try:
        found = of("store", "127.0.0.1:1")
    finally:
        ending.set()
    assert found.verdict == BAD and "not everything was answered within 0.1 s: it was left" in found.says


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"cluster": "redis://127.0.0.1"}, "is no store"),
        ({"cluster": "etcd://127.0.0.1:1,127.0.0.1:1"}, "names an address twice"),
        ({"cluster_user": "me"}, "needs a password"),
        ({"cluster_cert": "/none"}, "needs its key"),
        ({"cluster_ca": "/none"}, "/none: No such file"),
    ],
)
def test_wrong_options(words: dict[str, str], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JITC_CLUSTER_PASSWORD", raising=False)
    found = of("store", "127.0.0.1:1", **words)
    assert found.verdict == BAD and says in found.says and "correct the option" in found.remedy


def test_a_store_without_space(tmp_path: Path) -> None:
    """It can be read, and a check that writes nothing finds out that nothing can be written."""
    if reason := why_not():
        pytest.skip(reason)
    with etcd(tmp_path, options={"quota-backend-bytes": str(1 << 20)}) as full:
        [member] = full.members

        def is_full() -> bool:
            try:
                member.put("others/key", "x" * (1 << 16))
            except Exception as error:
                return "space" in str(error)
            return False

        until(is_full, 60, "it is full")
        found = of("store", full.endpoints)
        assert found.verdict == BAD and "cannot write: etcd has no space left" in found.says, found
        assert "etcdctl alarm disarm" in found.remedy
        found = of("members", full.endpoints)
        assert found.verdict == BAD and "NOSPACE" in found.says and "etcdctl alarm disarm" in found.remedy


def test_users_and_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_not():
        pytest.skip(reason)
    with etcd(tmp_path, options={"bcrypt-cost": "4"}) as cluster:
        call = cluster.members[0].call
        place = {"key": base64.b64encode(b"jitc/").decode(), "range_end": base64.b64encode(b"jitc0").decode()}
        for kind in ("READ", "READWRITE"):
            call("/v3/auth/role/add", {"name": kind})
            call("/v3/auth/role/grant", {"name": kind, "perm": {"permType": kind, **place}})
        for name, roles in (("root", ["root"]), ("reader", ["READ"]), ("jitc", ["READWRITE"]), ("nobody", [])):
            call("/v3/auth/user/add", {"name": name, "password": "right"})
            for role in roles:
                call("/v3/auth/user/grant", {"user": name, "role": role})
        call("/v3/auth/enable", {})
        monkeypatch.setenv("JITC_CLUSTER_PASSWORD", "right")
        assert of("store", cluster.endpoints, cluster_user="jitc").verdict in (GOOD, UNKNOWN)
        for user, says, remedy in (
            ("", "etcd wants a user", "--cluster-user"),
            ("stranger", "does not accept the user and the password", "--cluster-user"),
            ("nobody", "user has no permission", "etcdctl role grant-permission"),
            ("reader", "cannot write: etcd's user has no permission", "etcdctl role grant-permission"),
        ):
            found = of("store", cluster.endpoints, cluster_user=user)
            assert found.verdict == BAD and says in found.says and remedy in found.remedy, found


def test_the_command_says_all_of_it(silent: str) -> None:
    """Its document has the group, it ends in time, and nothing else is printed."""
    words = ["--device", "software", "--cluster", f"etcd://{silent},127.0.0.1:1", "--node", "n0", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "jitc.proxy.commands.jitc", "doctor", *words],
        env=clean(JITC_PEER_ADDRESS="127.0.0.1:7431", JITC_PEER_CERTIFICATES="/none"),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")
    found = {one["name"]: one["verdict"] for one in json.loads(done.stdout)["checks"] if one["group"] == "cluster"}
    assert found == {
        "node": GOOD, "certificate": BAD, "peer address": UNKNOWN, "bridge address": UNKNOWN, "store": BAD,
        "members": BAD,
    }  # fmt: skip
