"""Links to other nodes: which node may be at the other end, what is said of one that may not, cuts, and renewals."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from peer_rig import CALL_SECONDS, Gate, Node, Shown, Town, caller, outcome, raw_call, threads, user_timeouts
from toolkit.nodes.links import Link, Links
from toolkit.waiting import patient, until

from jitc.proxy.cluster.peers import contract, link
from jitc.v1 import peer_pb2

UNAVAILABLE, UNAUTHENTICATED = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED
PRECONDITION, EXHAUSTED = grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.RESOURCE_EXHAUSTED
LATE = grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.fixture
def pair(town: Town, monkeypatch: pytest.MonkeyPatch) -> tuple[Node, Node]:
    """Two nodes; on a busy machine an attempt has longer."""
    monkeypatch.setattr(link, "SHOW_SECONDS", CALL_SECONDS)
    monkeypatch.setattr(link, "HELLO_SECONDS", CALL_SECONDS)
    return town.node("n0"), town.node("n1")


def answered(answer: Any) -> bool:
    return isinstance(outcome(answer), peer_pb2.BeatReply)


# -- who is at the other end ----------------------------------------------------------------------


def test_calls_in_both_directions(pair: tuple[Node, Node]) -> None:
    for one, other in (pair, pair[::-1]):
        one.link(other)
        assert one.peers.trouble(other.name) == "" and one.peers.facts(other.name) is None
        assert outcome(one.ask(other.name)).promise_ms == 7
        assert other.called == [one.name]
        facts = one.peers.facts(other.name)
        assert facts and facts.host == socket.gethostname() and facts.release and facts.wall_ms > 1.7e12
        assert one.peers.nodes() == [other.name]


def test_many_calls_at_once_while_the_link_opens(pair: tuple[Node, Node]) -> None:
    one, other = pair
    one.link(other)
    assert all(answered(answer) for answer in [one.ask("n1") for _ in range(50)])
    assert len(other.called) == 50


def test_a_node_without_a_link(pair: tuple[Node, Node]) -> None:
    assert outcome(pair[0].ask("n1")) == (UNAVAILABLE, "node n1: there is no link to it")
    assert pair[0].peers.trouble("n1") == "node n1: there is no link to it"
    pair[0].link(pair[1])
    with pytest.raises(ValueError, match="Nothing is no method of Peer"):
        pair[0].ask("n1", method="Nothing")
    pair[0].peers.unlink("n1")
    assert outcome(pair[0].ask("n1"))[0] is UNAVAILABLE and pair[0].peers.nodes() == []


def test_another_certificate_than_the_store_has(pair: tuple[Node, Node]) -> None:
    one, other = pair
    one.link(other, hash="ab" * 32)
    code, text = outcome(one.ask("n1"))
    own = other.credentials.identity.hash[:16]
    assert code is UNAUTHENTICATED and other.called == []
    assert f"node n1: the service at {other.address} shows the certificate {own}..." in text
    assert "the store has abababababababab..." in text and one.peers.trouble("n1") == text
    one.link(other)
    assert answered(one.ask("n1")) and one.peers.trouble("n1") == ""


def test_a_server_that_shows_another_certificate_later_gets_no_call(pair: tuple[Node, Node], town: Town) -> None:
    """It has the name and the CA, and takes the address over when the link is open."""
    one, other = pair
    one.link(other)
    assert answered(one.ask("n1"))
    address = other.address
    other.server.stop()
    town.renew("n1")  # another key, of the same name
    other.credentials.look()
    other.server = other._serve(address)
    del other.called[:]
    code, _ = until(lambda: refused(one.ask("n1"), "CERTIFICATE_VERIFY_FAILED"), 60, "the server is refused")
    assert code is UNAVAILABLE and other.called == []
    one.link(other, hash=other.credentials.identity.hash)
    town.store["n1"] = other.credentials.identity.hash
    assert answered(one.ask("n1"))


def refused(answer: Any, words: str) -> Any:
    """The outcome if it is a refusal with these words."""
    found = outcome(answer)
    return found if isinstance(found, tuple) and words in found[1] else None


def test_another_nodes_certificate(pair: tuple[Node, Node]) -> None:
    one, other = pair
    one.link(other, name="n7")
    code, text = outcome(one.ask("n7"))
    assert code is UNAVAILABLE
    assert text == f"node n7 at {other.address} shows the certificate of node n1: is the address right?"


def test_servers_whose_certificate_is_not_valid(town: Town, tmp_path_factory: pytest.TempPathFactory) -> None:
    other_ca = Town(tmp_path_factory.mktemp("other"))
    one = town.node("n0")
    for name, made, words in (
        ("n1", town.credentials("n1", days=-100), "shows a certificate that has expired; `jitc cluster show`"),
        ("n2", town.credentials("n2", days=1), "not valid yet: the clock of this machine may differ"),
        ("n3", other_ca.credentials("n3"), "shows a certificate of another CA"),
    ):
        other = town.node(name, made)
        one.link(other)
        code, text = outcome(one.ask(name))
        assert code is UNAVAILABLE and text.startswith(f"node {name} at {other.address} ") and words in text


def test_this_nodes_certificate_is_not_valid(town: Town, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The other end says nothing, and the text says what may be wrong."""
    other = town.node("n0")
    strange = Town(tmp_path_factory.mktemp("other")).credentials("n3").identity
    of_both = Shown(strange)
    object.__setattr__(of_both.identity, "authority", other.credentials.identity.authority)
    for credentials in (town.credentials("n1", days=-100), town.credentials("n2", days=1), of_both):
        one = town.node(credentials.identity.node, credentials)
        one.link(other)
        code, text = outcome(one.ask("n0"))
        assert code is UNAVAILABLE and f"refuses the certificate of node {one.name}, which is valid from 20" in text
    assert other.called == []


