"""Who is refused by a node's server, and with which words; nothing that arrives ends the service."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from peer_rig import Gate, Node, Town, caller, outcome, raw_call, read_shown
from toolkit.waiting import patient, until

from jitc.proxy.cluster.peers import contract, server
from jitc.proxy.cluster.peers.identity import Identity
from jitc.proxy.cluster.peers.server import CannotListen, PeerServer, PeerService
from jitc.v1 import peer_pb2

UNAVAILABLE, UNAUTHENTICATED = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED
DENIED, PRECONDITION = grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.FAILED_PRECONDITION
INVALID, EXHAUSTED = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED
BEAT = peer_pb2.BeatRequest().SerializeToString()


@pytest.fixture
def node(town: Town) -> Node:
    return town.node("n0", handshake_ms=300)


@pytest.fixture
def known(town: Town) -> Identity:
    """Of a node that the store has, without a service."""
    found = town.credentials("n1").identity
    town.store["n1"] = found.hash
    return found


def serves(node: Node, known: Identity) -> bool:
    """Whether the service goes on."""
    answer = raw_call(node, known, BEAT, caller("n1"))
    return bool(peer_pb2.BeatReply.FromString(answer).promise_ms == 7) if isinstance(answer, bytes) else False


@contextmanager
def connection(node: Node) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", node.server.port), patient(30)) as one:
        yield one


def ended(one: socket.socket) -> bool:
    """Whether the other end closes the connection, which a test waits for."""
    try:
        while one.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def test_a_node_of_the_cluster(node: Node, known: Identity) -> None:
    assert serves(node, known) and node.called == ["n1"]


def test_no_certificate(node: Node, known: Identity) -> None:
    code, _ = raw_call(node, None, BEAT, caller("n1"))
    assert code is UNAVAILABLE and node.called == []
    assert serves(node, known)


def test_certificates_that_are_no_longer_or_not_yet_valid_or_of_another_ca(
    town: Town, node: Node, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Town(tmp_path_factory.mktemp("other"))
    for name, made in (
        ("n2", town.credentials("n2", days=-100)), ("n3", town.credentials("n3", days=1)),
        ("n4", other.credentials("n4")),
    ):  # fmt: skip
        town.store[name] = made.identity.hash
        code, _ = raw_call(node, made.identity, BEAT, caller(name))
        assert code is UNAVAILABLE, name
    assert node.called == []


def test_a_node_that_the_store_does_not_have(town: Town, node: Node, known: Identity) -> None:
    del town.store["n1"]
    code, text = raw_call(node, known, BEAT, caller("n1"))
    assert code is DENIED and "node n1 is not in the cluster of node n0" in text
    assert node.called == []


def test_another_certificate_than_the_store_has(town: Town, node: Node, known: Identity) -> None:
    town.store["n1"] = "ab" * 32
    code, text = raw_call(node, known, BEAT, caller("n1"))
    assert code is UNAUTHENTICATED and node.called == []
    assert f"node n1 shows the certificate {known.hash[:16]}..., and the store has abababababababab..." in text


def test_in_another_nodes_name(town: Town, node: Node, known: Identity) -> None:
    town.store["n2"] = town.credentials("n2").identity.hash
    code, text = raw_call(node, known, BEAT, caller("n2"))
    assert (code, node.called) == (DENIED, []) and "node n1 calls in the name of another node" in text


def test_a_certificate_with_two_names(town: Town, node: Node) -> None:
    """The one that TLS verifies is another one than the one that it shows."""
    shown = read_shown(town.misnamed("n1", "n2"))
    for name in ("n1", "n2"):
        town.store[name] = shown.hash
        code, text = raw_call(node, shown, BEAT, caller(name))
        assert (code, node.called) == (UNAUTHENTICATED, []) and "is not that of a node; `jitc cluster add`" in text


@pytest.mark.parametrize("which", ["peer", "protocol", "records", "board", "journal", "worker"])
def test_another_version(node: Node, known: Identity, which: str) -> None:
    own = getattr(contract.versions(), which)
    for other, shown in ((own + 1, str(own + 1)), (0, "missing")):
        code, text = raw_call(node, known, BEAT, caller("n1", **{which: other}))
        assert (code, node.called) == (PRECONDITION, [])
        assert text.startswith("node n1 has ") and f" {shown}" in text and f", not {own}" in text, text
        assert "install one release of jitc on both nodes" in text
    assert which in {"peer", "records"} or which in text


def test_a_caller_that_cannot_be_read(node: Node, known: Identity) -> None:
    for metadata in ((), ((contract.CALLER, b"\xff\xff\xff"),), caller("n1") * 2, (("jitc-caller", "n1"),)):
        code, text = raw_call(node, known, BEAT, metadata)
        assert code is INVALID and "metadata" in text
    assert node.called == [] and serves(node, known)


def test_requests_that_nobody_sends(node: Node, known: Identity) -> None:
    for data in (b"\xff" * 10, os.urandom(1000)):
        code, text = raw_call(node, known, data, caller("n1"))
        assert code is INVALID and "cannot be read" in text
    code, text = raw_call(node, known, b"", caller("n1"), "Nothing")
    assert code is grpc.StatusCode.UNIMPLEMENTED
    assert node.called == [] and serves(node, known)


def test_a_request_that_is_too_large(node: Node, known: Identity) -> None:
    job = peer_pb2.JobSeen(job="x" * contract.MESSAGE_MOST)
    data = peer_pb2.BeatRequest(state=peer_pb2.NodeState(jobs=[job])).SerializeToString()
    code, _ = raw_call(node, known, data, caller("n1"))
    assert (code, node.called) == (EXHAUSTED, []) and serves(node, known)


def test_a_handler_that_fails(node: Node, known: Identity, capsys: pytest.CaptureFixture[str]) -> None:
    before = node.beat

    def fail(_: Any) -> Any:
        raise RuntimeError("broken\nin two")

    node.beat = fail
    code, text = raw_call(node, known, BEAT, caller("n1"))
    assert code is grpc.StatusCode.INTERNAL and text == r"Beat: RuntimeError('broken\nin two')"
    assert capsys.readouterr().err.count("jitc: a call has failed: Beat: ") == 1
    node.beat = before
    assert serves(node, known)


@pytest.mark.parametrize(
    "data", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"\0" * 500, b"\0" * 70_000]
)
def test_strangers_without_tls(node: Node, known: Identity, data: bytes) -> None:
    """Those that say nothing are among them: their time ends."""
    with connection(node) as one:
        one.sendall(data)
        assert ended(one)
    assert node.called == [] and serves(node, known)


def test_garbage_inside_tls(node: Node, known: Identity) -> None:
    context = known.client_context()
    context.set_alpn_protocols(["h2"])
    for data in (os.urandom(5000), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 5000):
        with connection(node) as plain, context.wrap_socket(plain, server_hostname="n0.jitc") as one:
            one.sendall(data)
            assert ended(one)
    assert node.called == [] and serves(node, known)


def test_a_store_that_cannot_say(town: Town, known: Identity) -> None:
    """Asking it raises."""

    def lost(_: str) -> str:
        raise OSError("the store is lost")

    code, text = raw_call(town.node("n0", known=lost), known, BEAT, caller("n1"))
    assert code is grpc.StatusCode.INTERNAL and "the store is lost" in text


def test_more_calls_than_there_are_threads(node: Node, known: Identity, town: Town) -> None:
    """They wait for each other, and are answered."""
    other = town.node("n2")
    other.link(node)
    answers = [other.ask("n0") for _ in range(100)]
    assert {type(outcome(one)) for one in answers} == {peer_pb2.BeatReply}


def test_calls_beyond_the_limit_are_refused(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CALLS_MOST", 2)
    node, other = town.node("n0"), town.node("n2")
    gate = Gate()
    node.beat = gate.beat
    other.link(node)
    answers = [other.ask("n0") for _ in range(3)]
    late = until(lambda: next((one for one in answers if one.done()), None), 60, "one call is refused")
    code, _ = outcome(late)
    assert code is EXHAUSTED
    gate.open.set()
    assert all(outcome(one).promise_ms == 11 for one in answers if one is not late)


def test_connections_beyond_the_limit_end_at_once(town: Town, known: Identity, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CONNECTIONS_MOST", 3)
    node = town.node("n0")
    with contextlib.ExitStack() as crowd:
        for _ in range(3):
            crowd.enter_context(connection(node))
        with connection(node) as one:
            assert ended(one)
    until(lambda: serves(node, known), 60, "there is room again")


def test_addresses_at_which_nobody_can_listen(town: Town, node: Node) -> None:
    service = PeerService(lambda *_: peer_pb2.BeatReply())
    credentials = town.credentials("n7")
    for address, words in (
        (node.address, "Address already in use"), ("192.0.2.1:7431", "cannot listen at 192.0.2.1:7431: "),
        ("nowhere.invalid:7431", "cannot listen at nowhere.invalid:7431: "), ("7431", "no address like 10.0.0.1:7431"),
        ("unix:/tmp/x", "is no address"), ("127.0.0.1:65536", "is no address"), ("", "is no address"),
    ):  # fmt: skip
        with pytest.raises(CannotListen) as refused:
            PeerServer(address, credentials, town.store.get, service.add)
        assert words in str(refused.value)


def test_a_new_certificate_is_shown_to_new_connections(town: Town, node: Node, known: Identity) -> None:
    """Also while old connections go on."""
    shown = []
    context = known.client_context()
    context.set_alpn_protocols(["h2"])
    for _ in range(2):
        with connection(node) as plain, context.wrap_socket(plain, server_hostname="n0.jitc") as one:
            shown.append(one.getpeercert(binary_form=True))
        town.renew("n0")
    assert shown[0] != shown[1]
    assert serves(node, known)


def test_names_that_differ_in_capitals_are_two_nodes(town: Town, node: Node) -> None:
    """DNS knows no difference, certificates do."""
    capital = town.credentials("N1").identity
    town.store["n1"] = capital.hash
    code, text = raw_call(node, capital, BEAT, caller("n1"))
    assert code is DENIED and "node N1 is not in the cluster" in text
    assert node.called == []
