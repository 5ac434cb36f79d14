"""Nodes of namespaces: what they have of their own, the faults between them, and that nothing is left of them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from toolkit.campaign import processes
from toolkit.containers import children
from toolkit.ends import LIMIT, Ends
from toolkit.nodes import NamespaceNodes, Node, Nodes, make_nodes, why_not
from toolkit.nodes.spaces import identity, is_alive
from toolkit.tree import ROOT
from toolkit.waiting import patient, readable, until, writable

DATAGRAMS = 200
MIB = 1 << 20
#: Has a connection until it ends.
CONNECTS = """
import socket, sys, threading
one = socket.create_connection((sys.argv[1], int(sys.argv[2])))
threading.Event().wait()
"""
#: A process that makes nodes with a process in each, says which these are, and waits.
MAKER = """
import sys, threading
sys.path.insert(0, sys.argv[1])
from toolkit.nodes import NamespaceNodes
nodes = NamespaceNodes(2)
started = [one.start(["sh", "-c", "sleep 600 & wait"]).pid for one in nodes]
print(*started, *(one.pid for one in nodes.holders().values()), nodes.switch.holder.pid, flush=True)
threading.Event().wait()
"""


def skip_without_namespaces() -> None:
    if reason := why_not():
        pytest.skip(reason)


@pytest.fixture
def nodes() -> Iterator[NamespaceNodes]:
    skip_without_namespaces()
    with NamespaceNodes(3) as made:
        yield made


class Connection(Ends):
    """Between two nodes."""

    def __init__(self, nodes: Nodes, source: int, target: int) -> None:
        with nodes[target].listen() as listener:
            near = nodes[source].connect(nodes.endpoint(source, target, listener.getsockname()[1]))
            super().__init__(near, listener.accept()[0])


def send_into_a_cut(nodes: NamespaceNodes, one: socket.socket, other: socket.socket) -> None:
    """What is sent is lost: the switch has taken it, and nothing has come."""
    before = nodes.switch.lost()
    one.sendall(b"later")
    until(lambda: nodes.switch.lost() > before, LIMIT, "the switch loses a packet")
    assert not readable(other, 0)


def commands(node: Node) -> list[str]:
    """The first words of the node's processes."""
    said = node.run(["sh", "-c", "for one in /proc/[0-9]*/cmdline; do xargs -0 < $one echo; done"], check=False).stdout
    return [line.split()[0] for line in said.splitlines() if line]


def sleeps_beside_the_first(node: Node, count: int) -> None:
    """Waits until so many of the node's processes sleep, as its first one does."""
    until(lambda: commands(node).count("sleep") == count + 1, LIMIT, f"{count} processes sleep")


# ---- what a node has ----------------------------------------------------------------------------
def test_nodes_reach_each_other_by_address_and_by_name(nodes: NamespaceNodes) -> None:
    assert (nodes.kind, len(nodes)) == ("namespaces", 3)
    assert [one.address for one in nodes] == ["10.77.0.1", "10.77.0.2", "10.77.0.3"]
    for source, target in ((0, 1), (1, 2), (2, 0)):
        connection = Connection(nodes, source, target)
        connection.passes()
        connection.close()
    assert nodes[0].run(["getent", "hosts", "n2"]).stdout.split() == ["10.77.0.3", "n2"]


def test_a_node_has_folders_processes_and_a_host_name_of_its_own(nodes: NamespaceNodes) -> None:
    for one in nodes:
        one.run(["sh", "-c", f"echo {one.name} | tee /run/jitc-test-node /dev/shm/jitc-test-node"])
        one.start(["sleep", "600"])
    for one in nodes:
        said = one.run(["cat", "/proc/sys/kernel/hostname", "/run/jitc-test-node", "/dev/shm/jitc-test-node"]).stdout
        assert said.split() == [one.name] * 3
        sleeps_beside_the_first(one, 1)
    assert not Path("/run/jitc-test-node").exists() and not Path("/dev/shm/jitc-test-node").exists()


