"""Which calls bring a group to one boundary, with workers that only answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from histories import after, in_step

from jitc.proxy.node.transfer_memory import TransferMemories
from jitc.proxy.recovery.decide import RankPosition
from jitc.proxy.recovery.restore import transfer
from jitc.proxy.recovery.restore.restore import CannotRestore, Restore
from jitc.proxy.recovery.restore.transfer import Transfers
from jitc.proxy.recovery.worker_calls import Interrupted
from jitc.v1 import worker_pb2

#: What every peer has; before the step it was something else, but for the second block.
ROWS = [
    worker_pb2.BlockRow(
        address=100 * n, bytes=8 * n, ordinal=n, hash=bytes([n]), hash_before_step=bytes([n if n == 2 else n + 64])
    )
    for n in (1, 2, 3)
]


class Workers:
    """Stands for Calls: remembers what was asked."""

    def __init__(
        self, missing: dict[int, list[Any]], incomplete: tuple[str, ...] = (), links: tuple[int, ...] = ()
    ) -> None:
        self.missing, self.incomplete, self.links = missing, incomplete, links
        self.broken: tuple[str, ...] = ()  # calls in which something else happens to the group
        self.asked: list[tuple[str, int]] = []
        self.transfers: dict[str, list[tuple[int, int]]] = {}  # the newest, by method
        self.moved: dict[str, list[list[tuple[int, int]]]] = {"Export": [], "Import": []}
        self.memories: dict[str, list[int]] = {"Export": [], "Import": []}
        self.rows = ROWS
        self.linked: dict[str, Any] = {}
        self.collectives: dict[int, int] = {}  # of the one communicator, where a rank is not where it was sent to

    def one(self, session: Any, method: str, request: Any) -> Any:
        return self.all_of({method: [(session, request)]}, 1)[session.number]

    def all(self, method: str, requests: list[tuple[Any, Any]]) -> dict[int, Any]:
        return self.all_of({method: requests}, 1)

    def all_of(self, requests: dict[str, list[tuple[Any, Any]]], seconds: float) -> dict[int, Any]:
        replies = {}
        for method, pairs in requests.items():
            for session, request in pairs:
                self.asked.append((method, session.number))
                if method in self.broken:
                    raise Interrupted("a worker died")
                replies[session.number] = self.answer(method, session.number, request)
        return replies

    def answer(self, method: str, number: int, request: Any) -> Any:
        if method == "BoundaryTable":
            return worker_pb2.BoundaryTableReply(boundary=request.boundary, rows=self.rows)
        if method in ("Export", "Import"):
            self.transfers[method] = [(block.address, block.offset) for block in request.blocks]
            self.moved[method].append(self.transfers[method])
            self.memories[method].append(request.memory)
            assert not request.path, "a path of one node"
            return worker_pb2.RecoverReply(complete=True, bytes=sum(block.bytes for block in request.blocks))
        if method in ("Send", "Receive"):
            self.linked[method] = request
            return worker_pb2.RecoverReply(complete=method not in self.incomplete, message=f"{method} did not work")
        missing, links = self.missing.get(number, []), number in self.links
        collectives = after(self.collectives.get(number, request.boundary)).memberships[0].collectives
        tally = worker_pb2.Tally(memberships=[worker_pb2.Membership(communicator=1, collectives=collectives, rank=-1)])
        return worker_pb2.RecoverReply(
            complete=method not in self.incomplete, missing=missing, message="no", links=links, tally=tally
        )


def restore(workers: Workers, lost: set[int], transfers: Transfers | None = None) -> Restore:
    group: Any = [SimpleNamespace(number=n, gpu=n, node="", label=lambda n=n: f"rank {n}") for n in (1, 2)]
    positions = {one.number: RankPosition(3, 3, one.number in lost, in_step(3)) for one in group}
    return Restore(workers, transfers or transfers_of(workers), group, positions, 7)  # type: ignore[arg-type]


def transfers_of(workers: Workers) -> Transfers:
    shared = SimpleNamespace(segment_bytes=lambda ranks: 100 * ranks)
    memories = TransferMemories(None)
    ranks: Any = SimpleNamespace(transfer_memory=lambda name, size, _: memories.make(name, size), shared=shared)
    return Transfers(workers, ranks)  # type: ignore[arg-type]


def row(address: int, ordinal: int, content: int) -> Any:
    return worker_pb2.BlockRow(address=address, bytes=8 * ordinal, ordinal=ordinal, hash=bytes([content]))


def before(address: int, ordinal: int, content: int, in_place: bool = False) -> Any:
    """A block of which is known what it was before the step."""
    return worker_pb2.BlockRow(
        address=address, bytes=8 * ordinal, ordinal=ordinal, hash_before_step=bytes([content]), in_place=in_place
    )


def test_copies_need_no_peer() -> None:
    workers = Workers({})
    restore(workers, {2}).back({1: 4, 2: 4})
    assert workers.asked == [("Rollback", 1), ("Rollback", 2)]


def test_ranks_must_stand_where_they_were_sent() -> None:
    """One that is elsewhere is not resumed, whatever it says of its blocks."""
    workers = Workers({})
    workers.collectives = {2: 4}
    with pytest.raises(CannotRestore, match="rank 2 is not where boundary 3 is"):
        restore(workers, {2}).back({1: 3, 2: 3})


def test_ranks_must_stand_where_their_collectives_agree() -> None:
    """Also after a step of which nobody knew before what comes in it."""
    workers = Workers({})
    workers.collectives = {2: 5}
    run = restore(workers, {2})
    assert not run.forward({1: 4, 2: 4})
    with pytest.raises(CannotRestore, match="where ranks are at boundary 4, their communicators' collectives differ"):
        run.back({1: 4, 2: 4})


def test_missing_blocks_come_from_the_peer() -> None:
    workers = Workers({2: [row(9001, 1, 1), row(9003, 3, 3)]})
    run = restore(workers, {2})
    run.back({1: 4, 2: 4})
    assert workers.asked[2:] == [("BoundaryTable", 1), ("Export", 1), ("Import", 2)]
    assert workers.transfers == {"Export": [(100, 0), (300, 4096)], "Import": [(9001, 0), (9003, 4096)]}
    assert run.bytes == 32


def test_what_goes_through_the_host_goes_in_pieces_written_while_others_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transfer, "PIECE_BYTES", 8192)
    rows = [row(9000 + n, n, n) for n in (1, 2, 3)]
    rows[1].bytes = 3 * 8192  # larger than a piece, and stays whole
    workers = Workers({2: [*rows, before(9004, 1, 1 + 64), before(9005, 3, 3 + 64)]})
    workers.rows = [*ROWS[:1], worker_pb2.BlockRow(address=200, bytes=3 * 8192, ordinal=2, hash=b"\2"), *ROWS[2:]]
    restore(workers, {2}).back({1: 4, 2: 4})
    assert calls_after(workers, "Export") == ["Export", *["Export", "Import"] * 3, "Import"]
    assert workers.moved["Export"] == [[(100, 0)], [(200, 0)], [(300, 0), (100, 4096)], [(300, 0)]]
    assert workers.moved["Import"] == [[(9001, 0)], [(9002, 0)], [(9003, 0), (9004, 4096)], [(9005, 0)]]
    memories = workers.memories["Export"]
    assert memories == workers.memories["Import"] and memories[0] == memories[2] != memories[1] == memories[3]


def test_forward_finishes_the_healthy_and_skips_the_lost() -> None:
    workers = Workers({2: [row(9001, 1, 1)]})
    assert restore(workers, {2}).forward({1: 5, 2: 5})
    assert {("FinishStep", 1), ("SkipStep", 2)} <= set(workers.asked)
    assert workers.transfers["Import"] == [(9001, 0)]


def test_after_a_step_a_rank_takes_what_the_step_made_of_the_same() -> None:
    workers = Workers({2: [before(9001, 1, 1 + 64, True), before(9002, 2, 2, True), before(9003, 3, 3 + 64)]})
    assert restore(workers, {2}).forward({1: 5, 2: 5})
    assert workers.transfers["Import"] == [(9001, 0), (9003, 4096)], "the second is there, and the step leaves it alone"


def test_after_a_step_a_rank_keeps_what_it_alone_had() -> None:
    workers = Workers({2: [before(9002, 2, 99, True)]})
    assert restore(workers, {2}).forward({1: 5, 2: 5})
    assert workers.transfers == {}


@pytest.mark.parametrize("block", [before(9001, 1, 99, True), before(9002, 2, 99), before(9001, 1, 99)])
def test_what_the_step_would_have_made_of_it_is_not_guessed(block: Any) -> None:
    """The peer's step has changed another content, or what the rank alone had is not there any more."""
    workers = Workers({2: [block]})
    assert not restore(workers, {2}).forward({1: 5, 2: 5})
    assert workers.transfers == {}


