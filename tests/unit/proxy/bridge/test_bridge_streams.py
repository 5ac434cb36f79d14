"""Streams between bridges: what arrives, what is cut, and what is said, whatever becomes of a stream or of its ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from bridge_rig import SECONDS, THREADS, Node, Town, town
from toolkit.waiting import patient, until

from jitc.proxy.bridge import incoming, outgoing
from jitc.proxy.bridge.control import PEERS_MOST
from jitc.proxy.bridge.library import BridgeError
from jitc.proxy.bridge.mirror import Malformed
from jitc.proxy.cluster.peers.contract import as_metadata
from jitc.proxy.common import rpc
from jitc.v1 import bridge_pb2

Said = Callable[[], list[str]]


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Node, Node]]:
    with town(tmp_path) as made:
        first, second = made.connect()
        yield first, second


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Said:
    """Returns the lines that bridges have said so far."""
    found: list[str] = []

    def more() -> list[str]:
        found.extend(capfd.readouterr().err.splitlines())
        return found

    return more


def raw(node: Node, batches: Any) -> Any:
    """Another stream to the only other node, with the node's own certificate: what its sender is answered, in order."""
    return over(way(node, node.opened[-1]), node, batches)


def way(node: Node, like: outgoing.Outgoing) -> grpc.Channel:
    node.channels.append(like._open(like.peer))
    return node.channels[-1]


def over(channel: grpc.Channel, node: Node, batches: Any) -> Any:
    return rpc.frames(channel).Send(batches, metadata=as_metadata(node.name), timeout=patient(SECONDS))


