"""Nodes where namespaces are not allowed, and the relays between them."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from toolkit.campaign import processes
from toolkit.containers import children
from toolkit.ends import LIMIT, Ends
from toolkit.nodes import LoopbackNodes, Unsupported, loopback
from toolkit.nodes.links import Direction, Link, Links
from toolkit.nodes.node import Address
from toolkit.nodes.spaces import identity, is_alive
from toolkit.tree import ROOT
from toolkit.waiting import patient, readable, until, writable

HOUR = 3600.0
#: Has a connection until it ends.
CONNECTS = """
import socket, sys, threading
one = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
threading.Event().wait()
"""
#: A process that makes a node with a process in it that has a child, says who that is, and waits.
MAKER = """
import sys, threading
sys.path.insert(0, sys.argv[1])
from toolkit.nodes import LoopbackNodes
nodes = LoopbackNodes(1)
print(nodes[0].start(["sh", "-c", "setsid sleep 600 & wait"]).pid, flush=True)
threading.Event().wait()
"""


class Connection(Ends):
    """Through a relay."""

    def __init__(self, listener: socket.socket, address: Address) -> None:
        near = socket.create_connection(address, patient(LIMIT))
        super().__init__(near, listener.accept()[0])


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as one:
        one.settimeout(patient(LIMIT))
        yield one


@pytest.fixture
def link(listener: socket.socket) -> Iterator[Link]:
    with Links() as links:
        yield links.open(listener.getsockname())


@pytest.fixture
def connection(listener: socket.socket, link: Link) -> Iterator[Connection]:
    one = Connection(listener, link.address)
    yield one
    one.close()


# ---- a link -------------------------------------------------------------------------------------
def test_a_link_relays_everything_and_the_end_of_each_direction(connection: Connection, link: Link) -> None:
    connection.passes()
    content = bytes(range(256)) * 8192

    def send() -> None:
        connection.near.sendall(content)
        connection.near.shutdown(socket.SHUT_WR)

    with connection.far.makefile("rb") as arrived:
        sender = threading.Thread(target=send)
        sender.start()
        assert arrived.read() == content
        sender.join()
    connection.far.sendall(b"still")
    connection.far.close()
    assert (connection.near.recv(100), connection.near.recv(100)) == (b"still", b"")
    until(lambda: link.connections() == 0, LIMIT, "the link has ended the connection")


def test_a_cut_stalls_a_connection_and_lets_none_be_made(
    listener: socket.socket, link: Link, connection: Connection
) -> None:
    link.cut()
    connection.near.sendall(b"later")
    connection.far.sendall(b"later")
    until(lambda: link.held() == 2, LIMIT, "the link holds both")
    with socket.socket() as new:
        new.setblocking(False)
        new.connect_ex(link.address)
        assert not readable(connection.near, patient(0.2)) and not any(
            readable(one, 0) for one in (connection.far, listener)
        )
        link.heal()
        assert writable(new, patient(LIMIT)) and not new.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        listener.accept()[0].close()
    assert (connection.near.recv(100), connection.far.recv(100)) == (b"later", b"later")
    connection.passes()


def test_a_cut_hides_the_end_of_a_connection(link: Link, connection: Connection) -> None:
    link.cut()
    connection.far.close()
    until(lambda: link.held() == 1, LIMIT, "the link holds the end")
    assert not readable(connection.near, 0)
    link.heal()
    assert connection.near.recv(100) == b""


@pytest.mark.parametrize("lost", Direction)
def test_one_way_the_other_direction_passes(link: Link, connection: Connection, lost: Direction) -> None:
    link.one_way(lost)
    ends = [connection.near, connection.far]
    source, target = ends if lost is Direction.FORTH else reversed(ends)
    source.sendall(b"later")
    target.sendall(b"now")
    assert source.recv(100) == b"now"
    until(lambda: link.held() == 1, LIMIT, "the link holds the one")
    assert not readable(target, 0)
    link.heal()
    assert target.recv(100) == b"later"


def test_a_delay_holds_all_until_its_time_has_come(link: Link, connection: Connection) -> None:
    link.delay(HOUR)
    connection.near.sendall(b"later")
    until(lambda: link.held() == 1, LIMIT, "the link holds it")
    link.delay(0.01)
    assert connection.far.recv(100) == b"later"
    connection.passes()


def test_a_drop_resets_connections_and_others_can_be_made(
    listener: socket.socket, link: Link, connection: Connection
) -> None:
    link.drop()
    for one in (connection.near, connection.far):
        with pytest.raises(ConnectionResetError):
            one.recv(100)
    again = Connection(listener, link.address)
    again.passes()
    again.close()


def test_a_target_that_refuses_ends_the_connection(link: Link, listener: socket.socket) -> None:
    listener.close()
    with pytest.raises(ConnectionResetError), socket.create_connection(link.address, patient(LIMIT)) as one:
        one.recv(100)


# ---- nodes --------------------------------------------------------------------------------------
@pytest.fixture
def nodes() -> Iterator[LoopbackNodes]:
    with LoopbackNodes(3) as made:
        yield made


def between(nodes: LoopbackNodes, source: int, target: int) -> Connection:
    with nodes[target].listen() as listener:
        listener.settimeout(patient(LIMIT))
        return Connection(listener, nodes.endpoint(source, target, listener.getsockname()[1]))


def test_faults_hit_the_nodes_that_they_are_of(nodes: LoopbackNodes) -> None:
    assert [one.address for one in nodes] == ["127.0.0.11", "127.0.0.12", "127.0.0.13"]
    forth, back, beside = between(nodes, 0, 1), between(nodes, 2, 0), between(nodes, 1, 2)
    nodes.cut(0)
    for one in (forth, back):
        one.near.sendall(b"later")
        one.far.sendall(b"later")
    beside.passes()
    nodes.heal(0)
    for one in (forth, back):
        assert (one.near.recv(100), one.far.recv(100)) == (b"later", b"later")
    nodes.cut(0, 1)
    back.passes()
    forth.near.sendall(b"later")
    assert not readable(forth.far, patient(0.1))
    nodes.heal(1)
    assert forth.far.recv(100) == b"later"
    nodes.drop(2)
    forth.passes()
    for one in (back, beside):
        with pytest.raises(ConnectionResetError):
            one.near.recv(100)
    for each in (forth, back, beside):
        each.close()


def test_one_way_is_what_a_node_sends_whoever_connected(nodes: LoopbackNodes) -> None:
    forth, back = between(nodes, 0, 1), between(nodes, 1, 0)
    nodes.one_way(0)
    for lost, end, other in ((True, forth.near, forth.far), (False, back.near, back.far)):
        end.sendall(b"sent")
        assert readable(other, patient(0.1) if lost else patient(LIMIT)) != lost
    nodes.heal(0)
    assert forth.far.recv(100) == b"sent"
    for each in (forth, back):
        each.close()


def test_a_fault_is_there_for_links_that_come_later(nodes: LoopbackNodes) -> None:
    nodes.cut(0)
    with nodes[1].listen() as listener, socket.socket() as one:
        one.setblocking(False)
        one.connect_ex(nodes.endpoint(0, 1, listener.getsockname()[1]))
        assert not writable(one, patient(0.1))
        nodes.heal(0)
        assert writable(one, patient(LIMIT))


def test_kill_ends_every_process_and_others_hear_nothing(nodes: LoopbackNodes) -> None:
    with nodes[1].listen() as listener:
        port = nodes.endpoint(0, 1, listener.getsockname()[1])[1]
        process = nodes[0].start([sys.executable, "-c", CONNECTS, str(port)])
        connection, _ = listener.accept()
    shell = nodes[0].start(["sh", "-c", "setsid sleep 600 & wait"])
    daemon = identity(until(lambda: next(iter(children(shell.pid)), None), LIMIT, "its child is there"))
    beside = nodes[1].start(["sleep", "600"])
    nodes.kill(0)
    assert process.returncode == shell.returncode == -signal.SIGKILL
    assert daemon and not is_alive(daemon)
    with connection:
        assert not readable(connection, 0)
    assert beside.poll() is None and not nodes[0].alive
    nodes.add(0)
    again = between(nodes, 0, 1)
    again.passes()
    again.close()
    nodes.close()
    assert beside.returncode == -signal.SIGKILL


def test_what_a_killed_test_left_ends_with_the_next_one() -> None:
    command = [sys.executable, "-c", MAKER, str(ROOT / "tests")]
    with processes.started(command, stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout
        shell = int(maker.stdout.readline())
        child = until(lambda: next(iter(children(shell)), None), LIMIT, "its child is there")
        started, left = identity(shell), identity(child)
        assert started and left
        maker.kill()
    until(lambda: not is_alive(started), LIMIT, "what it started has ended with it")
    loopback.sweep()
    assert not is_alive(left)


def test_what_only_a_network_can_do_is_refused(nodes: LoopbackNodes) -> None:
    for call in (nodes.loss, nodes.rate):
        with pytest.raises(Unsupported, match="nodes of loopback"):
            call(0, 10)