def test_a_process_is_the_program_itself_in_this_folder_with_no_other_descriptor(nodes: NamespaceNodes) -> None:
    with (ROOT / "README.md").open() as other:
        os.set_inheritable(other.fileno(), True)
        # The fourth is of the folder that is listed.
        assert nodes[0].run(["sh", "-c", "ls /proc/self/fd; pwd"]).stdout.split() == ["0", "1", "2", "3", os.getcwd()]
    process = nodes[0].start(["sleep", "600"])
    command = Path(f"/proc/{process.pid}/cmdline")
    until(lambda: command.read_text() == "sleep\x00600\x00", LIMIT, "the kernel shows it")
    process.terminate()
    assert process.wait(patient(LIMIT)) == -signal.SIGTERM


def test_a_command_that_fails_or_takes_too_long_says_so(nodes: NamespaceNodes) -> None:
    with pytest.raises(AssertionError, match=r"n1: .* no such luck"):
        nodes[1].run(["sh", "-c", "echo no such luck >&2; exit 3"])
    assert nodes[1].run(["sh", "-c", "exit 3"], check=False).returncode == 3
    assert nodes[1].run(["cat"], input="given").stdout == "given"
    with pytest.raises(subprocess.TimeoutExpired):
        nodes[1].run(["sh", "-c", "sleep 600 & wait"], seconds=0.3)
    sleeps_beside_the_first(nodes[1], 0)


def test_what_has_lost_its_parent_leaves_no_zombie(nodes: NamespaceNodes) -> None:
    count = "grep -l '^State:.Z' /proc/[0-9]*/status | wc -l"
    nodes[0].run(["sh", "-c", "(sh -c 'exit 0' & exec sh -c 'exit 0') & wait; :"])
    until(lambda: nodes[0].run(["sh", "-c", count], check=False).stdout.strip() == "0", LIMIT, "there is no zombie")


# ---- faults -------------------------------------------------------------------------------------
def test_a_cut_stalls_connections_and_lets_none_be_made(nodes: NamespaceNodes) -> None:
    connection, beside = Connection(nodes, 0, 1), Connection(nodes, 1, 2)
    with nodes[1].listen() as listener, nodes[0].open_socket() as new:
        nodes.cut(0)
        before = nodes.switch.lost()
        new.setblocking(False)
        new.connect_ex((nodes[1].address, listener.getsockname()[1]))
        until(lambda: nodes.switch.lost() > before, LIMIT, "the switch loses a packet")
        assert not writable(new, 0)
        send_into_a_cut(nodes, connection.near, connection.far)
        send_into_a_cut(nodes, connection.far, connection.near)
        beside.passes()
        nodes.heal(0)
        for one in (connection.near, connection.far):
            assert one.recv(100) == b"later"
        assert writable(new, patient(LIMIT)) and not new.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    connection.passes()
    connection.close()
    beside.close()


def test_a_cut_between_two_is_seen_by_no_other(nodes: NamespaceNodes) -> None:
    cut, first, second = Connection(nodes, 0, 1), Connection(nodes, 0, 2), Connection(nodes, 2, 1)
    nodes.cut(0, 1)
    send_into_a_cut(nodes, cut.near, cut.far)
    send_into_a_cut(nodes, cut.far, cut.near)
    first.passes()
    second.passes()
    nodes.heal(1)
    assert (cut.far.recv(100), cut.near.recv(100)) == (b"later", b"later")
    for one in (cut, first, second):
        one.close()


@pytest.fixture
def datagrams(nodes: NamespaceNodes) -> Iterator[list[socket.socket]]:
    """A socket in each node, at one port."""
    made = [one.open_socket(socket.SOCK_DGRAM) for one in nodes]
    for one, node in zip(made, nodes, strict=True):
        one.bind((node.address, 4000))
        one.settimeout(patient(LIMIT))
    yield made
    for one in made:
        one.close()