def outcome(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as error:
        for _ in call:
            pass
    return rpc.status_of(error.value)


def test_frames_arrive_in_order_and_whole(two: tuple[Node, Node]) -> None:
    first, second = two
    there = [bytes([number % 251]) * (1 + 4099 * number) for number in range(60)]
    back = [b"back" * number for number in range(1, 30)]
    first.mirror.publish(2, *there)
    second.mirror.publish(1, *back)
    second.wait_applied(*there)
    first.wait_applied(*back)
    assert {number for number, _ in second.mirror.applied} == {1} and not first.mirror.cuts and not second.mirror.cuts


def test_nothing_is_collected_before_the_stream_is_admitted(tmp_path: Path) -> None:
    with town(tmp_path) as made:
        first, second = made.nodes
        first.mirror.publish(2, b"one", b"two")
        first.meets(second)  # which does not know the first yet
        until(lambda: "n1" in first.traffic(second).trouble, SECONDS, "it is refused")
        assert not first.mirror.asked and not first.mirror.cuts
        second.meets(first)
        second.wait_applied(b"one", b"two")
        assert not first.traffic(second).trouble


def test_a_stream_that_breaks_cuts_once_on_both_ends_and_begins_anew(two: tuple[Node, Node], said: Said) -> None:
    first, second = two
    first.mirror.publish(2, b"before")
    second.wait_applied(b"before")
    first.stream(second)._stream.call.cancel()
    for node, other in ((first, second), (second, first)):
        node.wait_cut()
        ((number, why),) = node.mirror.cuts
        assert number == other.number and f"node {other.name} has broken" in why
    first.wait_connected(second)
    first.mirror.publish(2, b"after")
    second.wait_applied(b"before", b"after")
    assert len(first.mirror.cuts) == len(second.mirror.cuts) == 1
    assert sorted(one[:52] for one in said()) == [
        "jitc-bridge: the connection from node n1 has broken:",
        "jitc-bridge: the connection to node n2 has broken: L",
    ]


def test_what_is_lost_with_a_stream_is_cut_before_anything_else_is_sent(two: tuple[Node, Node]) -> None:
    """Frames may have been collected for a stream that no longer carries them."""
    first, second = two
    cut_at: list[int] = []
    plain = first.mirror.cut

    def cut(peer: int, why: str) -> None:
        cut_at.append(len(first.mirror.collected))
        plain(peer, why)

    first.mirror.cut = cut  # type: ignore[method-assign]
    first.mirror.publish(2, *(b"%d" % number for number in range(200)))
    until(lambda: len(first.mirror.collected) > 3, SECONDS, "some are on their way")
    first.stream(second)._stream.call.cancel()
    first.wait_cut()
    second.wait_cut()
    until(lambda: len(first.mirror.collected) == 200, SECONDS, "the rest has been collected")
    first.mirror.publish(2, b"last")
    until(lambda: (1, b"last") in second.mirror.applied, SECONDS, "the last one has come")
    came = [int(one) for _, one in second.mirror.applied if one != b"last"]
    assert came == sorted(set(came)) and set(range(cut_at[0], 200)) <= set(came), "those after the cut came, all"


def test_a_bridge_that_is_away_is_reached_again(
    two: tuple[Node, Node], said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outgoing, "QUIET_SECONDS", 0.0)
    first, second = two
    second.vanish()
    first.wait_cut()
    until(lambda: sum("n2 is not connected" in one for one in said()) or None, SECONDS, "it is said")
    tries = len(first.opened), first.mirror.asked
    second.serve()
    second.mirror.cuts.clear()
    first.wait_connected(second)
    first.mirror.publish(2, b"again")
    until(lambda: (1, b"again") in second.mirror.applied, SECONDS, "it comes")
    assert tries[0] == len(first.opened), "it is one stream's thread all the time"


def test_a_reason_is_said_once(tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing, "QUIET_SECONDS", 0.0)
    with town(tmp_path) as made:
        first, second = made.nodes
        attempts: list[None] = []
        plain = second.control.known

        def known(node: str) -> str | None:
            attempts.append(None)
            return plain(node)

        second.vanish()
        second.control.known = known  # type: ignore[method-assign]
        second.serve()
        first.meets(second)
        until(lambda: len(attempts) > 4, SECONDS, "it has tried several times")
        assert len([one for one in said() if "n2 is not connected" in one]) == 1, said()


def test_a_stream_that_always_breaks_says_so_once(
    two: tuple[Node, Node], said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a second each: however quickly it is admitted again."""
    for module in (incoming, outgoing):
        monkeypatch.setattr(module, "QUIET_SECONDS", 1e9)
    first, second = two
    second.mirror.errors["apply"] = Malformed("a mark is missing")
    for count in range(1, 5):
        first.mirror.publish(2, b"x")
        second.wait_cut(count)
        first.wait_cut(count)
        first.wait_connected(second)
    lines = [one for one in said() if "a mark is missing" in one]
    assert len(lines) == 2 and {one.split(" has broken")[0][-7:] for one in lines} == {"node n1", "node n2"}, lines


def test_streams_without_a_job_in_common_end_without_a_word(two: tuple[Node, Node], said: Said) -> None:
    """Whichever end knows first; what ranks have published before arrives."""
    first, second = two
    first.mirror.publish(2, b"last", b"words")
    first.meets()
    second.wait_applied(b"last", b"words")
    first.stream(second).join()
    until(lambda: not second.traffic(first).receives, SECONDS, "the stream has ended")
    second.mirror.publish(1, b"late")
    first.wait_applied(b"late")
    second.meets()
    second.stream(first).join()
    until(lambda: not first.control.incoming.receives(2), SECONDS, "the other one has ended")
    assert not said() and not first.mirror.cuts and not second.mirror.cuts


def test_nodes_that_meet_again_go_on(two: tuple[Node, Node], said: Said) -> None:
    """A stream that has not ended yet does so before the next one collects anything."""
    first, second = two
    frames, gate, plain = [b"%d" % number for number in range(40)], threading.Event(), first.mirror.collect

    def held(peer: int, milliseconds: int) -> bytes:
        assert gate.wait(patient(SECONDS))
        return plain(peer, milliseconds)

    first.mirror.collect = held  # type: ignore[method-assign]
    first.mirror.publish(2, *frames)
    first.meets()
    first.meets(second)
    until(first.opened[1]._thread.is_alive, SECONDS, "the next one is there")
    assert not first.opened[1]._since and not first.opened[1].sends
    gate.set()
    first.wait_connected(second)
    first.mirror.publish(2, b"new")
    second.wait_applied(*frames, b"new")
    assert not said() and not first.mirror.cuts and not second.mirror.cuts


def test_a_stream_that_is_closed_and_cannot_send_the_rest_is_cut(
    two: tuple[Node, Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outgoing, "LAST_SECONDS", 0.05)
    first, second = two
    plain = first.mirror.collect

    def endless(peer: int, milliseconds: int) -> bytes:
        first.mirror.publish(2, b"more")
        return plain(peer, milliseconds)

    first.mirror.collect = endless  # type: ignore[method-assign]
    first.meets()
    first.wait_cut()
    second.wait_cut()


def test_another_address_or_certificate_is_for_the_next_stream(two: tuple[Node, Node]) -> None:
    first, second = two
    first.meets(second.peer(certificate="ab" * 32, address="127.0.0.1:1"))
    first.mirror.publish(2, b"still")
    second.wait_applied(b"still")
    assert not first.mirror.cuts and len(first.opened) == 1 and first.opened[0].peer.address == "127.0.0.1:1"
    assert first.control.known("n2") == "ab" * 32
    first.opened[0]._stream.call.cancel()
    until(lambda: "127.0.0.1:1" in first.traffic(second).trouble, SECONDS, "it is tried there")
    first.meets(second)
    first.wait_connected(second)


@pytest.mark.parametrize(
    ("error", "code"),
    [(Malformed("a mark is missing"), "INVALID_ARGUMENT"), (BridgeError("this bridge was closed"), "INTERNAL")],
)
def test_frames_that_cannot_be_written_end_the_stream(
    error: Exception, code: str, two: tuple[Node, Node], said: Said
) -> None:
    first, second = two
    second.mirror.errors["apply"] = error
    call = raw(first, iter([bridge_pb2.FrameBatch(frames=b"odd")]))
    found, text = outcome(call)
    assert found.name == code and str(error) in text
    second.wait_cut(2)  # when the new stream began, and at its end
    assert str(error) in second.mirror.cuts[-1][1]
    second.mirror.errors.clear()
    first.wait_connected(second)
    assert not any("Traceback" in one for one in said())


def test_what_cannot_be_collected_ends_the_stream(two: tuple[Node, Node], said: Said) -> None:
    first, second = two
    first.mirror.errors["collect"] = BridgeError("this bridge was closed")
    for one in two:
        one.wait_cut()
    assert "cannot read what ranks publish: this bridge was closed" in first.mirror.cuts[0][1]
    first.mirror.errors.clear()
    first.wait_connected(second)
    assert not any("Traceback" in one for one in said())


def test_a_data_path_that_cannot_cut_does_not_stop_the_streams(two: tuple[Node, Node], said: Said) -> None:
    first, second = two
    for one in two:
        one.mirror.errors["cut"] = BridgeError("no such peer")
    first.stream(second)._stream.call.cancel()
    for one in two:
        one.wait_cut()
    first.wait_connected(second)
    assert sum("segments cannot be cut: no such peer" in one for one in said()) == 2


def test_a_newer_stream_replaces_an_older_one(two: tuple[Node, Node]) -> None:
    first, second = two
    older = first.stream(second)
    gate = threading.Event()

    def held() -> Iterator[Any]:
        yield bridge_pb2.FrameBatch(frames=b"newer")
        assert gate.wait(patient(SECONDS))
        yield bridge_pb2.FrameBatch()

    call = raw(first, held())
    second.wait_applied(b"newer")
    assert [number for number, _ in second.mirror.cuts] == [1] and "another stream" in second.mirror.cuts[0][1]
    older.peer = older.peer._replace(address="127.0.0.1:1")  # it does not come again meanwhile
    first.mirror.publish(2, b"older")
    first.wait_cut()
    assert "a newer stream of this node has replaced this one" in first.mirror.cuts[0][1]
    second.wait_applied(b"newer")
    gate.set()
    assert len(list(call)) == 1 and len(second.mirror.cuts) == 1


def test_a_node_that_opens_stream_after_stream_keeps_no_other_one_away(tmp_path: Path) -> None:
    """More than there are threads for, none of which ends by itself."""
    with town(tmp_path, 3) as made:
        first, second, third = Town.connect(made)
        gate = threading.Event()

        def held() -> Iterator[Any]:
            assert gate.wait(patient(SECONDS))
            yield bridge_pb2.FrameBatch()

        like, calls = first.stream(second), list[Any]()
        channel = way(first, like)
        like.peer = like.peer._replace(address="127.0.0.1:1")  # its own does not come again
        for _ in range(THREADS + 4):
            calls.append(over(channel, first, held()))
            next(calls[-1])  # it is admitted
        third.stream(second)._stream.call.cancel()
        third.wait_cut()
        third.wait_connected(second)
        third.mirror.publish(2, b"served")
        second.wait_applied(b"served")
        gate.set()
        for one in calls:
            one.cancel()


def test_a_node_that_is_no_peer_is_refused(tmp_path: Path) -> None:
    with town(tmp_path, 3) as made:
        first, second, third = made.nodes
        first.meets(second)
        second.meets(third)
        assert outcome(raw(first, iter([bridge_pb2.FrameBatch(frames=b"x")])))[0] is grpc.StatusCode.PERMISSION_DENIED
        assert not second.mirror.applied and not second.mirror.cuts


def test_a_stranger_reaches_nothing(tmp_path: Path) -> None:
    """One of another CA, which has the same names."""
    with town(tmp_path / "ours") as made, town(tmp_path / "theirs") as others:
        first, (stranger, _) = made.nodes[1], others.nodes
        first.meets(made.nodes[0])
        stranger.meets(first)
        until(lambda: "another CA" in stranger.traffic(first).trouble, SECONDS, "it sees that")
        assert not first.mirror.applied and not first.traffic(made.nodes[0]).receives


def test_another_certificate_than_the_store_has(tmp_path: Path) -> None:
    with town(tmp_path) as made:
        first, second = made.nodes
        second.meets(first.peer(certificate="ab" * 32))
        first.meets(second)
        until(lambda: "old certificate" in first.traffic(second).trouble, SECONDS, "it is refused")
        second.meets(first)
        first.wait_connected(second)


def test_there_is_a_limit_of_peers(tmp_path: Path) -> None:
    class Refusing:
        def abort(self, code: grpc.StatusCode, text: str) -> None:
            assert (code, "257 nodes" in text) == (grpc.StatusCode.FAILED_PRECONDITION, True)
            raise RuntimeError

    with town(tmp_path, 1) as made:
        (only,) = made.nodes
        peers = [bridge_pb2.BridgePeer(number=number, node=f"m{number}") for number in range(PEERS_MOST + 1)]
        with pytest.raises(rpc.Refused):
            only.control.SetPeers(bridge_pb2.SetPeersRequest(peers=peers), Refusing())
        assert not only.opened


def test_three_nodes(tmp_path: Path) -> None:
    """What is for one comes to no other, and the loss of one is no matter of the others."""
    with town(tmp_path, 3) as made:
        first, second, third = Town.connect(made)
        first.mirror.publish(2, b"two")
        first.mirror.publish(3, b"three")
        second.wait_applied(b"two")
        third.wait_applied(b"three")
        third.vanish()
        first.wait_cut()
        second.wait_cut()
        assert {number for number, _ in first.mirror.cuts + second.mirror.cuts} == {3}
        second.mirror.publish(1, b"on")
        first.wait_applied(b"on")