def test_forward_is_given_up_when_a_rank_cannot() -> None:
    assert not restore(Workers({}, ("FinishStep",)), {2}).forward({1: 5, 2: 5})
    assert not restore(Workers({2: [row(9001, 1, 9)]}), {2}).forward({1: 5, 2: 5})


def test_what_nobody_holds_is_named() -> None:
    with pytest.raises(CannotRestore, match=r"1 blocks \(8 bytes\) of rank 2 on GPU 2"):
        restore(Workers({2: [row(9001, 1, 9)]}), {2}).back({1: 4, 2: 4})
    with pytest.raises(CannotRestore, match="no"):
        restore(Workers({}, ("Rollback",)), {2}).back({1: 4, 2: 4})


def test_a_damaged_copy_that_a_peer_makes_good_is_told() -> None:
    """Memory that changes by itself is bad memory, whether or not it did harm."""
    damaged = row(9001, 1, 1)
    damaged.copied = True
    workers = Workers({2: [damaged]})
    transfers = transfers_of(workers)
    restore(workers, {2}, transfers).back({1: 4, 2: 4})
    [note] = transfers.notes
    assert note.startswith("rank 2, boundary 4: 1 kept copy is damaged: 8 bytes at address 0x2329 (ordinal 1)"), note
    assert note.endswith("other ranks had the content"), note


