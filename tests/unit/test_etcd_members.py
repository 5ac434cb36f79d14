"""etcd for tests: what is written is there for all members, also when one is killed, stopped or cut off."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from toolkit.campaign import processes
from toolkit.etcd import Etcd, Member, etcd, why_not
from toolkit.nodes import NamespaceNodes
from toolkit.nodes import why_not as why_no_namespaces
from toolkit.nodes.spaces import identity, is_alive
from toolkit.tree import ROOT
from toolkit.waiting import until

LIMIT = 60.0
#: A process that has a member, says who that is, and waits.
HAS_ONE = """
import pathlib, sys, threading
sys.path.insert(0, sys.argv[1])
from toolkit.campaign import processes
from toolkit.etcd import etcd
with etcd(pathlib.Path(sys.argv[2])) as cluster:
    print(cluster.members[0].process.pid, flush=True)
    threading.Event().wait()
"""


@pytest.fixture(autouse=True)
def _there_is_etcd() -> None:
    if reason := why_not():
        pytest.skip(reason)


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Etcd]:
    with etcd(tmp_path) as cluster:
        yield cluster


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Etcd]:
    with etcd(tmp_path, 3) as cluster:
        yield cluster


def others(cluster: Etcd, member: Member) -> list[Member]:
    return [each for each in cluster.members if each is not member]


def go_on(cluster: Etcd, without: Member) -> None:
    """The others have a leader, take a value and have it."""
    first, second = others(cluster, without)
    for each in (first, second):
        until(each.healthy, LIMIT, f"{each.name} is healthy")
    first.put("key", "after")
    assert second.get("key") == "after"


def test_one_member_has_what_was_written_also_after_its_death(one: Etcd, tmp_path: Path) -> None:
    [member] = one.members
    assert one.endpoints == f"{member.client[0]}:{member.client[1]}" and one.leader() is member
    assert member.get("key") is None
    member.put("key", "value")
    assert member.get("key") == "value"
    one.kill(member)
    with pytest.raises(ConnectionRefusedError):
        member.get("key")
    one.start(member)
    assert member.get("key") == "value"
    assert {each.name for each in tmp_path.iterdir()} == {"m0", "m0.log"}


def test_three_members_go_on_when_the_leader_is_killed(three: Etcd) -> None:
    assert len(three.endpoints.split(",")) == len(three.members) == 3
    three.members[0].put("key", "before")
    assert [each.get("key") for each in three.members] == ["before"] * 3
    leader = three.leader()
    three.kill(leader)
    go_on(three, leader)
    three.start(leader)
    assert leader.get("key") == "after"


def test_a_member_that_is_stopped_answers_nothing_until_it_goes_on(three: Etcd) -> None:
    leader = three.leader()
    three.stop(leader)
    with pytest.raises(TimeoutError):
        leader.get("key", seconds=0.2)
    go_on(three, leader)
    three.cont(leader)
    until(leader.healthy, LIMIT, "it is healthy again")
    assert leader.get("key") == "after"


def test_members_in_nodes_a_leader_that_is_cut_off_and_a_node_that_is_killed(tmp_path: Path) -> None:
    if reason := why_no_namespaces():
        pytest.skip(reason)
    with NamespaceNodes(4) as nodes, etcd(tmp_path, 3, [nodes[number] for number in range(3)]) as cluster:
        cluster.members[0].put("key", "before")
        leader = cluster.leader()
        nodes.cut(leader.node.number)
        go_on(cluster, leader)
        assert leader.get("key", serializable=True) == "before"
        with pytest.raises(TimeoutError):
            leader.call("/v3/maintenance/status", {}, seconds=0.2, source=nodes[3])
        nodes.heal(leader.node.number)
        until(leader.healthy, LIMIT, "it is healthy again")
        assert leader.get("key") == "after"
        nodes.kill(leader.node.number)
        assert leader.process and leader.process.poll() is not None
        go_on(cluster, leader)


def test_a_member_ends_with_the_block_and_with_a_killed_test(tmp_path: Path) -> None:
    with etcd(tmp_path / "first") as cluster:
        process = cluster.members[0].process
    assert process and process.returncode is not None
    command = [sys.executable, "-c", HAS_ONE, str(ROOT / "tests"), str(tmp_path / "second")]
    with processes.started(command, stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout
        member = identity(int(maker.stdout.readline()))
        assert member
        maker.kill()
    until(lambda: not is_alive(member), LIMIT, "the member has ended")