def test_one_way_what_a_node_sends_is_lost_and_what_it_hears_is_not(
    nodes: NamespaceNodes, datagrams: list[socket.socket]
) -> None:
    nodes.one_way(0)
    for number in (1, 2):
        datagrams[0].sendto(b"lost", (nodes[number].address, 4000))
        datagrams[number].sendto(b"heard", (nodes[0].address, 4000))
        assert datagrams[0].recv(100) == b"heard"
    until(lambda: nodes.switch.lost() >= 2, LIMIT, "the switch loses both")
    assert not any(readable(one, 0) for one in datagrams[1:])
    nodes.heal(0)
    nodes.one_way(0, 1)
    datagrams[0].sendto(b"lost", (nodes[1].address, 4000))
    datagrams[0].sendto(b"heard", (nodes[2].address, 4000))
    assert datagrams[2].recv(100) == b"heard"
    assert nodes.switch.lost() and not readable(datagrams[1], 0)


def test_a_loss_takes_some(nodes: NamespaceNodes, datagrams: list[socket.socket]) -> None:
    nodes.loss(1, 50)
    before = nodes.switch.lost()
    for _ in range(DATAGRAMS):
        datagrams[0].sendto(b"one", (nodes[1].address, 4000))
    arrived: list[bytes] = []

    def all_counted() -> bool:
        while readable(datagrams[1], 0):
            arrived.append(datagrams[1].recv(100))
        return len(arrived) + nodes.switch.lost() - before == DATAGRAMS

    until(all_counted, LIMIT, "each packet has arrived or is lost")
    assert 0 < len(arrived) < DATAGRAMS


def test_a_rate_holds_packets_back_until_it_is_healed(nodes: NamespaceNodes) -> None:
    connection = Connection(nodes, 0, 1)
    nodes.rate(1, 200)
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(connection.near.sendall, b"x" * MIB)
        left = MIB
        while left:
            left -= len(connection.far.recv(left))
        sent.result()
    assert nodes.switch.held_back(1) > 0 == nodes.switch.held_back(0)
    nodes.heal(1)
    assert nodes.switch.held_back(1) == 0
    connection.passes()
    connection.close()


def test_faults_of_several_kinds_and_nodes_stay_apart(nodes: NamespaceNodes, datagrams: list[socket.socket]) -> None:
    nodes.loss(0, 100)
    nodes.cut(1)
    nodes.heal(1)
    datagrams[1].sendto(b"lost", (nodes[0].address, 4000))
    until(lambda: nodes.switch.lost() >= 1, LIMIT, "it is lost")
    nodes.heal(0)
    datagrams[1].sendto(b"heard", (nodes[0].address, 4000))
    assert datagrams[0].recv(100) == b"heard"
    for call, *numbers in ((nodes.cut, 7), (nodes.cut, 0, 7), (nodes.loss, 0, 101), (nodes.rate, 0, 0)):
        with pytest.raises(ValueError):
            call(*numbers)


# ---- a node that is lost ------------------------------------------------------------------------
def test_kill_ends_every_process_at_once_and_others_hear_nothing(nodes: NamespaceNodes) -> None:
    with nodes[0].listen() as listener:
        words = [sys.executable, "-c", CONNECTS, nodes[0].address, str(listener.getsockname()[1])]
        process = nodes[1].start(words)
        connection, _ = listener.accept()
    nodes[1].run(["sh", "-c", "setsid sleep 600 > /dev/null 2>&1 < /dev/null &"])
    daemon = [identity(one) for one in children(nodes.holders()[1].pid)]
    beside = nodes[2].start(["sleep", "600"])
    nodes.kill(1)
    assert process.returncode == -signal.SIGKILL
    assert daemon and not any(one and is_alive(one) for one in daemon)
    with connection:
        assert not readable(connection, 0)
    assert beside.poll() is None and not nodes[1].alive and sorted(nodes.holders()) == [0, 2]
    with pytest.raises(ValueError):
        nodes.kill(1)