def test_this_nodes_certificate_expires(town: Town, pair: tuple[Node, Node]) -> None:
    one, other = pair
    one.credentials._now = lambda: time.time() + 91 * 86400
    one.link(other)
    code, text = outcome(one.ask("n1"))
    assert code is UNAUTHENTICATED and "the certificate of node n0 expired on 20" in text


def test_refusals_of_the_other_end_are_passed_on(
    town: Town, pair: tuple[Node, Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = pair
    one.link(other)
    town.store["n0"] = "ab" * 32
    code, text = outcome(one.ask("n1"))
    assert code is UNAUTHENTICATED and text.startswith("node n1: node n0 shows the certificate ")
    del town.store["n0"]
    code, text = outcome(one.ask("n1"))
    assert code is grpc.StatusCode.PERMISSION_DENIED and "node n0 is not in the cluster of node n1" in text
    town.store["n0"] = one.credentials.identity.hash
    monkeypatch.setattr(link, "as_metadata", lambda node: caller(node, board=99))
    code, text = outcome(one.ask("n1"))
    assert code is PRECONDITION and "node n0 has board version 99, not " in text and "(n1 refuses)" in text
    assert one.peers.trouble("n1") == text and other.called == []


# -- nobody, and strangers, at the address --------------------------------------------------------


def at(listener: socket.socket) -> str:
    return f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as one:
        one.settimeout(patient(30))
        yield one


def test_who_listens_and_says_nothing(town: Town, listener: socket.socket) -> None:
    one = town.node("n0")
    one.peers.link("n1", at(listener), "ab" * 32)
    code, text = outcome(one.ask("n1"))
    assert code is UNAVAILABLE and text.endswith(" does not answer")


def test_a_call_has_its_time_alone(pair: tuple[Node, Node], listener: socket.socket) -> None:
    """However long the link takes to open."""
    one, _ = pair
    one.peers.link("n1", at(listener), "ab" * 32)
    answer = one.peers.ask("n1", "Beat", peer_pb2.BeatRequest(), 0.05)
    assert outcome(answer) == (LATE, "node n1: no answer to Beat within 0.05 s")
    assert "jitc-link-n1" in threads(), "the attempt goes on"
    accepted, _ = listener.accept()
    accepted.close()


def test_who_listens_and_is_no_node(town: Town, listener: socket.socket) -> None:
    one = town.node("n0")
    one.peers.link("n1", at(listener), "ab" * 32)
    for data, words in ((b"SSH-2.0-OpenSSH_9.2\r\n", "is no service of a node"), (b"", "cannot be reached")):
        answer = one.ask("n1")
        with listener.accept()[0] as accepted:
            accepted.recv(1)
            accepted.sendall(data)
        code, text = outcome(answer)
        assert code is UNAVAILABLE and (words in text or "is no service of a node" in text), text


def test_addresses_of_nobody(town: Town, listener: socket.socket) -> None:
    one = town.node("n0")
    port = listener.getsockname()[1]
    listener.close()
    for address, words in (
        (f"127.0.0.1:{port}", f"node n1 at 127.0.0.1:{port} cannot be reached: Connection refused"),
        ("unix:/tmp/x", "is no address like"), ("unix:7431", "node n1 at unix:7431 cannot be reached"),
        ("127.0.0.1", "is no address like"), ("", "is no address like"),
    ):  # fmt: skip
        one.peers.link("n1", address, "ab" * 32)
        code, text = outcome(one.ask("n1"))
        assert code is UNAVAILABLE and words in text, text


def test_too_many_calls_wait(pair: tuple[Node, Node], listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "WAITING_MOST", 3)
    one, _ = pair
    one.peers.link("n1", at(listener), "ab" * 32)
    answers = [one.ask("n1") for _ in range(4)]
    assert outcome(answers[3]) == (EXHAUSTED, "node n1: 3 calls wait for the link to it already")
    one.peers.close()
    assert [outcome(each) for each in answers[:3]] == [(UNAVAILABLE, "node n1: the link to it has been closed")] * 3
    listener.accept()[0].close()


def test_a_request_that_is_too_large(pair: tuple[Node, Node]) -> None:
    one, other = pair
    one.link(other)
    job = peer_pb2.JobSeen(job="x" * contract.MESSAGE_MOST)
    code, _ = outcome(one.ask("n1", peer_pb2.BeatRequest(state=peer_pb2.NodeState(jobs=[job]))))
    assert code is EXHAUSTED and other.called == []
    other.beat = lambda _: peer_pb2.BeatReply(state=peer_pb2.NodeState(jobs=[job]))
    assert outcome(one.ask("n1"))[0] is EXHAUSTED
    other.beat = lambda _: peer_pb2.BeatReply()
    assert answered(one.ask("n1"))


# -- cuts -----------------------------------------------------------------------------------------


@pytest.fixture
def relay(pair: tuple[Node, Node]) -> Iterator[Link]:
    """Between the first node and the second."""
    with Links() as links:
        yield links.open(("127.0.0.1", pair[1].server.port))


def through(relay: Link) -> str:
    return f"127.0.0.1:{relay.address[1]}"


def test_cut_and_healed(pair: tuple[Node, Node], relay: Link) -> None:
    """A call that is cut fails, and so do others; when the link is whole again calls go on by themselves."""
    one, other = pair
    one.link(other, address=through(relay))
    assert answered(one.ask("n1"))
    relay.cut()
    code, text = outcome(one.ask("n1", seconds=120))
    assert code is UNAVAILABLE and text.startswith("node n1: ")
    assert outcome(one.ask("n1", seconds=0.1))[0] in (UNAVAILABLE, LATE)
    relay.heal()
    until(lambda: answered(one.ask("n1")), 60, "the link is whole")


def test_a_connection_that_breaks_is_made_again(pair: tuple[Node, Node], relay: Link) -> None:
    one, other = pair
    one.link(other, address=through(relay))
    gate = Gate()
    other.beat = gate.beat
    answer = one.ask("n1")
    assert gate.entered.wait(patient(30))
    relay.drop()
    assert outcome(answer)[0] is UNAVAILABLE
    gate.open.set()
    until(lambda: answered(one.ask("n1")), 60, "there is another connection")


def test_another_service_of_the_node(pair: tuple[Node, Node]) -> None:
    one, other = pair
    one.link(other)
    assert answered(one.ask("n1"))
    other.begin_anew()
    until(lambda: answered(one.ask("n1")), 60, "the next service answers")


def test_the_kernel_gives_a_silent_connection_up(pair: tuple[Node, Node]) -> None:
    """TCP_USER_TIMEOUT is set at both ends."""
    one, other = pair
    one.link(other)
    assert answered(one.ask("n1"))
    assert user_timeouts(other.server.port) == [contract.SILENT_MS] * 2


# -- other certificates ---------------------------------------------------------------------------


def test_this_node_gets_another_certificate(pair: tuple[Node, Node], town: Town) -> None:
    """A call that is in flight goes on, and the next one has the new certificate, which the store has by then."""
    one, other = pair
    one.link(other)
    gate = Gate()
    other.beat = gate.beat
    flying = one.ask("n1")
    assert gate.entered.wait(patient(30))
    before = one.credentials.identity
    town.renew("n0")
    one.peers.refresh()
    after = one.credentials.identity
    assert before != after and town.store["n0"] == after.hash
    way = one.peers._links["n1"]
    until(lambda: way._way is not None and way._way.identity is after, 60, "the link has it")
    one.peers.refresh()  # which leaves the old channel open as long as it has a call
    gate.open.set()
    assert outcome(flying).promise_ms == 11
    assert answered(one.ask("n1"))
    one.peers.refresh()
    until(lambda: one.peers.refresh() or not way._left, 60, "the old channel is closed")


def test_a_store_that_does_not_take_the_new_certificate(pair: tuple[Node, Node], town: Town) -> None:
    """The old one is used until the store has the new one."""
    one, other = pair
    one.link(other)
    assert answered(one.ask("n1"))
    before, taken = one.credentials.identity, one.peers._renewed

    def lost(_: str) -> None:
        raise OSError("the store is lost")

    one.peers._renewed = lost
    town.renew("n0")
    with pytest.raises(OSError, match="the store is lost"):
        one.peers.refresh()
    way = one.peers._links["n1"]
    assert answered(one.ask("n1")) and way._way is not None and way._way.identity is before
    one.peers._renewed = taken
    one.peers.refresh()
    until(lambda: answered(one.ask("n1")) and way._way and way._way.identity is not before, 60, "it is used")


def test_the_other_node_gets_another_certificate(pair: tuple[Node, Node], town: Town) -> None:
    one, other = pair
    one.link(other)
    assert answered(one.ask("n1"))
    town.renew("n1")
    other.peers.refresh()
    one.link(other)  # the store has changed
    assert answered(one.ask("n1"))
    assert (
        raw_call(other, one.credentials.identity, b"", caller("n0"))
        == peer_pb2.BeatReply(promise_ms=7).SerializeToString()
    )


def test_the_thread_of_the_links_looks_for_it(pair: tuple[Node, Node], town: Town) -> None:
    one, _ = pair
    one.peers.start()
    before = town.store["n0"]
    town.renew("n0")
    until(lambda: town.store["n0"] != before, 60, "the store has the new certificate")


def test_the_store_is_written_once_for_each_certificate(pair: tuple[Node, Node], town: Town) -> None:
    one, _ = pair
    written: list[str] = []
    one.peers._renewed = written.append
    for _ in range(2):
        town.renew("n0")
        one.peers.refresh()
        one.peers.refresh()
    assert len(written) == len(set(written)) == 2


def test_closed_links(pair: tuple[Node, Node]) -> None:
    one, other = pair
    one.link(other)
    gate = Gate()
    other.beat = gate.beat
    answer = one.ask("n1")
    assert gate.entered.wait(patient(30))
    one.peers.close()
    assert outcome(answer) == (UNAVAILABLE, "node n1: the link to it has been closed")
    gate.open.set()
    one.link(other)
    assert one.peers.nodes() == [] and outcome(one.ask("n1"))[0] is UNAVAILABLE


def test_there_is_a_limit_to_links(pair: tuple[Node, Node], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jitc.proxy.cluster.peers.client.NODES_MOST", 2)
    for name in ("n1", "n2", "n1"):
        pair[0].peers.link(name, "127.0.0.1:1", "ab" * 32)
    with pytest.raises(ValueError, match="2 nodes are linked, and node n3 would be one more"):
        pair[0].peers.link("n3", "127.0.0.1:1", "ab" * 32)
