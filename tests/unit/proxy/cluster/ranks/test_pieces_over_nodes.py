"""Blocks of a rank on one node for a rank on another: in pieces, whose content is checked, over ways that are cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nodes_rig import SECONDS, Rig, rig
from scripted_worker import BLOCK_BYTES
from toolkit.waiting import until

from jitc.proxy.cluster.ranks.home.pieces import CHUNK_BYTES, PIECES_MOST, Pieces, WrongPiece, hash_of
from jitc.proxy.common.shared_memory import NoSpace
from jitc.proxy.node.transfer_memory import TransferMemories
from jitc.proxy.recovery.worker_calls import NoRoom
from jitc.v1 import peer_pb2

NUMBER = 12345
SIZE = 2 * CHUNK_BYTES + 1000
CONTENT = bytes(number % 251 for number in range(SIZE))


@pytest.fixture
def ends() -> Iterator[tuple[Pieces, Pieces]]:
    """The pieces of a source, n1, with content, and of a target."""
    found = []
    for source in ("", "n1"):
        registry: Any = SimpleNamespace(transfer_memories=TransferMemories(None), sessions={1: None})
        found.append(Pieces(registry))
        found[-1].make(peer_pb2.Target(session=1, term=1), NUMBER, SIZE, source)
    found[0]._piece(NUMBER).memory.write(0, CONTENT)
    yield found[0], found[1]
    for one in found:
        one.close()


def content(pieces: Pieces) -> bytes:
    return pieces._piece(NUMBER).memory.read(0, SIZE)


def test_a_piece_is_there_as_it_was(ends: tuple[Pieces, Pieces]) -> None:
    source, target = ends
    target.take("n1", source.chunks(NUMBER, SIZE))
    assert content(target) == CONTENT
    target.take("n1", source.chunks(NUMBER, SIZE))  # again, as after an answer that was lost


def test_a_part_of_it(ends: tuple[Pieces, Pieces]) -> None:
    source, target = ends
    target.take("n1", source.chunks(NUMBER, 1))
    assert content(target) == CONTENT[:1] + bytes(SIZE - 1)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda chunks: setattr(chunks[1], "data", b"x" + chunks[1].data[1:]), "content of a chunk"),
        (lambda chunks: chunks.pop(1), "out of order"),
        (lambda chunks: chunks.pop(), "ended after"),
        (lambda chunks: chunks.insert(0, chunks[1]), "out of order"),
        (lambda chunks: setattr(chunks[-1], "whole", b"x" * 16), "content of a piece"),
        (lambda chunks: setattr(chunks[-1], "bytes", SIZE + 1), "out of order"),
        (lambda chunks: [setattr(one, "bytes", SIZE + 1) for one in chunks], "out of order"),
        (lambda chunks: setattr(chunks[0], "number", 3), "no such piece"),
        (lambda chunks: chunks.clear(), "ended after 0 of 0"),
        (lambda chunks: setattr(chunks[1], "offset", 0), "out of order"),
    ],
)
def test_a_piece_that_is_not_what_was_sent(ends: tuple[Pieces, Pieces], change: Any, why: str) -> None:
    source, target = ends
    chunks = list(source.chunks(NUMBER, SIZE))
    change(chunks)
    with pytest.raises(WrongPiece, match=why):
        target.take("n1", chunks)


def test_more_than_was_announced(ends: tuple[Pieces, Pieces]) -> None:
    _, target = ends
    data = bytes(CHUNK_BYTES + 1)
    large = peer_pb2.PieceChunk(number=NUMBER, data=data, hash=hash_of(data), bytes=SIZE)
    with pytest.raises(WrongPiece, match="a chunk has 262145 bytes"):
        target.take("n1", [large])
    data = bytes(11)
    beyond = peer_pb2.PieceChunk(number=NUMBER, data=data, hash=hash_of(data), bytes=10)
    with pytest.raises(WrongPiece, match="of 10 that were left"):
        target.take("n1", [beyond])


def test_another_node_than_the_one_that_was_named(ends: tuple[Pieces, Pieces]) -> None:
    source, target = ends
    with pytest.raises(WrongPiece, match="node n3 was not named"):
        target.take("n3", source.chunks(NUMBER, SIZE))
    with pytest.raises(WrongPiece, match="node n1 was not named"):
        source.take("n1", source.chunks(NUMBER, SIZE))


def test_a_piece_that_was_given_up(ends: tuple[Pieces, Pieces]) -> None:
    source, target = ends
    chunks = source.chunks(NUMBER, SIZE)
    next(chunks)
    target.drop(NUMBER)
    source.drop(NUMBER)
    with pytest.raises(WrongPiece, match="no such piece"):
        list(chunks)
    with pytest.raises(WrongPiece, match="no such piece"):
        source.chunks(NUMBER, SIZE)


def test_pieces_go_with_the_term_of_their_leader(ends: tuple[Pieces, Pieces]) -> None:
    source, _ = ends
    source.drop_others(1, 1)
    assert content(source) == CONTENT
    source.drop_others(1, 2)
    with pytest.raises(WrongPiece):
        source.chunks(NUMBER, SIZE)


def test_their_number_is_limited() -> None:
    registry: Any = SimpleNamespace(transfer_memories=TransferMemories(None), sessions={1: None})
    pieces = Pieces(registry)
    target = peer_pb2.Target(session=1, term=1)
    for number in range(1, PIECES_MOST + 1):
        pieces.make(target, number, 4096, "")
    pieces.make(target, 1, 4096, "")
    with pytest.raises(NoSpace):
        pieces.make(target, 9999, 4096, "")
    with pytest.raises(NoSpace):
        pieces.make(target, 1, 8192, "")
    registry.sessions.clear()
    pieces.make(peer_pb2.Target(), 9999, 4096, "")
    assert list(pieces._pieces) == [9999], "its session has ended"
    pieces.close()


# -- in a recovery ----------------------------------------------------------------------------------


def left(nodes: Rig) -> list[int]:
    return [number for one in nodes.nodes for number in one.over_nodes._pieces._pieces]


def expect_no_pieces(nodes: Rig) -> None:
    until(lambda: not left(nodes), SECONDS, f"no piece is left of {left(nodes)}")


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_rank_gets_its_block_from_a_rank_of_another_node(tmp_path: Path, lost: int) -> None:
    """Of three nodes: what goes from the leader, to the leader, and past it."""
    with rig(tmp_path, 3, copies=False) as nodes:
        nodes.worker(lost).kill()
        [found] = nodes.well()
        assert found["outcome"] == "recovered" and found["bytes_from_peers"]["host"] == BLOCK_BYTES, found
        expect_no_pieces(nodes)


def test_past_the_leader(tmp_path: Path) -> None:
    with rig(tmp_path, 3, copies=False) as nodes:
        nodes.worker(0).kept.block = 9  # so that its block is none that another rank needs
        nodes.worker(0).block = 9
        nodes.worker(2).kill()
        [found] = nodes.well()
        assert found["bytes_from_peers"]["host"] == BLOCK_BYTES
        assert ("n2", "n3", "TakePiece") in nodes.wires.calls
        expect_no_pieces(nodes)


@pytest.mark.parametrize("method", ["MakeMemory", "Carry", "TakePiece"])
def test_the_way_is_cut_in_a_transfer(tmp_path: Path, method: str) -> None:
    with rig(tmp_path, 3, copies=False) as nodes:
        nodes.worker(0).kept.block = nodes.worker(0).block = 9

        def cut(node: str, other: str, called: str, request: Any) -> None:
            if called == method and not nodes.wires.cuts and not done:
                done.append(1)
                nodes.wires.cut(node, other)

        done: list[int] = []
        nodes.wires.before = cut
        nodes.worker(2).kill()
        until(lambda: done or None, SECONDS, "the way is cut")
        until(lambda: any(one.over_nodes._errands._down for one in nodes.nodes), SECONDS, "it is noticed")
        nodes.wires.heal()
        [found] = nodes.well()
        assert found["outcome"] == "recovered" and found["attempts"] == 1, found
        expect_no_pieces(nodes)


def test_no_room_on_the_other_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> None:
        raise NoSpace("no shared memory for transfer/1: Cannot allocate memory")

    with rig(tmp_path, 2, copies=False) as nodes:
        monkeypatch.setattr(nodes.nodes[1].over_nodes._pieces, "make", none)
        nodes.worker(0).kill()
        until(lambda: nodes.leader.coordinator.reports.documents() or None, SECONDS, "it is over")
        [found] = nodes.leader.coordinator.reports.documents()
        assert "node n2: no shared memory for transfer/1" in found["outcome"]
        assert issubclass(NoRoom, Exception)


def test_what_arrives_is_wrong_again_and_again(tmp_path: Path) -> None:
    """The blocks cannot be had, and the job says so."""

    def damage(node: str, other: str, method: str, request: Any) -> None:
        if method == "Carry":
            memory = nodes.node("n2").over_nodes._pieces
            memory.chunks = lambda number, size: iter(  # type: ignore[method-assign]
                [peer_pb2.PieceChunk(number=number, data=b"x", hash=b"y", bytes=size)]
            )

    with rig(tmp_path, 2, copies=False) as nodes:
        nodes.wires.before = damage
        nodes.worker(0).kill()
        until(lambda: nodes.leader.coordinator.reports.documents() or None, SECONDS, "it is over")
        [found] = nodes.leader.coordinator.reports.documents()
        assert "node n1: the content of a chunk is not what was sent" in found["outcome"], found
        sent = [one for one in nodes.wires.calls if one[2] == "TakePiece"]
        assert len(sent) == 3
        nodes.wires.before = lambda *_: None