def test_a_killed_node_comes_back_with_nothing_that_it_had(nodes: NamespaceNodes) -> None:
    nodes[1].run(["touch", "/run/jitc-test-node"])
    nodes.cut(1)
    nodes.kill(1)
    assert nodes.add(1).address == "10.77.0.2"
    assert nodes[1].run(["cat", "/proc/sys/kernel/hostname"]).stdout.strip() == "n1"
    assert nodes[1].run(["test", "-e", "/run/jitc-test-node"], check=False).returncode == 1
    connection = Connection(nodes, 0, 1)
    connection.passes()
    connection.close()
    assert nodes.add().name == "n3"
    with pytest.raises(ValueError, match="alive"):
        nodes.add(1)


# ---- nothing is left ----------------------------------------------------------------------------
def test_nothing_is_left_after_close(nodes: NamespaceNodes) -> None:
    with NamespaceNodes(2) as others:
        processes = [one.start(["sleep", "600"]) for one in others]
        held = [*others.holders().values(), others.switch.holder]
        before = Path("/proc/self/mountinfo").read_text()
    assert [one.returncode for one in processes] == [-signal.SIGKILL] * 2
    assert not any(is_alive(one) for one in held)
    assert Path("/proc/self/mountinfo").read_text() == before
    others.close()
    connection = Connection(nodes, 0, 1)
    connection.passes()
    connection.close()


def test_two_sets_beside_each_other_do_not_meet(nodes: NamespaceNodes) -> None:
    with NamespaceNodes(2) as others, others[1].listen(4000):
        assert [one.address for one in others] == [one.address for one in nodes][:2]
        with pytest.raises(ConnectionRefusedError):
            nodes[0].connect((nodes[1].address, 4000))
        others.cut(1)
        connection = Connection(nodes, 0, 1)
        connection.passes()
        connection.close()


def test_nodes_outlive_the_thread_that_made_them() -> None:
    skip_without_namespaces()
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(NamespaceNodes, 1).result()
        process = pool.submit(made[0].start, ["sleep", "600"]).result()
    with made:
        assert made[0].run(["true"]).returncode == 0 and process.poll() is None


def child(pid: int) -> int:
    return until(lambda: next(iter(children(pid)), None), LIMIT, "its child is there")


def test_all_is_gone_after_the_maker_was_killed() -> None:
    skip_without_namespaces()
    command = [sys.executable, "-c", MAKER, str(ROOT / "tests")]
    with processes.started(command, stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout
        pids = [int(one) for one in maker.stdout.readline().split()]
        held = [identity(one) for one in (*pids, *map(child, pids[:2]))]
        assert len(held) == 7 and all(held)
        maker.kill()
    until(lambda: not any(one and is_alive(one) for one in held), LIMIT, "every process has ended")


# ---- where they cannot be had -------------------------------------------------------------------
def test_without_root_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert why_not.__wrapped__() == "only root can make nodes of namespaces"


def test_without_a_tool_the_reason_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    assert "there is no setpriv" in why_not.__wrapped__()


def test_without_the_right_the_kernel_s_reason_is_said() -> None:
    """Root of a container, which may not make namespaces."""
    skip_without_namespaces()
    words = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", sys.executable, "-c"]
    code = "import sys; sys.path.insert(0, sys.argv[1]); from toolkit import nodes; print(nodes.why_not())"
    done = subprocess.run([*words, code, str(ROOT / "tests")], capture_output=True, text=True, check=True, timeout=60)
    assert "cannot be made here: [Errno 1] namespaces: Operation not permitted" in done.stdout


@pytest.mark.parametrize(("reason", "kind"), [("no luck", "loopback"), ("", "namespaces")])
def test_the_kind_says_which_nodes_a_test_has(monkeypatch: pytest.MonkeyPatch, reason: str, kind: str) -> None:
    if not reason:
        skip_without_namespaces()
    monkeypatch.setattr("toolkit.nodes.why_not", lambda: reason)
    with make_nodes(2) as made:
        assert (made.kind, len(made), made[1].name) == (kind, 2, "n1")