def calls_after(workers: Workers, what: str) -> list[str]:
    names = [method for method, _ in workers.asked]
    return names[names.index(what) :]


def test_devices_that_can_move_blocks_do() -> None:
    missing = [row(9001, 1, 1), before(9003, 3, 3 + 64)]
    workers = Workers({2: missing}, links=(1, 2))
    transfers = transfers_of(workers)
    run = restore(workers, {2}, transfers)
    run.back({1: 4, 2: 4})
    assert workers.asked[3:] == [("Send", 1), ("Receive", 2)]
    sent, received = workers.linked["Send"], workers.linked["Receive"]
    assert [(one.address, one.bytes) for one in sent.blocks] == [(100, 8), (300, 24)]
    # Where nothing is known of what is missed, the peer's hash says what must arrive.
    assert [(one.address, one.bytes, one.hash) for one in received.blocks] == [(9001, 8, b"\1"), (9003, 24, b"\3")]
    assert (sent.session, received.session) == (1, 2)
    for one in (sent, received):
        assert (one.epoch, one.path_bytes) == (7, 200) and one.memory == sent.memory and one.timeout_ms >= 20_000
    assert run.bytes == 32
    assert transfers.bytes == {"nccl": 32, "host": 0}
    assert transfers.notes == []


@pytest.mark.parametrize("links", [(1,), (2,)])
def test_one_device_that_cannot_is_enough_for_the_host(links: tuple[int, ...]) -> None:
    workers = Workers({2: [row(9001, 1, 1)]}, links=links)
    transfers = transfers_of(workers)
    restore(workers, {2}, transfers).back({1: 4, 2: 4})
    assert calls_after(workers, "BoundaryTable") == ["BoundaryTable", "Export", "Import"]
    assert transfers.bytes == {"nccl": 0, "host": 8}
    assert transfers.notes == []


@pytest.mark.parametrize("end", ["Send", "Receive"])
def test_a_direct_transfer_that_fails_costs_a_line_and_is_not_tried_again(end: str) -> None:
    workers = Workers({2: [row(9001, 1, 1)]}, incomplete=(end,), links=(1, 2))
    transfers = transfers_of(workers)
    restore(workers, {2}, transfers).back({1: 4, 2: 4})
    assert calls_after(workers, "Send") == ["Send", "Receive", "Export", "Import"]
    assert transfers.bytes == {"nccl": 0, "host": 8}
    who = "rank 1" if end == "Send" else "rank 2"
    assert transfers.notes == [f"blocks of rank 2 came through the host: {who}: {end} did not work"]
    workers.asked.clear()
    restore(workers, {2}, transfers).back({1: 4, 2: 4})
    assert calls_after(workers, "BoundaryTable") == ["BoundaryTable", "Export", "Import"]


def test_after_a_direct_transfer_that_was_interrupted_the_next_attempt_takes_the_host() -> None:
    workers = Workers({2: [row(9001, 1, 1)]}, links=(1, 2))
    transfers = transfers_of(workers)
    workers.broken = ("Receive",)
    with pytest.raises(Interrupted):
        restore(workers, {2}, transfers).back({1: 4, 2: 4})
    workers.broken = ()
    restore(workers, {2}, transfers).back({1: 4, 2: 4})
    assert calls_after(workers, "Receive")[1:] == ["Rollback", "Rollback", "BoundaryTable", "Export", "Import"]
    assert transfers.bytes == {"nccl": 0, "host": 8}
